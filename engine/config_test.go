package engine_test

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/revgen/revgen/engine"
	"github.com/revgen/revgen/engine/systemtest"
)

func TestCommonValidate(t *testing.T) {
	for key, change := range map[string]func(*engine.Common){
		"schema":                    func(c *engine.Common) { c.Schema = 1 },
		"training.steps":            func(c *engine.Common) { c.Training.Steps = -1 },
		"training.batch":            func(c *engine.Common) { c.Training.Batch = 1 },
		"training.clip_norm":        func(c *engine.Common) { c.Training.ClipNorm = math.NaN() },
		"training.ema":              func(c *engine.Common) { c.Training.EMA = 1 },
		"training.checkpoint_every": func(c *engine.Common) { c.Training.CheckpointEvery = -1 },
		"training.log_every":        func(c *engine.Common) { c.Training.LogEvery = 0 },
		"evaluation.samples":        func(c *engine.Common) { c.Evaluation.Samples = 0 },
		"evaluation.every":          func(c *engine.Common) { c.Evaluation.Every = -1 },
		"training.optimizer.beta1":  func(c *engine.Common) { c.Training.Optimizer.Beta1 = 2 },
		"training.method":           func(c *engine.Common) { c.Training.Method = "annealing" },
		"training.schedule.kind":    func(c *engine.Common) { c.Training.Schedule.Kind = "" },
	} {
		c := systemtest.Common()
		require.NoError(t, c.Validate())
		change(&c)
		require.ErrorContains(t, c.Validate(), key+":", key)
	}
}
