package engine

import (
	"fmt"
	"math"

	"github.com/revgen/revgen/engine/optim"
	"github.com/revgen/revgen/engine/search"
)

// SchemaVersion is the version of configuration, model and checkpoint files.
const SchemaVersion = 1

// Common is the part of a configuration that every system has. Systems embed
// it, so its keys stand beside theirs.
type Common struct {
	Schema     int        `json:"schema"`
	System     string     `json:"system"`
	Preset     string     `json:"preset"`
	Training   Training   `json:"training"`
	Evaluation Evaluating `json:"evaluation"`
}

// Shared implements Config.
func (c *Common) Shared() *Common { return c }

// Training holds the hyperparameters of Algorithm 1 that do not depend on the
// system.
type Training struct {
	Seed            uint64         `json:"seed"`
	Steps           int            `json:"steps"` // total, not additional, iterations N_I
	Batch           int            `json:"batch"` // N
	search.Methods                 // how θ is trained
	Optimizer       optim.AdamW    `json:"optimizer"`
	Schedule        optim.Schedule `json:"schedule"`
	ClipNorm        float64        `json:"clip_norm"`        // largest gradient norm; 0 means no clipping
	EMA             float64        `json:"ema"`              // decay of the weight average; 0 means none
	CheckpointEvery int            `json:"checkpoint_every"` // steps between checkpoints; 0 means only at the end
	LogEvery        int            `json:"log_every"`        // steps between records of metrics.jsonl
}

// Evaluating says how a trained generator is measured.
type Evaluating struct {
	Samples int `json:"samples"` // independent samples behind the final table
	Every   int `json:"every"`   // steps between evaluations during training; 0 means only at the end
}

// Validate reports the first value that cannot be used, by its key.
func (c *Common) Validate() error {
	if c.Schema != SchemaVersion {
		return fmt.Errorf("schema: %d is not supported; this program reads version %d", c.Schema, SchemaVersion)
	}
	t := &c.Training
	switch {
	case t.Steps < 0 || t.Steps > math.MaxInt32:
		return fmt.Errorf("training.steps: %d is not between 0 and %d", t.Steps, math.MaxInt32)
	case t.Batch < 2 || t.Batch > 1<<24:
		return fmt.Errorf("training.batch: %d is not between 2 and %d", t.Batch, 1<<24)
	case !(t.ClipNorm >= 0) || math.IsInf(t.ClipNorm, 0):
		return fmt.Errorf("training.clip_norm: %v is not a finite number ≥ 0", t.ClipNorm)
	case !(t.EMA >= 0 && t.EMA < 1):
		return fmt.Errorf("training.ema: %v is not in [0, 1)", t.EMA)
	case t.CheckpointEvery < 0:
		return fmt.Errorf("training.checkpoint_every: %d is negative", t.CheckpointEvery)
	case t.LogEvery < 1:
		return fmt.Errorf("training.log_every: %d is not at least 1", t.LogEvery)
	case c.Evaluation.Samples < 1:
		return fmt.Errorf("evaluation.samples: %d is not at least 1", c.Evaluation.Samples)
	case c.Evaluation.Every < 0:
		return fmt.Errorf("evaluation.every: %d is negative", c.Evaluation.Every)
	}
	if err := t.Optimizer.Validate(); err != nil {
		return fmt.Errorf("training.optimizer.%w", err)
	}
	if err := t.Methods.Validate(t.ClipNorm); err != nil {
		return fmt.Errorf("training.%w", err)
	}
	if err := t.Schedule.Validate(); err != nil {
		return fmt.Errorf("training.schedule.%w", err)
	}
	return nil
}
