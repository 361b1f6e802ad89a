package stat

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/revgen/revgen/internal/long"
)

// steps are probabilities of which many are equal, as a lattice's without a field are:
// kinds of 2 to 1,000 states, each less likely than the one before.
func steps(fall float64) (p []float64) {
	x := 1.0
	for _, states := range []int{2, 30, 64, 200, 500, 1000, 300, 100} {
		for range states {
			p = append(p, x)
		}
		x *= fall
	}
	rand.New(rand.NewPCG(1, 1)).Shuffle(len(p), func(i, j int) { p[i], p[j] = p[j], p[i] })
	var sum float64
	for _, x := range p {
		sum += x
	}
	for i := range p {
		p[i] /= sum
	}
	return p
}

// TestLumpsHaveTheLawsOfTheirStates holds the laws from lumps against those from
// simulations state by state, and the mean of the total variation against its formula.
// Each comparison has a level of 1e-6.
func TestLumpsHaveTheLawsOfTheirStates(t *testing.T) {
	long.SkipShort(t)
	const repeats = 1000
	for _, fall := range []float64{0.9, 0.2} {
		p := steps(fall)
		lumps, rest := findLumps(p, minLump)
		require.Len(t, lumps, 6)
		require.Len(t, rest, 32)
		for _, n := range []int{300, 20_000, 1_000_000} {
			f := newMultinomial(p, n)
			var laws [2][2][]float64
			var variances [2][2]Mean
			one, lumped := newSimulation(f, len(p)+1).distances, newSimulation(f, minLump).distances
			for k, simulate := range []func(*rand.Rand) [2]distance{one, lumped} {
				r := source(uint64(k))
				for range repeats {
					for i, d := range simulate(r) {
						laws[k][i] = append(laws[k][i], d.value)
						variances[k][i].Add(d.variance)
					}
				}
			}
			var floor float64
			for _, x := range p {
				floor += MeanAbsoluteDeviation(n, x) / 2
			}
			for i, name := range []string{"variation", "divergence"} {
				label := fmt.Sprintf("%s, fall %g, n %d", name, fall, n)
				var mean [2]Mean
				for k := range mean {
					slices.Sort(laws[k][i])
					for _, x := range laws[k][i] {
						mean[k].Add(x)
					}
				}
				sd := mean[0].Deviation()
				const most = 5 // standard errors
				require.InDelta(t, mean[0].Value(), mean[1].Value(), most*sd*math.Sqrt(2.0/repeats), label)
				if i == 0 {
					require.InDelta(t, floor, mean[1].Value(), most*sd/math.Sqrt(repeats), label)
				}
				require.InDelta(t, 1, mean[1].Deviation()/sd, most*math.Sqrt(1.0/repeats)*1.2, label)
				require.InDelta(t, between(laws[0][i], 0.95), between(laws[1][i], 0.95), most*sd*math.Sqrt2*0.047, label)
				a, b := variances[0][i], variances[1][i]
				require.InDelta(t, a.Value(), b.Value(), most*math.Sqrt2*a.Deviation()/math.Sqrt(repeats)+1e-3*sd*sd, label)
			}
		}
	}
}

func TestBinomialWeights(t *testing.T) {
	for _, c := range []struct{ n, p float64 }{{1, 0.01}, {10, 0.3}, {1e6, 1e-7}, {1e6, 0.01}, {5, 0.99}} {
		var sum, mean, square float64
		eachBinomial(c.n, c.p, func(x, w float64) {
			sum += w
			mean += w * x
			square += w * x * x
		})
		mean /= sum
		require.InEpsilon(t, c.n*c.p, mean, 1e-9)
		require.InEpsilon(t, c.n*c.p*(1-c.p), square/sum-mean*mean, 1e-6)
	}
}

// TestCountsAreSharedByLaw: jobs with the same target and number of samples simulate
// once, and nobody sees another's law.
func TestCountsAreSharedByLaw(t *testing.T) {
	p := []float64{0.25, 0.5, 0.25}
	first := NewCounts(p, 100)
	require.Same(t, first, NewCounts([]float64{0.25, 0.5, 0.25}, 100))
	require.NotSame(t, first, NewCounts(p, 101))
	want, _ := first.Distances([]float64{25, 50, 25})
	p[0], p[1] = 0.5, 0.25 // the caller's own again
	require.NotSame(t, first, NewCounts(p, 100))
	got, _ := first.Distances([]float64{25, 50, 25})
	require.Equal(t, want, got)
}

// TestLumps: 64 equally likely states are a lump, 63 are not.
func TestLumps(t *testing.T) {
	p := slices.Concat([]float64{9}, slices.Repeat([]float64{1}, 63), slices.Repeat([]float64{2}, 64), []float64{7}, slices.Repeat([]float64{3}, 65))
	lumps, rest := findLumps(p, minLump)
	require.Equal(t, []lump{{state: 64, number: 64}, {state: 129, number: 65}}, lumps)
	require.Len(t, rest, 65)
	require.Equal(t, []int{0, 1, 2}, rest[:3])
	require.Equal(t, []int{63, 128}, rest[63:])
	require.Equal(t, 4*2+65, (&simulation{lumps: lumps, singles: rest}).work())
}

// TestLumpsHaveTheMomentsOfTheirStates holds a lump's mean, slope and covariance against sums
// over the exact law of a count.
func TestLumpsHaveTheMomentsOfTheirStates(t *testing.T) {
	for _, c := range []struct {
		n int
		p float64
	}{{50, 0.004}, {400, 0.004}, {400, 0.1}, {3000, 0.2}} {
		f := newMultinomial([]float64{0, c.p}, c.n)
		l := lump{state: 1, number: 70}
		l.prepare(f)
		require.InEpsilon(t, 70*float64(c.n)*c.p, l.count, 1e-14)
		values := func(x int) (v [6]float64) {
			term := f.term(1, float64(x))
			v = [6]float64{math.Abs(term.d) / 2, -term.q, -term.near, term.q * term.log, term.q * term.log * term.log, float64(x)}
			if term.d > 0 {
				v[1] = term.q
			}
			return v
		}
		var mean [6]float64
		var covariance [6][6]float64
		for x, w := range exactBinomial(c.n, c.p) {
			for i, v := range values(x) {
				mean[i] += w * v
			}
		}
		for x, w := range exactBinomial(c.n, c.p) {
			v := values(x)
			for i := range v {
				for j := range v {
					covariance[i][j] += w * (v[i] - mean[i]) * (v[j] - mean[j])
				}
			}
		}
		for i := range 5 {
			scale := math.Sqrt(covariance[i][i])
			require.InDelta(t, 70*mean[i], l.mean[i], 1e-7*scale)
			slope := covariance[i][5] / covariance[5][5]
			require.InDelta(t, slope, l.slope[i], 1e-7*scale)
			for j := range 5 {
				want := 70 * (covariance[i][j] - covariance[i][5]*covariance[j][5]/covariance[5][5])
				var got float64
				for k := range 5 {
					got += l.factor[i][k] * l.factor[j][k]
				}
				require.InDelta(t, want, got, 1e-6*70*scale*math.Sqrt(covariance[j][j]), "%v: %d, %d", c, i, j)
			}
		}
	}
	l := lump{number: 70}
	l.prepare(newMultinomial([]float64{0, 1}, 10))
	require.Equal(t, lump{number: 70}, l, "no sample is in it")
}

// TestLumpsAddNormalNumbers: what a lump adds is its mean at the count, and its factor times
// normal numbers.
func TestLumpsAddNormalNumbers(t *testing.T) {
	l := lump{mean: [5]float64{1, 2, 3, 4, 5}, count: 10, slope: [5]float64{0.1, 0.2, 0.3, 0.4, 0.5}}
	for i := range 5 {
		for j := range i + 1 {
			l.factor[i][j] = float64(1 + i*j)
		}
	}
	s := termSums{variation: 100}
	l.addTo(&s, 12, source(3))
	r := source(3)
	want, z := [5]float64{100}, [5]float64{}
	for i := range z {
		z[i] = r.NormFloat64()
		want[i] += l.mean[i] + 2*l.slope[i]
		for j := range i + 1 {
			want[i] += l.factor[i][j] * z[j]
		}
	}
	require.InDeltaSlice(t, want[:], []float64{s.variation, s.signed, s.near, s.divergence, s.squares}, 1e-13)
}

// TestCholesky: a factor is found of what has full rank and of what has not.
func TestCholesky(t *testing.T) {
	for _, full := range [][5][5]float64{
		{{2}, {1, 3}, {-1, 0.5, 4}, {0.2, 1, 2, 5}, {1, 1, 1, 1, 6}},
		{{2}, {1, 3}, {2, 4, 0}, {0.2, 1, 2, 5}, {0, 0, 0, 0, 0}}, // the third and the fifth follow
	} {
		var a [5][5]float64
		for i := range a {
			for j := range a {
				for k := range a {
					a[i][j] += full[i][k] * full[j][k]
				}
			}
		}
		l := cholesky(a)
		for i := range a {
			require.Equal(t, make([]float64, 4-i), l[i][i+1:], "the upper triangle")
			for j := range i + 1 {
				var got float64
				for k := range a {
					got += l[i][k] * l[j][k]
				}
				require.InDelta(t, a[i][j], got, 1e-12)
			}
		}
		require.Equal(t, full[2][2] != 0, l[2][2] != 0)
	}
}
