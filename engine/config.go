package engine

import (
	"fmt"
	"reflect"

	"github.com/revgen/revgen/engine/nn"
	"github.com/revgen/revgen/engine/optim"
	"github.com/revgen/revgen/engine/search"
	"github.com/revgen/revgen/internal/conf"
	"github.com/revgen/revgen/internal/memory"
	"github.com/revgen/revgen/internal/pool"
)

// SchemaVersion is the version of configuration, model and checkpoint files.
const SchemaVersion = 2

// Common is the part of a configuration that every system has. Systems embed
// it, so its keys stand beside theirs.
type Common struct {
	Schema     int        `json:"schema"` // version of this layout
	System     string     `json:"system"` // which target: the name that the command line takes
	Preset     string     `json:"preset"` // recipe that keys which are missing have the values of
	Training   Training   `json:"training"`
	Evaluation Evaluating `json:"evaluation"`
}

// Shared implements Config.
func (c *Common) Shared() *Common { return c }

// Training holds the hyperparameters of Algorithm 1 that do not depend on the
// system.
type Training struct {
	Seed           uint64         `json:"seed"`                   // of all random numbers
	Steps          int            `json:"steps" is:"0.."`         // total, not additional, iterations N_I
	Batch          int            `json:"batch" is:"2..16777216"` // N, samples a step
	search.Methods                // how θ is trained
	Optimizer      optim.AdamW    `json:"optimizer"`
	Schedule       optim.Schedule `json:"schedule"`
	ClipNorm       float64        `json:"clip_norm" is:"not negative"` // largest gradient norm; 0 means no clipping
	EMA            float64        `json:"ema" is:"decay"`              // decay of the weight average; 0 means none
	// Start is the hash of the model whose parameters the run begins with, ""
	// for parameters that belong to the seed.
	Start           string `json:"start"`
	CheckpointEvery int    `json:"checkpoint_every" is:"0.."` // steps between checkpoints; 0 means only at the end
	LogEvery        int    `json:"log_every" is:"1.."`        // steps between records of metrics.jsonl
}

// MaxEvaluationSamples bounds the samples of an evaluation. So many determine a mean to
// 3·10⁻⁵ of its standard deviation.
const MaxEvaluationSamples = 1 << 30

// Evaluating says how a trained generator is measured.
type Evaluating struct {
	Samples int `json:"samples"`        // independent samples behind the final table
	Every   int `json:"every" is:"0.."` // steps between evaluations during training; 0 means only at the end
}

// ValidateNames reports a configuration that is not of the named system, or of
// none of its presets.
func (c *Common) ValidateNames(system string, presets []string) error {
	if c.System != system {
		return fmt.Errorf("system: %q is not %s", c.System, system)
	}
	return conf.OneOf("preset", c.Preset, presets)
}

// Validate reports the first value that cannot be used, by its key.
func (c *Common) Validate() error {
	if c.Schema != SchemaVersion {
		return fmt.Errorf("schema: %d is not supported; this program reads version %d", c.Schema, SchemaVersion)
	}
	t := &c.Training
	return conf.First(
		conf.Under("training", conf.Check(t)),
		conf.Under("training.schedule", t.Schedule.Validate()),
		conf.Between("evaluation.samples", c.Evaluation.Samples, 1, MaxEvaluationSamples),
		conf.Under("evaluation", conf.Check(&c.Evaluation)),
		conf.Under("training", t.Methods.Validate(t.ClipNorm)))
}

// Reseeded returns a copy of cfg with another seed.
func Reseeded(cfg Config, seed uint64) (Config, error) {
	v := reflect.ValueOf(cfg)
	if v.Kind() != reflect.Pointer || v.IsNil() {
		return nil, fmt.Errorf("a configuration is a pointer to a struct, not a %T", cfg)
	}
	copied := reflect.New(v.Elem().Type())
	copied.Elem().Set(v.Elem())
	reseeded := copied.Interface().(Config)
	if reseeded.Shared() == cfg.Shared() {
		return nil, fmt.Errorf("%T: engine.Common is embedded as a pointer; embed it as a value", cfg)
	}
	reseeded.Shared().Training.Seed = seed
	return reseeded, nil
}

// An Annealing raises the inverse temperature of a target while a generator is
// trained. A generator that meets a cold target at once may lose a mode of it, which
// its own samples do not show.
type Annealing struct {
	// Anneal is the fraction of the training over which π^β rises from
	// AnnealFrom to β = 1; 0 is without annealing.
	Anneal     float64 `json:"anneal"`
	AnnealFrom float64 `json:"anneal_from"` // β that annealing begins with
}

// Validate reports the first value that cannot be used, by its key.
func (a *Annealing) Validate() error {
	if err := conf.Fraction("anneal", a.Anneal); err != nil || a.Anneal == 0 {
		return err
	}
	if !(a.AnnealFrom <= 1) {
		return fmt.Errorf("anneal_from: %v is more than 1, the target itself", a.AnnealFrom)
	}
	return conf.Positive("anneal_from", a.AnnealFrom)
}

// At returns β at a step of a training of the given number of steps.
func (a *Annealing) At(step, steps int) float64 {
	end := a.Anneal * float64(steps)
	if float64(step) >= end {
		return 1
	}
	return a.AnnealFrom + (1-a.AnnealFrom)*float64(step)/end
}

// A Demand is memory that a configuration asks for, and the key of the value
// on which its size depends most.
type Demand struct {
	Key   string
	Bytes float64
}

// Afford returns an error, with the key of the largest demand, if the sum of the demands exceeds
// the machine's memory. Every system's Validate ends with it, so that no run is killed for
// memory after hours.
func Afford(demands ...Demand) error {
	limit, sum := memory.Limit(), 0.0
	var largest Demand
	for _, d := range demands {
		sum += d.Bytes
		if d.Bytes > largest.Bytes {
			largest = d
		}
	}
	if sum <= limit {
		return nil
	}
	return fmt.Errorf("%s: the run needs about %.3g GiB, most of them for this, and the machine has %.3g GiB", largest.Key, sum/(1<<30), limit/(1<<30))
}

// Demands returns the memory that a generator with the given number of parameters takes in any
// system: the copies of the parameters that method, optimiser, backward pass and checkpoints keep.
func (t *Training) Demands(params int) []Demand {
	const (
		floatBytes  = 4
		copies      = 5   // θ, its gradient, AdamW's two moments, the average
		packed      = 3   // for products forward and backward, with padding
		checkpoints = 2.5 // of a section, while its file is made
	)
	floats := copies + packed + float64(nn.LanesOf(t.Batch)) + 4*checkpoints // of each parameter
	demands := []Demand{{"generator.hidden", floatBytes * floats * float64(params)}}
	if t.Method == "consensus" {
		demands = append(demands, Demand{"training.consensus.particles", floatBytes * (1 + checkpoints) * float64(t.Consensus.Particles) * float64(params)})
	}
	return demands
}

// Workers are the threads that a system computes with. They serve one call at a
// time and live until they are closed.
type Workers = pool.Pool

// NewWorkers returns the given number of threads, the caller's included; 0 or less means one
// for each processor.
func NewWorkers(threads int) *Workers { return pool.New(threads) }
