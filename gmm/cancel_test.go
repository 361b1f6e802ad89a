package gmm

import (
	"context"
	"math/rand/v2"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/revgen/revgen/internal/pool"
)

// patient is a context that is cancelled once it has been looked at so often.
type patient struct {
	context.Context
	left atomic.Int64
}

func (c *patient) Err() error {
	if c.left.Add(-1) < 0 {
		return context.Canceled
	}
	return nil
}

// Each part of an evaluation of many components looks at its context again and
// again.
func TestEvaluationsOfManyComponentsEnd(t *testing.T) {
	workers := pool.New(1)
	defer workers.Close()
	var c TargetConfig
	r := rand.New(rand.NewPCG(1, 2))
	for range 50 {
		c.Components = append(c.Components, Component{
			Weight: 1. / 50, Mean: []float64{r.NormFloat64(), r.NormFloat64()}, Covariance: [][]float64{{1, 0}, {0, 1}},
		})
	}
	s, params := gaussianSystem(t, c, workers)
	const samples = 1 << 16
	d := s.newSampler(params)
	x := make([]float32, 2*samples)
	require.NoError(t, d.DrawAll(context.Background(), s.states(x), nil))
	for name, part := range map[string]func(ctx context.Context, t *table) error{
		"monteCarlo":  func(ctx context.Context, t *table) error { return d.monteCarlo(ctx, t, x, make([]float64, samples)) },
		"modeWeights": func(ctx context.Context, t *table) error { return d.modeWeights(ctx, t, x) },
		"marginals":   func(ctx context.Context, t *table) error { return s.marginals(ctx, t, x) },
	} {
		var all table
		all.Samples = samples
		ctx := &patient{Context: context.Background()}
		if name != "monteCarlo" { // which looks once for each law
			ctx.left.Store(5)
		}
		require.ErrorIs(t, part(ctx, &all), context.Canceled, name)
		require.Empty(t, all.Metrics)
	}
}
