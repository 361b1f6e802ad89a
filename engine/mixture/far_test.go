package mixture

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/stat"
	"gonum.org/v1/gonum/stat/distuv"

	"github.com/revgen/revgen/internal/pool"
)

// round is a Gaussian with a weight, a deviation, and its centre on the first coordinate.
type round struct{ weight, deviation, at float64 }

func (g round) logDensity(x []float32) float64 {
	square := 0.0
	for i, v := range x {
		off := float64(v)
		if i == 0 {
			off -= g.at
		}
		square += off * off
	}
	d := float64(len(x))
	return math.Log(g.weight) - square/(2*g.deviation*g.deviation) - d*math.Log(g.deviation*math.Sqrt(2*math.Pi))
}

// TestFarModes: modes outside of p_0, and one much wider than it, are found with about their share of Z,
// by any number of threads the same; and without them a scout finds what it would if it did not
// look far.
func TestFarModes(t *testing.T) {
	const d, n = 3, 512
	for name, c := range map[string]struct {
		modes []round
		scale float64 // of p_0
		far   int
	}{
		"one":          {[]round{{2, 1, 0}}, 1.5, 0},
		"far":          {[]round{{2, 1, 0}, {3, 0.5, 25}}, 1.5, 1},
		"wide":         {[]round{{2, 0.02, 0}, {3, 1, 0.3}}, 0.03, 1},
		"two":          {[]round{{2, 1, 0}, {2, 2, -40}, {1, 0.5, 30}}, 1.5, 2},
		"next to none": {[]round{{2, 1, 0}, {0.0005, 0.5, 15}}, 1.5, 0},
	} {
		t.Run(name, func(t *testing.T) {
			logPi := func(x []float32) float64 {
				var logs []float64
				for _, m := range c.modes {
					logs = append(logs, m.logDensity(x))
				}
				return floats.LogSumExp(logs)
			}
			own := func() Density {
				return func(dst []float64, x []float32) {
					for r := range dst {
						dst[r] = logPi(x[r*d : (r+1)*d])
					}
				}
			}
			s := Scout{Population: n, Moves: 10, Seed: 5, Center: make([]float64, d), Scale: []float64{c.scale, c.scale, c.scale}}
			run := func(threads int) *Found {
				workers := pool.New(threads)
				defer workers.Close()
				found, err := s.Run(t.Context(), d, own, workers)
				require.NoError(t, err)
				return found
			}
			near := run(1)
			s.Far = true
			found := run(1)
			require.Equal(t, found, run(3))
			if require.Equal(t, c.far, found.Far); c.far == 0 {
				require.Equal(t, near, found)
				return
			}
			require.Len(t, found.LogPi, n)
			for members := 2; members < 10; members++ { // which find something, however few they are
				few := Scout{Population: members, Moves: 1, Seed: 5, Center: s.Center, Scale: s.Scale, Far: true}
				workers := pool.New(1)
				found, err := few.Run(t.Context(), d, own, workers)
				workers.Close()
				require.NoError(t, err)
				require.Len(t, found.LogPi, members)
			}
			logZ, share := 0.0, make([]float64, len(c.modes))
			for _, m := range c.modes {
				logZ += m.weight
			}
			logZ = math.Log(logZ)
			require.InDelta(t, logZ, found.LogZ, 0.3)
			for r, v := range found.LogPi {
				x := found.X[r*d:][:d]
				require.InDelta(t, logPi(x), v, 1e-9)
				of, most := 0, math.Inf(-1)
				for j, m := range c.modes {
					if v := m.logDensity(x); v > most {
						of, most = j, v
					}
				}
				share[of] += 1. / n
			}
			for j, m := range c.modes {
				require.InDelta(t, m.weight/math.Exp(logZ), share[j], 0.12, share)
			}
		})
	}
}

// TestRegions: populations have the density of the Gaussians that are fitted to them, times the Z that those
// tell; and of another, members with far more are lacking.
func TestRegions(t *testing.T) {
	const n = 15 // for one Gaussian
	random := rand.New(rand.NewPCG(1, 2))
	points := make([]float64, n)
	for i := range points {
		points[i] = float64(float32(3 + 2*random.NormFloat64()))
	}
	mean, variance := stat.PopMeanVariance(points, nil)
	q := func(v float32) float64 { return distuv.Normal{Mu: mean, Sigma: math.Sqrt(variance)}.Prob(float64(v)) }
	workers := pool.New(1)
	defer workers.Close()
	own := pool.NewTools(workers, func() Density { return nil })
	e := Scout{Seed: 1}.search(t.Context(), 1, own, workers)
	described := func(z float64) region { // members of z·q but for a factor of 2 and 1/2 by turns
		f := &Found{}
		for i, v := range points {
			f.X, f.LogPi = append(f.X, float32(v)), append(f.LogPi, math.Log(z*q(float32(v)))+math.Ln2*float64(1-i%3))
		}
		return e.describe(f)
	}
	a := regions{described(math.Exp(2))}
	require.InDelta(t, 2, a.logZ(), 0.05)
	a[0].logZ = 2
	x, logPi := []float32{-1, 3, 8}, []float64{0, 1, 2}
	for i, ratio := range a.ratios(x, logPi) {
		require.InDelta(t, logPi[i]-math.Log(math.Exp(2)*q(x[i])), ratio, 0.05)
	}
	a = append(a, a[0])
	a[1].logZ = 4
	require.InDelta(t, math.Log(math.Exp(2)+math.Exp(4)), a.logZ(), 1e-12)
	for i, ratio := range a.ratios(x, logPi) {
		require.InDelta(t, logPi[i]-math.Log(q(x[i])*(math.Exp(2)+math.Exp(4))), ratio, 0.05)
	}
	of := func(over float64) float64 { return math.Log(q(3)*(math.Exp(2)+math.Exp(4))) + over }
	lacking := a.outside(&Found{X: []float32{3, 3, 3, 3}, LogPi: []float64{of(3.4), of(3.6), of(0), of(9)}}, 1)
	require.Equal(t, &Found{X: []float32{3, 3}, LogPi: []float64{of(3.6), of(9)}}, lacking)
}

// TestTogether: populations have their shares of Z, at least a sixteenth, of as many members as
// the first has.
func TestTogether(t *testing.T) {
	population := func(n int, at float32, share float64) region {
		f := &Found{LogZ: 99, Lines: n}
		for r := range n {
			f.X, f.LogPi = append(f.X, at, float32(r)), append(f.LogPi, float64(at)+float64(r)/1000)
		}
		return region{Found: f, logZ: 1 + math.Log(share)}
	}
	first := population(320, 1, 0.5)
	require.Same(t, first.Found, regions{first}.together(2))
	all := regions{first, population(80, 2, 0.49), population(80, 3, 0.01)}.together(2)
	require.InDelta(t, 1, all.LogZ, 1e-12)
	require.Equal(t, []int{320, 2}, []int{all.Lines, all.Far})
	have, members := map[float32]int{}, map[[2]float32]bool{}
	for r, v := range all.LogPi {
		at, member := all.X[2*r], all.X[2*r+1]
		have[at]++
		members[[2]float32{at, member}] = true
		require.InDelta(t, float64(at)+float64(member)/1000, v, 1e-12)
	}
	total := 0.5 + 0.49 + 1./16
	require.Equal(t, map[float32]int{1: int(math.Round(320 * 0.5 / total)), 2: int(math.Round(320*0.99/total)) - int(math.Round(320*0.5/total)), 3: 320 - int(math.Round(320*0.99/total))}, have)
	require.Len(t, members, have[1]+80+have[3], "each member comes once before one comes twice")
}

// TestMissingRegions: a region is missing where others have few of the members that its share asks for, wherever else
// they are, and not where they have them, nor if it holds next to nothing.
func TestMissingRegions(t *testing.T) {
	workers := pool.New(1)
	defer workers.Close()
	e := Scout{Seed: 1}.search(t.Context(), 2, pool.NewTools(workers, func() Density { return nil }), workers)
	random := rand.New(rand.NewPCG(3, 4))
	described := func(n int, logZ float64, at, deviation float32) region {
		f := &Found{LogPi: make([]float64, n)}
		for range n {
			f.X = append(f.X, at+deviation*float32(random.NormFloat64()), deviation*float32(random.NormFloat64()))
		}
		p := e.describe(f)
		p.logZ = logZ
		return p
	}
	wide := regions{described(400, 0, 0, 1)}
	narrow := regions{described(400, 0, 0, 0.01)}
	for name, c := range map[string]struct {
		of      regions
		another region
		want    bool
	}{
		"elsewhere":         {wide, described(100, 0, 9, 1), true},
		"of little":         {wide, described(100, math.Log(1.1e-3), 15, 1), true},
		"of next to none":   {wide, described(100, math.Log(0.9e-3), 15, 1), false},
		"of everything":     {wide, described(100, math.Inf(1), 15, 1), false},
		"the same":          {wide, described(100, 0, 0, 1), false},
		"the same, thrice":  {wide, described(100, math.Log(3), 0, 1), false},
		"the same, tenfold": {wide, described(100, math.Log(10), 0, 1), false},
		"going on":          {wide, described(100, 0, 3, 1), false},
		"beside":            {wide, described(100, 0, 6, 1), true},
		"little beside":     {wide, described(100, math.Log(0.09), 6, 1), false},
		"narrow":            {wide, described(100, 0, 1, 0.01), true},
		"wide":              {narrow, described(100, 0, 0, 1), true},
		"in a second":       {regions{narrow[0], wide[0]}, described(100, 0, 0, 1), false},
	} {
		require.Equal(t, c.want, c.of.lack(c.another, 2), name)
	}
}
