package mixture

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/revgen/revgen/engine/rng"
	"github.com/revgen/revgen/internal/pool"
)

// apart is a target of three modes, of weights 1, 2 and 4, widths 1, 0.5 and 2, at
// a distance of 20 from each other and of 200 from the origin.
func apart(dim int) (own func() Density, mode func(x []float32) int) {
	centers := make([][]float64, 3)
	for k := range centers {
		centers[k] = make([]float64, dim)
		centers[k][0] = 200 + 20*float64(k)
	}
	widths, weights := []float64{1, 0.5, 2}, []float64{1, 2, 4}
	mode = func(x []float32) int { return min(2, max(0, int(math.Round(float64(x[0])/20))-10)) }
	return func() Density {
		return func(dst []float64, x []float32) {
			for r := range dst {
				var sum float64
				for k, c := range centers {
					var square float64
					for i, v := range x[r*dim:][:dim] {
						square += (float64(v) - c[i]) * (float64(v) - c[i])
					}
					sum += weights[k] * math.Exp(-square/(2*widths[k]*widths[k])) / math.Pow(widths[k]*math.Sqrt(2*math.Pi), float64(dim))
				}
				if dst[r] = math.Log(sum); sum == 0 { // too far for the sum: the widest
					dst[r] = -745 - math.Abs(float64(x[r*dim])-220)/8
				}
			}
		}
	}, mode
}

// TestScoutFindsModes: of a target of which nothing is known, all modes are found,
// on the line with about their weights and ln Z = ln 7, and by any number of
// threads the same.
func TestScoutFindsModes(t *testing.T) {
	for _, dim := range []int{1, 4} {
		own, mode := apart(dim)
		var first *Found
		for _, threads := range []int{1, 3} {
			workers := pool.New(threads)
			found, err := Scout{Population: 512, Moves: 5, Seed: 7}.Run(t.Context(), dim, own, workers)
			workers.Close()
			require.NoError(t, err)
			if first == nil {
				first = found
			}
			require.Equal(t, first, found)
		}
		var share [3]float64
		for r := range 512 {
			share[mode(first.X[r*dim:])] += 1.0 / 512
		}
		require.Greater(t, first.Lines, 512/16)
		require.Less(t, first.Lines, 512)
		for _, v := range share {
			require.NotZero(t, v, "a mode is lost in %d coordinates: %v", dim, share)
		}
		if dim > 1 {
			continue // where the narrow mode is hard to hit, so that few find it
		}
		// Resampling at about ten values of b of which half survive scatters the
		// shares by some 10 %.
		for k, want := range []float64{1. / 7, 2. / 7, 4. / 7} {
			require.InDelta(t, want, share[k], 0.13, "%d coordinates: %v", dim, share)
		}
		require.InDelta(t, math.Log(7), first.LogZ, 0.7)

		c := rng.Stream(7, rng.Scouting, 1)
		all, _ := Fit(t.Context(), first.X, dim, 3, 50, 3, &c)
		slices.SortFunc(all, func(a, b Component) int { return int(a.Mean[0] - b.Mean[0]) })
		for k, width := range []float64{1, 0.5, 2} {
			require.InDelta(t, 200+20*float64(k), all[k].Mean[0], 0.6*width)
			require.InEpsilon(t, width, all[k].Factor[0], 0.35)
			require.InDelta(t, share[k], all[k].Weight, 0.01)
		}
	}
}

// TestFitOfNothing: points that are all the same have a mixture too.
// TestFitTakesTheBestAttempt, of which some leave two of twelve clusters to one
// component.
func TestFitTakesTheBestAttempt(t *testing.T) {
	const each, clusters = 40, 12
	r := rand.New(rand.NewPCG(5, 6))
	var x []float32
	for i := range each * clusters {
		x = append(x, float32(i%4)+0.1*float32(r.NormFloat64()), float32(i/4%3)+0.1*float32(r.NormFloat64()))
	}
	likelihoods := []float64{math.Inf(-1)}
	for attempts := 1; attempts <= 8; attempts++ {
		stream := rng.Stream(3, rng.Scouting, 1)
		all, likelihood := Fit(t.Context(), x, 2, clusters, 50, attempts, &stream)
		require.GreaterOrEqual(t, likelihood, likelihoods[attempts-1], "%d attempts", attempts)
		likelihoods = append(likelihoods, likelihood)
		f := newFit(t.Context(), x, 2, clusters)
		copy(f.components, all)
		require.Equal(t, likelihood, f.expect(), "that of the components, %d attempts", attempts)
	}
	require.Greater(t, likelihoods[8], likelihoods[1]+0.01, "%v: the first is the best", likelihoods)
}

func TestFitOfNothing(t *testing.T) {
	c := rng.Stream(1, rng.Scouting, 1)
	all, _ := Fit(t.Context(), make([]float32, 30), 3, 2, 5, 1, &c)
	for _, g := range all {
		for i := range 3 {
			require.Greater(t, g.Factor[row(i)+i], 0.0)
			require.Zero(t, g.Mean[i])
		}
	}
}

// TestLook: ln π of a Gaussian is quadratic wherever a population is, with all its
// correlations; of a mixture, of a law with another tail and of too few points it is not.
func TestLook(t *testing.T) {
	const dim, n = 3, 256
	found := &Found{X: make([]float32, dim*n), LogPi: make([]float64, n)}
	c := rng.Stream(5, rng.Scouting, 0)
	rng.Normals(found.X, dim, &c, 0)
	set := func(logPi func(x, y, z float64) float64) {
		for r := range n {
			x := found.X[r*dim:]
			found.LogPi[r] = float64(float32(logPi(float64(x[0]), float64(x[1]), float64(x[2]))))
		}
	}
	set(func(x, y, z float64) float64 { return 40 - x*x/2 - 3*y*y - z*z + x*y - 0.2*y*z + 7*x })
	look := found.Look(t.Context(), dim, &c)
	require.True(t, look.Gaussian)
	require.InDelta(t, 1, look.Width, 0.1, "of the points")
	found.LogPi[7] = math.Inf(-1) // no weight, no say
	require.True(t, found.Look(t.Context(), dim, &c).Gaussian)
	for name, logPi := range map[string]func(x, y, z float64) float64{
		"quartic": func(x, y, z float64) float64 { return -x*x/2 - y*y/2 - z*z/2 - 0.002*x*x*x*x },
		"two":     func(x, y, z float64) float64 { return math.Log(math.Exp(-x*x/2) + 0.01*math.Exp(-(x-3)*(x-3)/2)) },
		"student": func(x, y, z float64) float64 { return -100 * math.Log1p((x*x+y*y+z*z)/200) },
	} {
		set(logPi)
		look := found.Look(t.Context(), dim, &c)
		require.False(t, look.Gaussian, name)
		require.False(t, look.Curved, name)
	}
	for r := range n { // on the shell, but for its width
		x := found.X[r*dim:]
		length := math.Sqrt(float64(x[0]*x[0] + x[1]*x[1] + x[2]*x[2]))
		for i := range dim {
			found.X[r*dim+i] *= float32((2 + 0.1*math.Sin(float64(r))) / length)
		}
		found.LogPi[r] = -50 * 0.01 * math.Sin(float64(r)) * math.Sin(float64(r))
	}
	require.True(t, found.Look(t.Context(), dim, &c).Curved)
	few := &Found{X: found.X[:19*dim], LogPi: make([]float64, 19)}
	require.False(t, few.Look(t.Context(), dim, &c).Gaussian, "fewer points than twice the coefficients")
}
