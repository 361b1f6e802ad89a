package systemtest

import (
	"context"
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/revgen/revgen/engine"
	"github.com/revgen/revgen/internal/late"
	"github.com/revgen/revgen/internal/pool"
)

// EndsAnywhere requires work that a context ends to return the context's error, at the first and
// the last time that it asks and at so many between.
func EndsAnywhere(t *testing.T, name string, between int, run func(ctx context.Context) error) {
	t.Helper()
	whole := late.After(t.Context(), math.MaxInt)
	require.NoError(t, run(whole), name)
	asked, _ := whole.Asked()
	last := asked - 1
	require.GreaterOrEqual(t, last, 0, name)
	for k := 0; k <= last; k += max(1, min(last/between, last-k)) {
		require.ErrorIs(t, run(late.After(t.Context(), k)), context.Canceled, "%s, asked %d times of %d", name, k, asked)
	}
}

// EvaluationsEnd requires tables and figures of a system to end anywhere, each of a fresh one.
func EvaluationsEnd(t *testing.T, name string, between int, c engine.Config) {
	t.Helper()
	fresh, params := maker(t, c)
	EndsAnywhere(t, name+" tables", between, func(ctx context.Context) error {
		_, err := fresh().(engine.Evaluator).Evaluate(ctx, params, 300)
		return err
	})
	EndsAnywhere(t, name+" figures", between, func(ctx context.Context) error {
		_, err := fresh().(engine.Illustrator).Figures(ctx, params, 300)
		return err
	})
}

// ChecksEnd requires the checks of a model to end anywhere, each of a fresh system.
func ChecksEnd(t *testing.T, name string, between int, c engine.Config) {
	t.Helper()
	fresh, params := maker(t, c)
	EndsAnywhere(t, name+" checks", between, func(ctx context.Context) error {
		return fresh().(engine.SelfChecker).VerifyModel(ctx, params, 300, func(engine.Check) {})
	})
}

// maker returns what makes systems of a configuration, and parameters as they begin.
func maker(t *testing.T, c engine.Config) (fresh func() engine.System, params []float32) {
	workers := pool.New(1)
	t.Cleanup(func() { workers.Close() })
	fresh = func() engine.System {
		s, err := c.New(workers)
		require.NoError(t, err)
		return s
	}
	s := fresh()
	params = make([]float32, s.NumParams())
	s.Initialize(params)
	return fresh, params
}
