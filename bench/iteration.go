package bench

import (
	"cmp"
	"context"
	"os"
	"strconv"
	"strings"

	"github.com/revgen/revgen/bench/peers"
	"github.com/revgen/revgen/engine"
	"github.com/revgen/revgen/engine/catalogue"
	"github.com/revgen/revgen/engine/optim"
)

var iterationSuite = Suite{
	Name:    "iteration",
	Summary: "whole training iterations of every system",
	Size:    "SYSTEM/PRESET, SYSTEM/PRESET/BATCH or a configuration's file, NAME.json; the paper's settings of all systems by default",
	rows:    iterationRows,
}

// warmUpSteps is the number of training steps before the clock runs.
const warmUpSteps = 50

// configOf returns the configuration that a size names, and its batch size, 0 if it gives
// none.
func (e *environment) configOf(size string) (config engine.Config, batch int, err error) {
	if strings.HasSuffix(size, ".json") {
		text, err := os.ReadFile(size)
		if err != nil {
			return nil, 0, optionf("size %q: %v", size, err)
		}
		config, _, err = e.systems.Resolve(context.Background(), catalogue.Source{Text: text, File: size})
		if err != nil {
			return nil, 0, optionf("size %q: %v", size, err)
		}
		return config, 0, nil
	}
	parts := strings.Split(size, "/")
	if len(parts) == 3 {
		if batch, err = strconv.Atoi(parts[2]); err != nil || batch < 2 || batch > 1<<24 {
			return nil, 0, optionf("size %q: %q is not a number of samples", size, parts[2])
		}
	} else if len(parts) != 2 {
		return nil, 0, optionf("size %q is not of the form SYSTEM/PRESET/N", size)
	}
	system, err := e.systems.Find(parts[0])
	if err != nil {
		return nil, 0, optionf("size %q: the systems are %s", size, strings.Join(e.systems.Names(), ", "))
	}
	if config, err = system.Preset(parts[1]); err != nil {
		return nil, 0, optionf("size %q: %v", size, err)
	}
	return config, batch, nil
}

func iterationRows(e *environment, size string) ([]*operation, error) {
	config, batch, err := e.configOf(size)
	if err != nil {
		return nil, err
	}
	training := &config.Shared().Training
	training.Batch = cmp.Or(batch, training.Batch)
	// The clock may run for more steps than the preset's schedule has.
	training.Schedule = optim.Schedule{Kind: "constant"}
	trainer, err := engine.NewTrainer(config, e.workers)
	if err != nil {
		return nil, err
	}
	for range warmUpSteps {
		if err := trainer.Step(); err != nil {
			return nil, err
		}
	}
	op := &operation{
		name: "train/" + size, amount: float64(training.Batch), unit: "sample",
		call: func() {
			if err := trainer.Step(); err != nil {
				panic(callError{err}) // a run that diverges is not worth timing
			}
		},
	}
	m := modelOf(config)
	if m == nil {
		return []*operation{op}, nil
	}
	op.need = append(m.step(trainer.System(), training.Batch), noiseAndOptimizer(m, float64(training.Batch), len(trainer.Params()))...)
	if r, err := referenceOf(m, config, trainer.System()); err != nil {
		op.note = err.Error()
	} else {
		op.rivals = e.pyTorch(rival{
			blas:    true,
			caveat:  "the paper's loop, automatic differentiation",
			prepare: func(p *peers.Process) (agreement, error) { return agreeOnIteration(p, config, r) },
		})
	}
	return []*operation{op}, nil
}

// agreeOnIteration compares the loss and its gradient, which the peer computes from our
// parameters, noise and transitions, and selects the peer's training loop.
func agreeOnIteration(p *peers.Process, config engine.Config, r *reference) (agreement, error) {
	path, err := writeJSON(p, "config.json", config)
	if err != nil {
		return agreement{}, err
	}
	if err := p.Forget(); err != nil {
		return agreement{}, err
	}
	a, err := r.agree(p, "gradient", path)
	if err != nil {
		return agreement{}, err
	}
	return a, p.Select("iteration", path)
}
