package gmm

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/revgen/revgen/asm"
	"github.com/revgen/revgen/internal/long"
	"github.com/revgen/revgen/internal/pool"
	"github.com/revgen/revgen/internal/stat"
)

// TestMarginalQuantile measures exact samples: 95 % of their distances do not exceed
// the quantile, which is the same for all of one size.
func TestMarginalQuantile(t *testing.T) {
	long.SkipShort(t)
	workers := pool.New(1)
	defer workers.Close()
	s, _ := gaussianSystem(t, paperTarget(), workers)
	const samples, repeats = 1000, 400
	x, column := make([]float32, 2*samples), make([]float64, samples)
	laws := []stat.Law{s.target.Marginal(0), s.target.Marginal(1)}
	var quantile float64
	above := 0
	for r := range repeats {
		s.target.Sample(x, &asm.Counter{Seed: 5, Step: uint32(r)}, 0)
		var distance float64
		for axis, law := range laws {
			for i := range column {
				column[i] = float64(x[2*i+axis])
			}
			slices.Sort(column)
			w, _, err := stat.Wasserstein(t.Context(), column, law)
			require.NoError(t, err)
			distance += w / 2
		}
		if r < 2 {
			var all table
			all.Samples = samples
			require.NoError(t, s.marginals(t.Context(), &all, x))
			m := all.Metrics[0]
			require.Equal(t, distance, m.Error)
			require.Greater(t, m.Quantile, 1.3*m.Floor)
			require.True(t, r == 0 || m.Quantile == quantile)
			quantile = m.Quantile
		}
		if distance > quantile {
			above++
		}
	}
	require.InDelta(t, 0.05*repeats, above, 22)
}
