package density

import (
	"context"
	"encoding/binary"
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/revgen/revgen/engine"
	"github.com/revgen/revgen/internal/pool"
)

// TestExactGenerator: where the generator is the target in its coordinates, before any
// training, weights are constant, ln Z is that of the target's own coordinates, and
// averages agree with those of the chains; where the target is another, they do not.
func TestExactGenerator(t *testing.T) {
	workers := pool.New(2)
	defer workers.Close()
	logZ := 2*math.Log(2*math.Pi) + math.Log(20*0.3*0.2*0.5)
	evaluate := func(text string) (*engine.Evaluation, float64) {
		// Coordinates: normal, log-normal above 1, log-normal below 5, and logit-normal.
		cfg, err := engine.Systems{RealsDefinition}.Configure("reals", "moves", "training.steps=0", "training.batch=64", "generator.gain=1e-9", "evaluation.samples=20000",
			"target.dim=4", "target.parameters={}", "target.support=[[null,null],[1,null],[null,5],[-2,2]]",
			"target.center=[300,0.5,-0.2,0.1]", "target.scale=[20,0.3,0.2,0.5]", "target.expression="+text)
		require.NoError(t, err)
		system, err := cfg.New(workers)
		require.NoError(t, err)
		params := make([]float32, system.NumParams())
		system.Initialize(params)
		e, err := system.(engine.Evaluator).Evaluate(context.Background(), params, 20000)
		require.NoError(t, err)
		row := make([]byte, 4*4+8)
		require.NoError(t, system.(engine.Sampler).Sample(row, engine.Weighted, params, 0, 1, 0))
		return e, math.Float64frombits(binary.LittleEndian.Uint64(row[4*4:]))
	}
	const text = "let u = log(x[1] - 1); let v = log(5 - x[2]); let w = log((x[3] + 2)/(2 - x[3])); " +
		"-((x[0] - 300)/20)^2/2 - ((u - 0.5)/0.3)^2/2 - u - ((v + 0.2)/0.2)^2/2 - v - ((w - 0.1)/0.5)^2/2 - log(x[3] + 2) - log(2 - x[3]) + log(4)"
	good, weight := evaluate(text)
	require.Empty(t, good.Warnings)
	require.InDelta(t, logZ, weight, 1e-2, "ln w of a sample")
	for _, m := range good.Metrics {
		switch m.Name {
		case "effective_sample_size":
			require.InDelta(t, 1, m.Generated, 1e-4)
		case "log_z":
			require.InDelta(t, logZ, m.Generated, 1e-4)
		default:
			require.LessOrEqual(t, m.Error, 6*math.Hypot(m.Uncertainty, m.Floor*math.Sqrt(math.Pi/2)), m.Name)
			require.Positive(t, m.Uncertainty, m.Name)
		}
	}
	bad, _ := evaluate(text + " - (x[0] - 300)^2/200")
	require.NotEmpty(t, bad.Warnings)
	for _, m := range bad.Metrics {
		if m.Name == "variance_x0" {
			require.Greater(t, m.Error, 20.0)
			require.Less(t, m.Reweighted.Error, 5*math.Hypot(m.Reweighted.StandardError, m.Uncertainty), "by weights")
			require.Less(t, m.Reweighted.StandardError, 5.0)
		}
	}
}

// TestUnsettledChains: a target that cannot be normalised in one direction, which the
// hints hide, and one whose chains find no weight, have no reference, and the table
// says so.
func TestUnsettledChains(t *testing.T) {
	workers := pool.New(2)
	defer workers.Close()
	for text, want := range map[string]string{
		"-(x[0] - x[1])^2":                   "have not settled",
		"sum(x^2) < 1e-6 ? -sum(x^2) : -inf": "there is no reference",
	} {
		cfg := configure(t, RealsDefinition, "moves", "target.parameters={}", "target.scale=[1]", "target.expression="+text, "evaluation.samples=4000")
		system, err := cfg.New(workers)
		require.NoError(t, err)
		params := make([]float32, system.NumParams())
		system.Initialize(params)
		e, err := system.(engine.Evaluator).Evaluate(context.Background(), params, 4000)
		require.NoError(t, err)
		all := ""
		for _, w := range e.Warnings {
			all += w + "\n"
		}
		require.Contains(t, all, want, text)
	}
}
