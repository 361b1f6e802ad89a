package ising

import (
	"context"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/revgen/revgen/bitspin"
	"github.com/revgen/revgen/internal/long"
	"github.com/revgen/revgen/internal/pool"
	"github.com/revgen/revgen/internal/stat"
)

// TestCountDistancesAreCalibrated draws samples of the target, and of one that is a
// little hotter, many times: 95 % of the intervals hold the mean of a distance, and
// of exact samples 95 % do not exceed their quantile.
func TestCountDistancesAreCalibrated(t *testing.T) {
	long.Only(t)
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

// TestHistogramIsCalibrated draws bond sums of the target, and of one that is a
// little hotter, many times: the mean error of exact samples is the floor, and 5 % of
// them exceed their quantile; of the others 95 % of the intervals hold the mean.
func TestHistogramIsCalibrated(t *testing.T) {
	long.SkipShort(t)
	const samples, repeats = 5000, 400
	r, err := newReference(context.Background(), mustTarget(t, 6, 1, 0, 0.35), nil)
	require.NoError(t, err)
	require.NotNil(t, r.bonds)
	for _, beta := range []float64{0.35, 0.34} {
		hotter, err := newReference(context.Background(), mustTarget(t, 6, 1, 0, beta), nil)
		require.NoError(t, err)
		cumulative, sum := make([]float64, len(r.bonds)), 0.0
		for level, e := range hotter.bonds {
			sum += e.Value
			cumulative[level] = sum
		}
		source := rand.New(rand.NewPCG(5, 6))
		var mean stat.Mean
		var intervals [][2]float64
		var floor float64
		above, covered := 0, 0
		for range repeats {
			drawn := newJointLaw(r.target.Model)
			for range samples {
				level, _ := slices.BinarySearch(cumulative, source.Float64()*sum)
				drawn.add(2*r.target.N-4*level, 0, 1)
			}
			drawn.normalise()
			m := r.compareBonds(drawn, samples)
			require.Zero(t, m.Uncertainty)
			mean.Add(m.Error)
			intervals, floor = append(intervals, m.Interval), m.Floor
			if m.Error > m.Quantile {
				above++
			}
		}
		for _, i := range intervals {
			if i[0] <= mean.Value() && mean.Value() <= i[1] {
				covered++
			}
		}
		if beta == r.target.Beta {
			require.InDelta(t, floor, mean.Value(), 5*mean.StandardError())
			require.InDelta(t, 0.05*repeats, above, 22, "five standard deviations of a count")
			continue
		}
		require.InDelta(t, 0.95*repeats, covered, 22)
	}
}

// TestUncertaintyIsThatOfTheErrors gives a reference standard errors: each row says
// by how much it is off for that, in the unit of its error.
func TestUncertaintyIsThatOfTheErrors(t *testing.T) {
	r, err := newReference(context.Background(), mustTarget(t, 6, 1, 0, 0.35), nil)
	require.NoError(t, err)
	drawn := newTally(r.target.Model)
	drawn.count([]uint64{0, 1<<36 - 1, 1, 3, 1 << 24, 1<<20 - 1})
	for _, m := range compare(r, drawn, 6).Metrics {
		require.Zero(t, m.Uncertainty, m.Name)
	}
	for i, u := range [4]float64{energy: 0.3, absMagnetisation: 0.02, specificHeat: 0.5, susceptibility: 0.7} {
		r.observables[i].Uncertainty = u
	}
	for i := range r.bonds {
		r.bonds[i].Uncertainty = 0.001 * float64(1+i%2)
	}
	for i := range r.correlation {
		r.correlation[i].Uncertainty = 0.01 * float64(i+1)
	}
	require.Len(t, r.bonds, 37)
	require.Len(t, r.correlation, 3)
	want := map[string]float64{
		"energy": 0.3 / -r.observables[energy].Value, "abs_magnetisation": 0.02,
		"specific_heat": 0.5 / r.observables[specificHeat].Value, "susceptibility": 0.7 / r.observables[susceptibility].Value,
		"energy_histogram": 0.5 * (19*0.001 + 18*0.002), "correlation": (0.01 + 0.02 + 0.03) / 3,
	}
	for _, m := range compare(r, drawn, 6).Metrics {
		require.InEpsilon(t, want[m.Name], m.Uncertainty, 1e-12, m.Name)
		delete(want, m.Name)
	}
	require.Empty(t, want)
}
