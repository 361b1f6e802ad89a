package gmm

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/revgen/revgen/asm"
	"github.com/revgen/revgen/internal/pool"
)

// TestMarginalQuantile measures exact samples: 95 % of their distances do not exceed
// the quantile.
func TestMarginalQuantile(t *testing.T) {
	workers := pool.New(1)
	defer workers.Close()
	s, _ := gaussianSystem(t, paperTarget(), workers)
	const samples, repeats = 1000, 400
	x := make([]float32, 2*samples)
	above := 0
	for r := range repeats {
		s.target.Sample(x, &asm.Counter{Seed: 5, Step: uint32(r)}, 0)
		var all table
		all.Samples = samples
		require.NoError(t, s.marginals(context.Background(), &all, x))
		m := all.Metrics[0]
		require.Greater(t, m.Quantile, 1.3*m.Floor)
		if m.Error > m.Quantile {
			above++
		}
	}
	require.InDelta(t, 0.05*repeats, above, 22)
}
