package ising

import (
	"context"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/revgen/revgen/bitspin"
	"github.com/revgen/revgen/internal/pool"
	"github.com/revgen/revgen/internal/stat"
)

// TestCountDistancesAreCalibrated draws samples of the target, and of one that is a
// little hotter, many times: 95 % of the intervals hold the mean of a distance, and
// of exact samples 95 % do not exceed their quantile.
func TestCountDistancesAreCalibrated(t *testing.T) {
	workers := pool.New(1)
	defer workers.Close()
	model, err := bitspin.NewModel(3, 1, 0)
	require.NoError(t, err)
	const samples, repeats = 20_000, 400
	for _, beta := range []float64{0.2, 0.5} {
		r, err := newReference(context.Background(), Target{model, beta}, workers)
		require.NoError(t, err)
		for _, change := range []float64{0, 0.02} {
			law, err := Target{model, beta - change}.Probabilities()
			require.NoError(t, err)
			cumulative := make([]float64, len(law))
			var sum float64
			for i, p := range law {
				sum += p
				cumulative[i] = sum
			}
			source := rand.New(rand.NewPCG(11, 12))
			var mean [2]stat.Mean
			var intervals [2][][2]float64
			var above [2]int
			var floor [2]float64
			counts := make([]float64, len(law))
			for range repeats {
				clear(counts)
				for range samples {
					i, _ := slices.BinarySearch(cumulative, source.Float64()*sum)
					counts[i]++
				}
				for k, m := range r.countDistances(counts, samples) {
					require.Equal(t, [2]string{"total_variation", "kl_to_target"}[k], m.Name)
					mean[k].Add(m.Error)
					intervals[k] = append(intervals[k], m.Interval)
					floor[k] = m.Floor
					if m.Error > m.Quantile {
						above[k]++
					}
				}
			}
			for k := range mean {
				covered := 0
				for _, i := range intervals[k] {
					if i[0] <= mean[k].Value() && mean[k].Value() <= i[1] {
						covered++
					}
				}
				// Five standard deviations of a count; an interval half as wide again
				// would hold 99.7 %.
				require.InDelta(t, 0.945*repeats, covered, 20, "metric %d, β = %g − %g", k, beta, change)
				if change == 0 {
					require.InDelta(t, 0.05*repeats, above[k], 20, "metric %d, β = %g", k, beta)
					require.InDelta(t, floor[k], mean[k].Value(), 5*mean[k].StandardError())
				}
			}
		}
	}
}
