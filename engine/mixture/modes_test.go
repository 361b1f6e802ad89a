package mixture

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/stat"
	"gonum.org/v1/gonum/stat/distuv"

	"github.com/revgen/revgen/asm"
	"github.com/revgen/revgen/engine/rng"
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
			s.Far, s.Spare = true, true // whose walkers take half the moves
			few := run(1)
			require.Equal(t, few, run(3))
			require.Equal(t, min(c.far, 1), few.Far) // the other's few walkers do not get there
			s.Spare = false
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
	e := Scout{Seed: 1}.newScout(t.Context(), 1, own, workers)
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
	for i, ratio := range a.logRatios(x, logPi) {
		require.InDelta(t, logPi[i]-math.Log(math.Exp(2)*q(x[i])), ratio, 0.05)
	}
	a = append(a, a[0])
	a[1].logZ = 4
	require.InDelta(t, math.Log(math.Exp(2)+math.Exp(4)), a.logZ(), 1e-12)
	for i, ratio := range a.logRatios(x, logPi) {
		require.InDelta(t, logPi[i]-math.Log(q(x[i])*(math.Exp(2)+math.Exp(4))), ratio, 0.05)
	}
	of := func(over float64) float64 { return math.Log(q(3)*(math.Exp(2)+math.Exp(4))) + over }
	lacking := a.outside(&Found{X: []float32{3, 3, 3, 3}, LogPi: []float64{of(3.4), of(3.6), of(0), of(9)}}, 1)
	require.Equal(t, &Found{X: []float32{3, 3}, LogPi: []float64{of(3.6), of(9)}}, lacking)
}

// TestMerge: populations have their shares of Z, at least a sixteenth, of as many members as
// the first has.
func TestMerge(t *testing.T) {
	population := func(n int, at float32, share float64) region {
		f := &Found{LogZ: 99, Lines: n}
		for r := range n {
			f.X, f.LogPi = append(f.X, at, float32(r)), append(f.LogPi, float64(at)+float64(r)/1000)
		}
		return region{Found: f, logZ: 1 + math.Log(share)}
	}
	first := population(320, 1, 0.5)
	require.Same(t, first.Found, regions{first}.merge(2))
	all := regions{first, population(80, 2, 0.49), population(80, 3, 0.01)}.merge(2)
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
	e := Scout{Seed: 1}.newScout(t.Context(), 2, pool.NewTools(workers, func() Density { return nil }), workers)
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
		require.Equal(t, c.want, c.of.misses(c.another, 2), name)
	}
}

// lattice is a region of points with equal distances on a line, about 0 and of deviation 1 in units of scale.
func lattice(n int, at, deviation, scale, logZ float64) region {
	g := region{Found: &Found{LogPi: make([]float64, n)}, fit: &fit{variance: []float64{scale * scale}}, logZ: logZ}
	step := deviation * scale / math.Sqrt(float64(n*n-1)/12)
	for i := range n {
		g.X = append(g.X, float32(scale*at+step*(float64(i)-float64(n-1)/2)))
	}
	return g
}

// TestLimitsOfRegions: a region is missing where it has enough of Z and others do not go on beside it, at either side of
// each limit.
func TestLimitsOfRegions(t *testing.T) {
	const scale = 4
	another := lattice(64, 0, 1, scale, 0)
	for _, c := range []struct {
		at, deviation, share float64
		want                 bool
	}{
		{2.49, 0.5, 1, false}, {2.51, 0.5, 1, true}, {-2.49, 0.5, 1, false}, {-2.51, 0.5, 1, true}, // off the middle
		{2.49, 0.101, 1, false}, {2.49, 0.099, 1, true}, // how wide the neighbours are
		{9.9, 0.5, 0.099, false}, {9.9, 0.5, 0.101, true}, {10.1, 0.5, 0.099, true}, // clear of others, where it has little
		{30, 0.5, 1.01e-3, true}, {30, 0.5, 0.99e-3, false}, {30, 0.5, 1e9, true}, // and next to nothing
	} {
		known := regions{lattice(32, c.at, c.deviation, scale, math.Log(1/c.share))}
		require.Equal(t, c.want, known.misses(another, 1), "%+v", c)
		// Others farther away change nothing, and one that goes on is enough wherever it stands.
		farther := lattice(8, 1e4, 1, scale, -50)
		known[0].X, known[0].LogPi = append(known[0].X, farther.X...), append(known[0].LogPi, farther.LogPi...)
		require.Equal(t, c.want, known.misses(another, 1), "%+v, and others", c)
		require.Equal(t, c.want, append(regions{lattice(32, 500, 1, scale, -50)}, known...).misses(another, 1), "%+v, behind another", c)
	}
	// Neighbours that are ten times as wide have to be many, to leave gaps where a member is: two walls of points.
	for deviation, want := range map[float64]bool{9.9: false, 10.1: true} {
		walls := lattice(32, 0, 0, scale, 0)
		for i := range walls.X {
			walls.X[i] = float32(scale * (1 + deviation*float64(2*(i%2)-1)))
		}
		require.Equal(t, want, regions{walls}.misses(another, 1), deviation)
	}
}

// TestLonelyMembers: more than half of a region's members have to be lonely, which is to have less than a quarter of what
// its share asks for as far as a sixteenth of its own are.
func TestLonelyMembers(t *testing.T) {
	const n = 64
	another := region{Found: &Found{LogPi: make([]float64, n)}, fit: &fit{variance: []float64{9}}}
	for i := range n {
		another.X = append(another.X, float32(i))
	}
	halves, outcomes := 0, map[bool]int{}
	for _, share := range []float64{0.9, 1.55, 1.65, 3.1, 3.3} {
		for count := range 10 {
			known := regions{{Found: &Found{LogPi: make([]float64, 32)}, logZ: -math.Log(share)}}
			for i := range 32 {
				at := float32(1e4) // beside nothing
				if i < 2*count {
					at = float32(7 * (i / 2)) // two at each
				}
				known[0].X = append(known[0].X, at)
			}
			lonely := 0
			for m := range n {
				reach := 3 // that five other members are within
				for min(m, reach)+min(n-1-m, reach) < 5 {
					reach++
				}
				have := 0.0
				for _, x := range known[0].X {
					if math.Abs(float64(x)-float64(m)) <= float64(reach) {
						have += 1. / 32
					}
				}
				if have < share*5/n/4 {
					lonely++
				}
			}
			if 2*lonely == n {
				halves++
			}
			want := 2*lonely > n
			outcomes[want]++
			require.Equal(t, want, known.misses(another, 1), "%v, %d: %d are lonely", share, count, lonely)
		}
	}
	require.Positive(t, outcomes[true])
	require.Positive(t, outcomes[false])
	require.Positive(t, halves, "as many as are not")
}

// TestNeighbourhood: how far the 32 nearest members of another region are, and how wide, by each coordinate's deviation.
func TestNeighbourhood(t *testing.T) {
	g := region{Found: &Found{X: []float32{-2, 10, 2, 10, 0, 7, 0, 13}}, fit: &fit{variance: []float64{2, 4.5}}}
	other := region{Found: &Found{}}
	for i := range 32 {
		other.X = append(other.X, 5+float32(2*(i%2)-1), 16+6*float32(2*(i/2%2)-1)) // deviations 1 and 6
	}
	other.X = append(other.X, 400, 10, 0, -500)
	off, ratio := g.neighbourhood(other, 2)
	require.InEpsilon(t, math.Sqrt((25/2.+36/4.5)/2), off, 1e-6)
	require.InEpsilon(t, math.Sqrt(1/math.Sqrt(2)*6/math.Sqrt(4.5)), ratio, 1e-6)
	require.Equal(t, []float64{0, 9/2. + 16/4.5}, g.squaredDistances([]float32{1, 2, 4, 6}, []float32{1, 2}))
}

// TestPopulationsAboutWalkers have a quarter of the members, and at least 32.
func TestPopulationsAboutWalkers(t *testing.T) {
	const d = 3
	for n, members := range map[int]int{160: 40, 100: 32} {
		s := Scout{Population: n, Moves: 5, Seed: 5, Center: make([]float64, d), Scale: []float64{1.5, 1.5, 1.5}, Far: true}
		calls, _, _, found := asked(t, s, d, 0, func(x []float32) float64 {
			return floats.LogSumExp([]float64{round{2, 1, 0}.logDensity(x), round{3, 0.5, 25}.logDensity(x)})
		})
		require.Equal(t, 1, found.Far)
		require.Positive(t, calls[members])
		delete(calls, members)
		delete(calls, 64)
		delete(calls, 17) // of the way from a walker to a top
		delete(calls, n%64)
		require.Empty(t, calls)
	}
}

// TestWhereFarWalksBegin: at four distances in scales of p_0, with steps of its least coordinate as long, in a stream of
// their own.
func TestWhereFarWalksBegin(t *testing.T) {
	const d, walkers = 2, 128
	s := Scout{Population: 60, Moves: 2, Seed: 5, Stream: 3, Center: []float64{0.5, -1}, Scale: []float64{4, 1.5}}
	rows := func() (all []float32) {
		workers := pool.New(1)
		defer workers.Close()
		_, err := s.Run(t.Context(), d, func() Density {
			return func(dst []float64, x []float32) {
				all = append(all, x...)
				for r := range dst {
					dst[r] = round{2, 1, 0}.logDensity(x[r*d : (r+1)*d])
				}
			}
		}, workers)
		require.NoError(t, err)
		return all
	}
	near := len(rows())
	s.Far = true
	far := rows()[near:]
	c := rng.Stream(5, rng.Scouting, 3|1<<16)
	z, steps, uniforms := make([]float32, walkers*d), make([]float32, walkers*d), make([]float32, 4*walkers)
	rng.Normals(z, d, &c, 0)
	rng.Normals(steps, d, &c, 1<<32)
	asm.Uniforms(uniforms, &c, 1<<63|2<<32)
	for r := range walkers {
		start := []float64{1, 3, 10, 30}[r%4]
		length := 1.5 * start * math.Exp(2*float64(uniforms[4*r+1])-1)
		for i := range d {
			begin := float32(s.Center[i] + start*s.Scale[i]*float64(z[r*d+i]))
			require.Equal(t, begin, far[r*d+i])
			require.Equal(t, begin+float32(length*float64(steps[r*d+i])), far[(walkers+r)*d+i])
		}
	}
	require.GreaterOrEqual(t, len(far), walkers*(1+200+20*d)*d)
}

// TestFewWalkers: half of them take half the moves, and where one is still on its way, so that no mode
// about it would hold anything, no population is annealed.
func TestFewWalkers(t *testing.T) {
	const d, walkers = 2, 64
	s := Scout{Population: 60, Moves: 2, Seed: 5, Spare: true, Center: make([]float64, d), Scale: []float64{1, 1}}
	evaluations := func() (n int) {
		workers := pool.New(1)
		defer workers.Close()
		_, err := s.Run(t.Context(), d, func() Density {
			return func(dst []float64, x []float32) {
				n += len(dst)
				for r := range dst {
					dst[r] = round{2, 1, 0}.logDensity(x[r*d : (r+1)*d])
				}
			}
		}, workers)
		require.NoError(t, err)
		return n
	}
	near := evaluations()
	s.Far = true
	require.Equal(t, walkers*(1+(200+20*d)/2), evaluations()-near)

	e := Scout{Population: 2, Scale: []float64{1, 4}}.newScout(t.Context(), d, nil, nil)
	e.LogPi, e.Lengths = []float64{-3, -3}, []float64{1, 100}
	law := 1 + math.Log(2*math.Pi) // a Gaussian's Z for its ln π one deviation away in each of two coordinates
	require.InDelta(t, -3+law+math.Log(3*12), e.maxLogMass(0), 1e-12)
	require.InDelta(t, -3+law+2*math.Log(100*math.Sqrt2/2.4), e.maxLogMass(1), 1e-12)
}

// TestRisesTo: the way from a walker to a top falls by 1 somewhere or becomes steeper, or does neither.
func TestRisesTo(t *testing.T) {
	for _, c := range []struct {
		logPi  func(x float64) float64 // from 0 to 16
		uphill bool
	}{
		{func(x float64) float64 { return x }, true},
		{func(float64) float64 { return 0 }, true},
		{func(x float64) float64 { return -0.06 * x }, true},
		{func(x float64) float64 { return -0.07 * x }, false},
		{func(x float64) float64 { return max(x, 1.49*x-0.49*5) }, true},
		{func(x float64) float64 { return max(x, 1.51*x-0.51*5) }, false},
		{func(x float64) float64 { return 7 * math.Exp(-1e4*x*x) }, false},         // a needle
		{func(x float64) float64 { return 7 * math.Exp(-(x-16)*(x-16)/2) }, false}, // from what is around one
		{func(x float64) float64 { return -(x - 16) * (x - 16) / 2 }, true},
		{func(x float64) float64 { return math.Log(math.Exp(-x*x/2) + math.Exp(-(x-16)*(x-16)/2)) }, false},
		{func(x float64) float64 {
			if x == 8 {
				return math.NaN()
			}
			return x
		}, false},
	} {
		e := newTestScout(t, 2, func() Density {
			return func(dst []float64, x []float32) {
				for r := range dst {
					dst[r] = c.logPi(float64(x[2*r+1]) - 3)
				}
			}
		})
		require.Equal(t, c.uphill, e.risesTo([]float32{1, 3}, []float64{5, 19}))
	}
	g := region{Found: &Found{X: []float32{1, 2, 3, 4, 5, 6}, LogPi: []float64{-1, 2, 0}}}
	require.Equal(t, []float64{3, 4}, g.top(2))
}
