package graph

import (
	"context"
	"math"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/revgen/revgen/engine"
	"github.com/revgen/revgen/internal/pool"
)

// An ending context ends when it has been asked often enough.
type ending struct {
	context.Context
	left, asked atomic.Int64
}

func (c *ending) Err() error {
	c.asked.Add(1)
	if c.left.Add(-1) < 0 {
		return context.Canceled
	}
	return nil
}

// endsAnywhere requires what a context ends to say so, at whichever of thirty times that it asks.
func endsAnywhere(t *testing.T, name string, run func(ctx context.Context) error) {
	t.Helper()
	whole := &ending{Context: t.Context()}
	whole.left.Store(math.MaxInt64)
	require.NoError(t, run(whole), name)
	last := whole.asked.Load() - 1
	require.GreaterOrEqual(t, last, int64(0), name)
	for k := int64(0); k <= last; k += max(1, min(last/30, last-k)) {
		ctx := &ending{Context: t.Context()}
		ctx.left.Store(k)
		require.ErrorIs(t, run(ctx), context.Canceled, "%s, asked %d times of %d", name, k, last+1)
	}
}

// endEvaluations ends what is asked of systems, each of a fresh one.
func endEvaluations(t *testing.T, name string, c engine.Config) {
	t.Helper()
	workers := pool.New(1)
	defer workers.Close()
	built, err := c.New(workers)
	require.NoError(t, err)
	params := make([]float32, built.NumParams())
	built.Initialize(params)
	fresh := func() engine.System {
		s, err := c.New(workers)
		require.NoError(t, err)
		return s
	}
	endsAnywhere(t, name+" tables", func(ctx context.Context) error {
		_, err := fresh().(engine.Evaluator).Evaluate(ctx, params, 300)
		return err
	})
	endsAnywhere(t, name+" figures", func(ctx context.Context) error {
		_, err := fresh().(engine.Illustrator).Figures(ctx, params, 300)
		return err
	})
	endsAnywhere(t, name+" checks", func(ctx context.Context) error {
		return fresh().(engine.SelfChecker).VerifyModel(ctx, params, 300, func(engine.Check) {})
	})
}

// TestEvaluationsEndAnywhere: tables, figures and checks of models.
func TestEvaluationsEndAnywhere(t *testing.T) {
	endEvaluations(t, "glass", configured(t, "quick", glass(1, 3, 3), 0.5))
}
