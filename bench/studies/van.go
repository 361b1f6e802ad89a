package main

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/revgen/revgen/bench/peers"
	"github.com/revgen/revgen/engine/measure"
)

// A FieldRival is another generator with a density, trained on the same machine.
type FieldRival struct {
	Name      string  `json:"name"`
	Seconds   float64 `json:"seconds"` // of training, of processors
	Steps     int     `json:"steps"`
	ESS       float64 `json:"effective_size"`
	LogZ      float64 `json:"log_z"`
	LogZError float64 `json:"log_z_error"`
	LogZOff   float64 `json:"log_z_off"` // |ln Z − exact|
}

const rivalSamples = 4096

//go:embed van.py
var van []byte

// networks returns the peer that trains them.
func networks() (*peers.Peer, error) {
	pytorch, err := peers.Find("pytorch")
	if err != nil {
		return nil, err
	}
	return pytorch.Extended("van", van), nil
}

// rivalSeconds is how long rivals train beside as long as ours did, and rivalPatience how
// many times as long the dense one does in the end on a lattice of patientSide.
var rivalSeconds = 30.0

// rivalKinds are the networks, as bench/peers has them.
var rivalKinds = []string{"dense", "convolutional"}

const (
	rivalPatience = 20
	patientSide   = 8
)

// rivals trains variational autoregressive networks for a critical lattice, each anew for
// each length of time, and calls keep after each of those that the row has not. It does
// none of this, and says so, where PyTorch is not installed.
func (e *execution) rivals(ctx context.Context, row *FieldRow, keep func() error) error {
	type task struct {
		kind    string
		seconds float64
	}
	var tasks []task
	for _, kind := range rivalKinds {
		tasks = append(tasks, task{kind, row.Seconds})
		if row.Seconds < rivalSeconds {
			tasks = append(tasks, task{kind, rivalSeconds})
		}
	}
	if e.field.Rival == patientSide && rivalSeconds > 0 {
		tasks = append(tasks, task{rivalKinds[0], rivalPatience * rivalSeconds})
	}
	if len(row.Rivals) >= len(tasks) {
		return nil
	}
	peer, err := networks()
	if err != nil {
		return err
	}
	return e.beside(ctx, peer, func(process *peers.Process) error {
		exact, _ := e.logZ(ctx, e.Configs[0])
		for _, x := range tasks[len(row.Rivals):] {
			r, err := rival(process, x.kind, e.field.Rival, row.Seeds[0], x.seconds)
			if err != nil {
				return err
			}
			r.LogZOff = math.Abs(r.LogZ - exact)
			row.Rivals = append(row.Rivals, r)
			if err := keep(); err != nil {
				return err
			}
		}
		return nil
	})
}

// beside starts a peer on one thread for what is done with it. It does nothing, and says so,
// where the peer is missing.
func (e *execution) beside(ctx context.Context, peer *peers.Peer, do func(*peers.Process) error) (err error) {
	workshop, err := peers.NewWorkshop(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, workshop.Close()) }()
	process, err := workshop.Start(peer, peers.Setting{Threads: 1})
	if missing, ok := errors.AsType[*peers.MissingError](err); ok {
		if e.Watch.Warning != nil {
			e.Watch.Warning(missing.Error())
		}
		return nil
	}
	if err != nil {
		return err
	}
	return do(process)
}

// rival trains one network for so many seconds of processors, or for one step.
func rival(process *peers.Process, kind string, side int, seed uint64, seconds float64) (FieldRival, error) {
	r := FieldRival{Name: "VAN, " + kind}
	err := process.Select("van", kind, side, criticalBeta, seed, seconds)
	used := make([]float64, 1)
	for err == nil && (r.Steps == 0 || used[0] < seconds) {
		if _, err = process.Run(1); err == nil {
			r.Steps, err = r.Steps+1, process.Store("seconds", used)
		}
	}
	values := make([]float64, rivalSamples)
	if err == nil {
		err = process.Select("judge", len(values))
	}
	if err == nil {
		_, err = process.Run(1)
	}
	if err == nil {
		err = process.Store("r", values)
	}
	x := measure.Weigh(values)
	r.Seconds, r.ESS, r.LogZ, r.LogZError = used[0], x.EffectiveSize, x.LogZ, x.LogZError
	return r, err
}

// String says what a rival reached.
func (r FieldRival) String() string {
	plural := "s"
	if r.Steps == 1 {
		plural = ""
	}
	size := "%.4f"
	if r.ESS < 0.01 {
		size = "%.1g"
	}
	return fmt.Sprintf("%s, here: ESS "+size+", ln Z off by %.1g ± %.1g after %s, %d step%s", r.Name, r.ESS, r.LogZOff, r.LogZError,
		time.Duration(float64(time.Second)*r.Seconds).Round(100*time.Millisecond), r.Steps, plural)
}
