package ising

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/revgen/revgen/internal/long"
	"github.com/revgen/revgen/internal/stat"
)

// TestCorrelationsAreCalibrated draws samples of the target, and of a hotter one,
// many times: the mean |ΔG(r)| of exact samples is the floor, and 95 % of the
// intervals hold the mean, which they would not if the distances' G(r), which
// scatter together, were taken as independent.
func TestCorrelationsAreCalibrated(t *testing.T) {
	long.SkipShort(t)
	const samples, repeats = 1000, 400
	target := mustTarget(t, 4, 1, 0, 0.35)
	r := &reference{target: target, correlation: exactCorrelations(target)}
	require.Len(t, r.correlation, 2)
	g := make([][2]float64, 1<<16)
	for s := range g {
		axialCorrelations(g[s][:], []uint64{uint64(s)}, make([]uint32, 4))
	}
	for _, beta := range []float64{0.35, 0.32} {
		law, err := Target{target.Model, beta}.Probabilities()
		require.NoError(t, err)
		cumulative, sum := make([]float64, len(law)), 0.0
		for s, p := range law {
			sum += p
			cumulative[s] = sum
		}
		random := rand.New(rand.NewPCG(3, 4))
		var mean stat.Mean
		var intervals [][2]float64
		var floor float64
		for range repeats {
			drawn := &tally{correlation: make([]float64, 2), products: make([]float64, 4)}
			for range samples {
				s, _ := slices.BinarySearch(cumulative, random.Float64()*sum)
				for i, a := range g[s] {
					drawn.correlation[i] += a
					for j, b := range g[s] {
						drawn.products[2*i+j] += a * b
					}
				}
			}
			m := r.compareCorrelations(drawn, samples)
			mean.Add(m.Error)
			intervals, floor = append(intervals, m.Interval), m.Floor
		}
		if beta == 0.35 {
			require.InDelta(t, floor, mean.Value(), 5*mean.StandardError())
			continue
		}
		covered := 0
		for _, i := range intervals {
			if i[0] <= mean.Value() && mean.Value() <= i[1] {
				covered++
			}
		}
		require.InDelta(t, 0.95*repeats, covered, 5*math.Sqrt(0.95*0.05*repeats))
	}
}
