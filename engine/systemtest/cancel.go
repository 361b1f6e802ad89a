package systemtest

import (
	"context"
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/revgen/revgen/engine"
	"github.com/revgen/revgen/internal/ctxtest"
	"github.com/revgen/revgen/internal/pool"
)

// EndsAnywhere requires that run returns its context's error, whenever that ends: at the first
// and the last time that run asks for it, and at about between times in between.
func EndsAnywhere(t *testing.T, name string, between int, run func(ctx context.Context) error) {
	t.Helper()
	never := ctxtest.CancelAfter(t.Context(), math.MaxInt)
	require.NoError(t, run(never), name)
	asked, _ := never.Asked()
	last := asked - 1
	require.GreaterOrEqual(t, last, 0, name)
	for k := 0; k <= last; k += max(1, min(last/between, last-k)) {
		require.ErrorIs(t, run(ctxtest.CancelAfter(t.Context(), k)), context.Canceled, "%s, asked %d times of %d", name, k, asked)
	}
}

// EvaluationsEnd is EndsAnywhere for tables and figures, each time of a new system.
func EvaluationsEnd(t *testing.T, name string, between int, c engine.Config) {
	t.Helper()
	makeSystem, params := maker(t, c)
	EndsAnywhere(t, name+" tables", between, func(ctx context.Context) error {
		_, err := makeSystem().(engine.Evaluator).Evaluate(ctx, params, 300)
		return err
	})
	EndsAnywhere(t, name+" figures", between, func(ctx context.Context) error {
		_, err := makeSystem().(engine.Illustrator).Figures(ctx, params, 300)
		return err
	})
}

// ChecksEnd is EndsAnywhere for the checks of a model, each time of a new system.
func ChecksEnd(t *testing.T, name string, between int, c engine.Config) {
	t.Helper()
	makeSystem, params := maker(t, c)
	EndsAnywhere(t, name+" checks", between, func(ctx context.Context) error {
		return makeSystem().(engine.SelfChecker).VerifyModel(ctx, params, 300, func(engine.Check) {})
	})
}

// maker returns a function that makes systems of a configuration, and initial parameters.
func maker(t *testing.T, c engine.Config) (makeSystem func() engine.System, params []float32) {
	workers := pool.New(1)
	t.Cleanup(func() { workers.Close() })
	makeSystem = func() engine.System {
		s, err := c.New(workers)
		require.NoError(t, err)
		return s
	}
	s := makeSystem()
	params = make([]float32, s.NumParams())
	s.Initialize(params)
	return makeSystem, params
}
