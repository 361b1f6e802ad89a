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
		lumps, rest := lump(p)
		require.Len(t, lumps, 6)
		require.Len(t, rest, 32)
		for _, n := range []int{300, 20_000, 1_000_000} {
			f := newFolds(p, n)
			var laws [2][2][]float64
			var variances [2][2]Mean
			one, lumped := f.simulation(), newLumped(f, slices.Clone(lumps), rest).distances
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
		binomial(c.n, c.p, func(x, w float64) {
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
