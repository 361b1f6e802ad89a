package stat

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/revgen/revgen/internal/long"
)

// gibbs returns probabilities like a small lattice's: few large ones and many
// small.
func gibbs(states int, beta float64) []float64 {
	p := make([]float64, states)
	r := rand.New(rand.NewPCG(9, 9))
	var sum float64
	for i := range p {
		p[i] = math.Exp(-beta * math.Abs(r.NormFloat64()))
		sum += p[i]
	}
	for i := range p {
		p[i] /= sum
	}
	return p
}

func draw(r *rand.Rand, counts, p []float64, n int) {
	left, mass := float64(n), 1.0
	for j, pj := range p {
		counts[j] = 0
		if j == len(p)-1 {
			counts[j] = left
			break
		}
		t := newTrial(pj / mass)
		counts[j] = t.draw(r, left)
		left -= counts[j]
		mass = max(mass-pj, 1e-300)
	}
}

// TestIntervalsOfCountsAreCalibrated counts how often the intervals hold the mean
// of a distance over repeated samples of the same law, which may be the right one,
// nearly so or far off.
func TestIntervalsOfCountsAreCalibrated(t *testing.T) {
	long.Only(t)
	for _, beta := range []float64{0, 2, 8} {
		for _, n := range []int{5_000, 200_000} {
			p := gibbs(256, beta)
			null := NewCounts(p, n)
			for _, off := range []float64{0, 0.5, 1, 3, 30} { // in units of the counts' scatter
				q := make([]float64, len(p))
				r := rand.New(rand.NewPCG(3, 4))
				var sum float64
				for i := range q {
					q[i] = max(p[i]/10, p[i]+off*math.Sqrt(p[i]/float64(n))*r.NormFloat64())
					sum += q[i]
				}
				for i := range q {
					q[i] /= sum
				}
				const repeats = 1000
				var found [2][]CountDistance
				var mean [2]Mean
				counts := make([]float64, len(p))
				for range repeats {
					draw(r, counts, q, n)
					tv, kl := null.Distances(counts)
					for k, d := range []CountDistance{tv, kl} {
						found[k] = append(found[k], d)
						mean[k].Add(d.Value)
					}
				}
				for k, name := range []string{"variation", "divergence"} {
					covered := 0
					var se Mean
					for _, d := range found[k] {
						interval := Interval(d.Value, d.StandardError)
						se.Add(d.StandardError)
						if interval[0] <= mean[k].Value() && mean[k].Value() <= interval[1] {
							covered++
						}
					}
					label := fmt.Sprintf("%s, β %g, n %d, off by %g", name, beta, n, off)
					require.InDelta(t, 0.94, float64(covered)/repeats, 0.03, label)
					require.InDelta(t, 1, se.Value()/mean[k].Deviation(), 0.12, label)
				}
			}
		}
	}
}

// TestNullOfCounts compares the laws with what is known of them.
func TestNullOfCounts(t *testing.T) {
	// A divergence of many counts is χ²/2n, of mean (K − 1)/2n and variance (K − 1)/2n².
	p := gibbs(400, 1)
	const n = 1_000_000
	null := NewCounts(p, n)
	require.InEpsilon(t, (399+1.645*math.Sqrt(2*399))/(2*n), null.Divergence.Quantile(0.95, 0), 0.02)
	require.InEpsilon(t, 399.0/(2*n), null.Divergence.Quantile(0.5, 0), 0.01)
	var floor float64
	for _, pi := range p {
		floor += MeanAbsoluteDeviation(n, pi) / 2
	}
	require.InEpsilon(t, floor, null.Variation.Quantile(0.5, 0), 0.01)
	// Two states: the total variation is |X/n − ½|, which is half-normal.
	coin := NewCounts([]float64{0.5, 0.5}, n)
	require.InEpsilon(t, 1.96*0.5/math.Sqrt(n), coin.Variation.Quantile(0.95, 0), 0.1)
}

// TestQuantiles holds half-normal laws and medians against closed forms.
func TestQuantiles(t *testing.T) {
	var half Null
	require.InDelta(t, 1.959964, half.Quantile(0.95, MeanAbsolute(1)), 1e-6)
	// The median of three is below x with probability 3F² − 2F³: F = .8647 for 95 %.
	uniform := make([]float64, 100_000)
	for i := range uniform {
		uniform[i] = (float64(i) + 0.5) / 100_000
	}
	law := NewNull(uniform)
	require.InDelta(t, 0.95, law.Quantile(0.95, 0), 1e-4)
	require.InDelta(t, 0.8647, law.MedianQuantile(0.95, 0, 0, 3), 0.005)
	require.InDelta(t, 0.8107, law.MedianQuantile(0.95, 0, 0, 5), 0.005)
	require.InDelta(t, 1-math.Sqrt(0.05/2), law.MedianQuantile(0.95, 0, 0, 2), 0.005, "the mean of two uniform numbers")
	require.InDelta(t, half.Quantile(0.8107, 1), half.MedianQuantile(0.95, 1, 0, 5), 0.02)
	require.Equal(t, law.Quantile(0.95, 0), law.MedianQuantile(0.95, 0, 0, 1))
	// The reference is off by as much again, and by far more than a median scatters.
	require.InEpsilon(t, 1.959964*math.Sqrt(1+9), half.MedianQuantile(0.95, MeanAbsolute(1), 3, 1), 0.03)
	require.InEpsilon(t, 1.959964*100, half.MedianQuantile(0.95, MeanAbsolute(1), 100, 101), 0.03, "the same for all samples")
	require.InEpsilon(t, 0.5+1.644854*0.01, Null{0.5, 0.5}.MedianQuantile(0.95, 0, 0.01, 3), 0.001, "a distance errs upwards")
	require.InDelta(t, 3*law.Quantile(0.7, 0), law.Scale(3).Quantile(0.7, 0), 1e-12)
}

// TestBridges compares with the distances of uniform samples.
func TestBridges(t *testing.T) {
	grid := make([]float64, 1000)
	for i := range grid {
		grid[i] = (float64(i) + 0.5) / 1000
	}
	const n, repeats = 500, 2000
	law := NewNull(Bridges([][]float64{grid}, n, 0))
	r := rand.New(rand.NewPCG(5, 6))
	all := make([]float64, repeats)
	for i := range all {
		x := make([]float64, n)
		for j := range x {
			x[j] = r.Float64()
		}
		slices.Sort(x)
		all[i], _, _ = Wasserstein(context.Background(), x, uniform{0})
	}
	direct := NewNull(all)
	for _, level := range []float64{0.2, 0.5, 0.8, 0.95} {
		require.InEpsilon(t, direct.Quantile(level, 0), law.Quantile(level, 0), 0.08, "%v", level)
	}
	// Two coordinates that are the same scatter like one, two independent ones less.
	require.InEpsilon(t, law.Quantile(0.95, 0), NewNull(Bridges([][]float64{grid, grid}, n, 0)).Quantile(0.95, 0), 1e-9)
	other := make([]float64, len(grid))
	for i, j := range r.Perm(len(grid)) {
		other[i] = grid[j]
	}
	require.Less(t, NewNull(Bridges([][]float64{grid, other}, n, 0)).Quantile(0.95, 0), 0.95*law.Quantile(0.95, 0))
}

func TestBinomial(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 8))
	for _, c := range [][2]float64{{10, 0.3}, {1e6, 1e-6}, {1e6, 0.4}, {500, 0.9}, {400, 0.07}, {5, 1}, {5, 0}, {0, 0.5}} {
		var m Mean
		trial := newTrial(c[1])
		const repeats = 40_000
		for range repeats {
			x := trial.draw(r, c[0])
			require.True(t, x >= 0 && x <= c[0] && x == math.Trunc(x))
			m.Add(x)
		}
		deviation := math.Sqrt(c[0] * c[1] * (1 - c[1]))
		require.InDelta(t, c[0]*c[1], m.Value(), 6*deviation/math.Sqrt(repeats))
		require.InDelta(t, deviation, m.Deviation(), 0.05*deviation)
	}
}

// TestRememberedDistances: the same bits, whether terms are computed or remembered.
func TestRememberedDistances(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for _, states := range []int{2, 40, 300} {
		p := gibbs(states, 4)
		p[1] = p[0]
		fresh, remembering := newFolds(p, 50_000), newFolds(p, 50_000)
		remembering.remember()
		counts := make([]float64, states)
		for range 20 {
			draw(r, counts, p, 50_000)
			want := fresh.distances(counts)
			require.Equal(t, want, remembering.distances(counts))
			require.Equal(t, want, remembering.distances(counts), "known now")
		}
	}
}
