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
		t := newBinomial(pj / mass)
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
		trial := newBinomial(c[1])
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

// exactBinomial returns the probabilities of 0, 1, …, n successes.
func exactBinomial(n int, p float64) []float64 {
	mass := make([]float64, n+1)
	for k := range mass {
		all, _ := math.Lgamma(float64(n) + 1)
		in, _ := math.Lgamma(float64(k) + 1)
		out, _ := math.Lgamma(float64(n-k) + 1)
		mass[k] = math.Exp(all - in - out + float64(k)*math.Log(p) + float64(n-k)*math.Log1p(-p))
	}
	return mass
}

// TestDistancesOfCounts holds both distances, their variances and what these are made of
// against sums over exact binomial laws.
func TestDistancesOfCounts(t *testing.T) {
	for _, n := range []int{1, 20, 40, 1000, 3000} {
		p := []float64{0.03, 0.25, 0.03, 0, 0.5, 0.19, 1e-3}
		f := newMultinomial(p, n)
		counts := make([]float64, len(p))
		draw(rand.New(rand.NewPCG(1, uint64(n))), counts, p, n)
		var variation, signed, near, divergence, squares float64
		for i, p := range p {
			var deviation, nearness float64
			variance := p * (1 - p) / float64(n)
			for k, mass := range exactBinomial(n, p) {
				d := float64(k)/float64(n) - p
				deviation += mass * math.Abs(d)
				if p > 0 {
					nearness += mass * math.Exp(-2*d*d/variance)
				}
			}
			if p > 0 {
				require.InDelta(t, deviation, MeanAbsoluteDeviation(n, p), 1e-11*float64(n)*deviation)
			}
			if mean := float64(n) * p; mean > 30 || float64(n)-mean < 30 {
				nearness = 1 / math.Sqrt(5) // that of normal numbers
			} else if p > 0 {
				require.InEpsilon(t, nearness, f.meanNearness(p), 1e-9)
			}
			var deficit float64
			if p > 0 {
				deficit = deviation * deviation / nearness
			}
			require.InDelta(t, variance, f.variance[i], 1e-15)
			require.InDelta(t, deficit, f.deficit[i], 1e-8*deficit, "%d of %d", i, n)
			q := counts[i] / float64(n)
			variation += math.Abs(q-p) / 2
			signed += map[bool]float64{true: q, false: -q}[q > p]
			if p > 0 {
				near += deficit * math.Exp(-2*(q-p)*(q-p)/variance)
			}
			if q > 0 {
				divergence += q * math.Log(q/p)
				squares += q * math.Log(q/p) * math.Log(q/p)
			}
		}
		got := f.distances(counts)
		require.InDelta(t, variation, got[0].value, 1e-14)
		require.InDelta(t, divergence, got[1].value, 1e-14)
		require.InDelta(t, ((1-signed*signed)/float64(n)-near)/4, got[0].variance, 1e-9)
		require.InDelta(t, (squares-divergence*divergence)/float64(n), got[1].variance, 1e-14)
	}
	require.Zero(t, MeanAbsoluteDeviation(10, 0))
	require.Zero(t, MeanAbsoluteDeviation(10, 1))
}

// TestCountsAreThoseOfTheirSimulations: laws are the simulated values', and standard errors
// those of the estimates less what these exceed the scatter by, at least half of the scatter.
func TestCountsAreThoseOfTheirSimulations(t *testing.T) {
	f := newMultinomial([]float64{0.25, 0.75}, 400)
	var tv, kl, tvVariance, klVariance []float64
	c := f.newCounts(40, func(r *rand.Rand) [2]distance {
		d := [2]distance{{1 + r.Float64()/50, 1e-3 * r.Float64()}, {2 + r.Float64()/200, 1e-4 * r.Float64()}}
		tv, tvVariance = append(tv, d[0].value), append(tvVariance, d[0].variance)
		kl, klVariance = append(kl, d[1].value), append(klVariance, d[1].variance)
		return d
	})
	slices.Sort(tv)
	slices.Sort(kl)
	require.InDeltaSlice(t, tv, []float64(c.Variation), 1e-12)
	require.InDeltaSlice(t, kl, []float64(c.Divergence), 1e-12)
	moments := func(x []float64) (mean, variance float64) {
		for _, v := range x {
			mean += v / 40
		}
		for _, v := range x {
			variance += (v - mean) * (v - mean) / 39
		}
		return mean, variance
	}
	_, tvNull := moments(tv)
	_, klNull := moments(kl)
	tvMean, _ := moments(tvVariance)
	klMean, _ := moments(klVariance)
	floors := 0
	for _, counts := range [][]float64{{100, 300}, {150, 250}, {0, 400}, {400, 0}} {
		plain := f.distances(counts)
		variation, divergence := c.Distances(counts)
		require.Equal(t, plain[0].value, variation.Value)
		require.Equal(t, plain[1].value, divergence.Value)
		for _, v := range [][4]float64{{plain[0].variance, tvMean, tvNull, variation.StandardError}, {plain[1].variance, klMean, klNull, divergence.StandardError}} {
			if v[0]-v[1]+v[2] < v[2]/4 {
				floors++
			}
			require.InEpsilon(t, math.Sqrt(max(v[0]-v[1]+v[2], v[2]/4)), v[3], 1e-9, "%v", counts)
		}
	}
	require.True(t, floors > 0 && floors < 8, floors)
	require.Equal(t, [2]float64{0, 1}, CountDistance{0.5, 1}.Share())
	require.Equal(t, Interval(0.5, 0.1), CountDistance{0.5, 0.1}.Share())
}

// TestSimulationsOfCounts: laws of few states, and of many in lumps, take 2,000 simulations.
func TestSimulationsOfCounts(t *testing.T) {
	few := gibbs(20, 1)
	f := newMultinomial(few, 300)
	require.Equal(t, f.newCounts(2000, newSimulation(f, 1<<10).distances).Variation, simulateCounts(few, 300).Variation)
	alike := slices.Repeat([]float64{1. / 64}, 64) // few, though there are enough for a lump
	f = newMultinomial(alike, 10)
	require.Equal(t, f.newCounts(2000, newSimulation(f, 1<<10).distances).Divergence, simulateCounts(alike, 10).Divergence)
	equal := slices.Repeat([]float64{1. / (1<<13 + 1)}, 1<<13+1)
	f = newMultinomial(equal, 10)
	require.Equal(t, f.newCounts(2000, newSimulation(f, minLump).distances).Divergence, simulateCounts(equal, 10).Divergence)
}

// TestBinomialDraws: up to a mean of 30, of successes or of failures, what is rarer, a draw is
// the quantile of one uniform number; beyond, a rounded normal number with the law's skewness.
func TestBinomialDraws(t *testing.T) {
	for _, c := range []struct{ n, p float64 }{{10, 0.3}, {60, 0.5}, {100, 0.3}, {40, 0.75}, {120, 0.75}, {1, 0.5}, {121, 0.75}, {101, 0.3}, {1e4, 0.2}, {1e4, 0.8}, {31, 0.99}} {
		trial := newBinomial(c.p)
		r, twin := rand.New(rand.NewPCG(5, 5)), rand.New(rand.NewPCG(5, 5))
		p := min(c.p, 1-c.p)
		for range 200 {
			var k float64
			if mean := c.n * p; mean > 30 {
				z := twin.NormFloat64()
				variance := c.n * p * (1 - p)
				skewness := (1 - 2*p) / math.Sqrt(variance)
				k = min(max(math.Round(mean+math.Sqrt(variance)*(z+skewness*(z*z-1)/6)), 0), c.n)
			} else {
				u := twin.Float64()
				for _, mass := range exactBinomial(int(c.n), p)[:int(c.n)] {
					if u -= mass; u <= 0 {
						break
					}
					k++
				}
			}
			if c.p > 0.5 {
				k = c.n - k
			}
			require.Equal(t, k, trial.draw(r, c.n), "%v", c)
		}
	}
	most := rand.New(ones{}) // no number leads beyond n, however the masses are rounded
	for n := 1.0; n < 60; n++ {
		for p := 0.05; p < 0.5; p += 0.05 {
			trial := newBinomial(p)
			require.LessOrEqual(t, trial.draw(most, n), n)
		}
	}
	r, twin := rand.New(rand.NewPCG(5, 5)), rand.New(rand.NewPCG(5, 5))
	for _, c := range [][3]float64{{0, 0.5, 0}, {-1, 0.5, 0}, {7, 0, 0}, {7, 1, 7}, {7, 1.5, 7}, {7, -1e-9, 0}} {
		trial := newBinomial(c[1])
		require.Equal(t, c[2], trial.draw(r, c[0]), "%v", c)
	}
	require.Equal(t, twin.Uint64(), r.Uint64(), "what is certain takes no random number")
}

// ones are random numbers just below 1.
type ones struct{}

func (ones) Uint64() uint64 { return math.MaxUint64 }

// TestQuantilesBetween: linear between the levels (i+½)/n, constant beyond the outer two.
func TestQuantilesBetween(t *testing.T) {
	q := []float64{1, 3, 7, 8}
	for level, want := range map[float64]float64{0: 1, 0.125: 1, 0.25: 2, 0.375: 3, 0.5: 5, 0.75: 7.5, 0.875: 8, 1: 8} {
		require.InDelta(t, want, between(q, level), 1e-14, "%v", level)
	}
	require.Equal(t, 5.0, between([]float64{5}, 0.3))
	all := congruential(40, 1)
	require.InDeltaSlice(t, slices.Sorted(slices.Values(all)), []float64(NewNull(all)), 1e-14)
}

// TestSimulatedSums: the sum of what is drawn, without signs, a thousand times.
func TestSimulatedSums(t *testing.T) {
	calls := 0.0
	sums := AbsoluteSums(3, func(_ *rand.Rand, x []float64) {
		calls++
		x[0], x[1], x[2] = -1, 2, -calls
	})
	require.Len(t, sums, 1000)
	for i, s := range sums {
		require.Equal(t, float64(3+i+1), s)
	}
	require.Equal(t, 503.5, MeanOf(sums).Value())
	r, twin, x := source(1), source(1), make([]float64, 3)
	Independent([]float64{1, 2, 0})(r, x)
	require.Equal(t, []float64{twin.NormFloat64(), 2 * twin.NormFloat64(), 0}, x)
	// Two points of a law: (ξ₀ − ξ₁)/2 times their distance over √(2n).
	bridges := Bridges([][]float64{{5, 1}, {0, 3}}, 50, 2)
	require.Len(t, bridges, 500)
	twin = source(1<<32 + 2)
	for _, b := range bridges {
		require.InDelta(t, math.Abs(twin.NormFloat64()-twin.NormFloat64())/2*(4+3)/2/10, b, 1e-14)
	}
}

// TestShift: distances from a law are seen from a place off by as much more, averages from either
// side.
func TestShift(t *testing.T) {
	errors := []float64{0.5, 2, 3}
	Null{1, 1}.shift(errors, -1, source(1))
	require.Equal(t, []float64{0.5, 1, 2}, errors)
	r, twin := source(1), source(1)
	errors = slices.Repeat([]float64{0.5}, 40)
	Null(nil).shift(errors, 0.25, r)
	for _, e := range errors {
		require.Equal(t, map[bool]float64{true: 0.25, false: 0.75}[twin.Uint64()&1 == 0], e)
	}
}
