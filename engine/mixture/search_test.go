package mixture

import (
	"context"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/revgen/revgen/asm"
	"github.com/revgen/revgen/engine/rng"
	"github.com/revgen/revgen/internal/notes"
	"github.com/revgen/revgen/internal/pool"
)

// quartic is ln π of coordinates that are coupled, with no weight where the first is below −4.
func quartic(x []float32) (v float64) {
	for i, u := range x {
		v -= math.Pow(float64(u), 4) / 10
		if i > 0 {
			v += float64(u * x[i-1])
		}
	}
	if x[0] < -4 {
		return math.Inf(-1)
	}
	return v
}

// population returns a scout with so many members.
func population(t *testing.T, n, d int, logPi func(x []float32) float64) *scout {
	e := newTestScout(t, d, func() Density {
		return func(dst []float64, x []float32) {
			for r := range dst {
				dst[r] = logPi(x[r*d : (r+1)*d])
			}
		}
	})
	e.X, e.proposal = make([]float32, n*d), make([]float32, n*d)
	e.LogPi, e.nextLogPi, e.LogBase, e.nextLogBase = make([]float64, n), make([]float64, n), make([]float64, n), make([]float64, n)
	e.Lengths, e.ShapeIndex, e.uniforms, e.accepted = make([]float64, n), make([]int, n), make([]float32, 4*n), make([]bool, n)
	e.Ancestor, e.nextAncestor = make([]int, n), make([]int, n)
	for range d {
		e.Center, e.Scale = append(e.Center, 0.5), append(e.Scale, 2)
	}
	return e
}

// drawn returns the normals and the uniforms of a round of a scout.
func drawn(e *scout, round uint64) (normals, uniforms []float32) {
	normals, uniforms = make([]float32, len(e.X)), make([]float32, len(e.uniforms))
	c := rng.Stream(e.Seed, rng.Scouting, e.Stream)
	rng.Normals(normals, e.dim, &c, round<<32)
	asm.Uniforms(uniforms, &c, 1<<63|round<<32)
	return normals, uniforms
}

// TestMovesOfScouts computes Metropolis steps by their definition, of spheres and of shapes, at
// several temperatures, with members that have no weight.
func TestMovesOfScouts(t *testing.T) {
	const n, d = 70, 2
	for _, b := range []float64{0, 0.3, 1} {
		for _, shaped := range []bool{false, true} {
			e := population(t, n, d, quartic)
			e.Beta, e.logBaseNorm, e.Round = b, 7, 5
			if shaped {
				e.moveShapes = pack([]Component{{0.5, []float64{0, 0}, []float64{1, 0.5, 2}}, {0.5, []float64{0, 0}, []float64{3, -1, 0.5}}}, d)
			}
			random := rand.New(rand.NewPCG(1, 2))
			for i := range e.X {
				e.X[i] = float32(2 * random.NormFloat64())
			}
			e.X[0], e.X[d] = -5, -9
			for r := range n {
				e.Lengths[r], e.ShapeIndex[r] = 0.2+random.Float64(), r%2
				e.LogPi[r] = quartic(e.X[r*d : (r+1)*d])
			}
			ofBase := func(x []float32) float64 {
				if b == 1 {
					return 0
				}
				return 7 - (math.Pow((float64(x[0])-0.5)/2, 2)+math.Pow((float64(x[1])-0.5)/2, 2))/2
			}
			for r := range n {
				e.LogBase[r] = ofBase(e.X[r*d : (r+1)*d])
			}
			x, now := append([]float32(nil), e.X...), append([]float64(nil), e.LogPi...)
			z, _ := drawn(e, 5)
			_, uniforms := drawn(e, 6)
			accepted := make([]bool, n)
			for r := range n {
				length := e.Lengths[r] * math.Exp(2*float64(uniforms[4*r+1])-1)
				v := []float64{float64(z[r*d]), float64(z[r*d+1])}
				if shaped && r%2 == 0 {
					v[1] = 0.5*v[0] + 2*v[1]
				} else if shaped {
					v[0], v[1] = 3*v[0], -v[0]+0.5*v[1]
				}
				to := []float32{x[r*d] + float32(length*v[0]), x[r*d+1] + float32(length*v[1])}
				next := quartic(to)
				ratio := b*(next-now[r]) + (1-b)*(ofBase(to)-ofBase(x[r*d:(r+1)*d]))
				if math.IsInf(now[r], -1) {
					ratio = math.Inf(1)
				}
				if math.IsInf(next, -1) {
					ratio = math.Inf(-1)
				}
				if accepted[r] = float64(uniforms[4*r]) < math.Exp(ratio); accepted[r] {
					copy(x[r*d:], to)
					now[r] = next
				}
			}
			e.move()
			require.EqualValues(t, 7, e.Round)
			require.Equal(t, accepted, e.accepted, "b = %v, %v", b, shaped)
			require.Equal(t, x, e.X)
			require.Equal(t, now, e.LogPi)
			for r := range n {
				require.InDelta(t, ofBase(x[r*d:(r+1)*d]), e.LogBase[r], 1e-9)
			}
		}
	}
}

// TestSweeps offers each coordinate what p_0 has, and takes it with the probability that keeps
// the target.
func TestSweeps(t *testing.T) {
	const n, d = 20, 3
	e := population(t, n, d, quartic)
	e.Beta = 1
	for i := range e.X {
		e.X[i] = float32(i%7)/2 - 1
	}
	x, now := append([]float32(nil), e.X...), make([]float64, n)
	for r := range n {
		e.LogPi[r] = quartic(e.X[r*d : (r+1)*d])
		now[r] = e.LogPi[r]
	}
	z, _ := drawn(e, 0)
	moved := 0
	for i := range d {
		_, uniforms := drawn(e, uint64(1+i))
		for r := range n {
			to := append([]float32(nil), x[r*d:(r+1)*d]...)
			to[i] = float32(0.5 + 2*float64(z[r*d+i]))
			old := (float64(x[r*d+i]) - 0.5) / 2
			next := quartic(to)
			if float64(uniforms[4*r]) < math.Exp(next-now[r]+(float64(z[r*d+i])*float64(z[r*d+i])-old*old)/2) {
				copy(x[r*d:], to)
				now[r] = next
				moved++
			}
		}
	}
	found := &Found{}
	e.sweeps(1, found)
	require.Equal(t, x, found.X)
	require.Equal(t, now, found.LogPi)
	require.True(t, n/2 < moved && moved < n*d, moved)
}

// TestResampling: weights are those of a rise of b, members are drawn at even distances, and b
// rises as far as half of the population survives.
func TestResampling(t *testing.T) {
	const n = 8
	e := population(t, n, 1, quartic)
	inf := math.Inf(1)
	e.LogPi, e.LogBase = []float64{1, 2, 3, -inf, 5, 0, 2, 1}, []float64{0, 1, 0, 0, 1, 0, 0, 3}
	weights := make([]float64, n)
	var mean float64
	for r := range n {
		mean += math.Exp(0.5*(e.LogPi[r]-e.LogBase[r])) / n
	}
	require.InDelta(t, math.Log(mean), e.setWeights(weights, 0.5), 1e-12)
	for r, w := range weights {
		require.InDelta(t, math.Exp(0.5*(e.LogPi[r]-e.LogBase[r]-4)), w, 1e-12)
	}
	for r := range n {
		e.X[r], e.Ancestor[r] = float32(10+r), 100+r
	}
	now, base := append([]float64(nil), e.LogPi...), append([]float64(nil), e.LogBase...)
	_, uniforms := drawn(e, 0)
	var sum float64
	for _, w := range weights {
		sum += w
	}
	e.resample(weights)
	for r := range n {
		at, below := 0, weights[0]
		for below < (float64(r)+float64(uniforms[0]))/n*sum {
			at++
			below += weights[at]
		}
		require.Equal(t, []any{float32(10 + at), 100 + at, now[at], base[at]}, []any{e.X[r], e.Ancestor[r], e.LogPi[r], e.LogBase[r]})
	}
	// What half survives of, and a little more.
	for _, c := range []struct {
		now  []float64
		want bool
	}{{[]float64{0, 0, -inf, -inf}, true}, {[]float64{0, -inf, -inf}, false}, {[]float64{0, -inf}, true}, {[]float64{0, -1e-3, -inf, -inf}, false}, {[]float64{-inf, -inf}, true}} {
		e.LogPi, e.LogBase = c.now, make([]float64, len(c.now))
		require.Equal(t, c.want, e.survives(make([]float64, len(c.now)), 1), c.now)
	}
	weights = []float64{3, 4}
	e.LogPi, e.LogBase = []float64{-inf, -inf}, []float64{1, 2}
	require.Zero(t, e.setWeights(weights, 0.5))
	require.Equal(t, []float64{1, 1}, weights)
	e.Beta, e.LogPi, e.LogBase = 0.25, []float64{0, -8, -9, -30}, make([]float64, 4)
	weights = make([]float64, 4)
	b := e.nextBeta(weights)
	require.True(t, e.survives(weights, b-0.25) && !e.survives(weights, b-0.25+1e-9))
	e.LogPi = []float64{0, -1, -1, 0}
	require.Equal(t, 1.0, e.nextBeta(weights))
	e.LogPi = []float64{0, -inf, -inf, -inf}
	require.Equal(t, math.Nextafter(0.25, 1), e.nextBeta(weights))
}

// TestWhereWalksBegin: at four distances, with steps as long, and p_0 is about those that are good.
func TestWhereWalksBegin(t *testing.T) {
	const n, d = 16, 2
	ended, end := context.WithCancel(t.Context())
	end()
	for name, logPi := range map[string]func(x []float32) float64{
		"walls": func(x []float32) float64 {
			return map[bool]float64{true: -math.Abs(float64(x[0])) / 10, false: math.Inf(-1)}[x[1] < 5]
		},
		"steep":   func(x []float32) float64 { return -5 * math.Abs(float64(x[0]+x[1])) },
		"nothing": func([]float32) float64 { return math.NaN() },
	} {
		e := population(t, n, d, logPi)
		e.ctx = ended
		z, _ := drawn(e, 0)
		best := math.Inf(-1)
		logs := make([]float64, n)
		for r := range n {
			reach := []float32{0.3, 3, 30, 300}[r%4]
			z[r*d], z[r*d+1] = reach*z[r*d], reach*z[r*d+1]
			if logs[r] = logPi(z[r*d:]); logs[r] != logs[r] {
				logs[r] = math.Inf(-1)
			}
			best = max(best, logs[r])
		}
		e.locate()
		require.Equal(t, z, e.X)
		require.Equal(t, logs, e.LogPi)
		require.InDeltaSlice(t, []float64{0.3, 3, 30, 300}, e.Lengths[4:8], 1e-12)
		low, high := []float64{math.Inf(1), math.Inf(1)}, []float64{math.Inf(-1), math.Inf(-1)}
		for r, v := range logs {
			for i := range d {
				if v >= best-36 && v > math.Inf(-1) {
					low[i], high[i] = min(low[i], float64(z[r*d+i])), max(high[i], float64(z[r*d+i]))
				}
			}
		}
		if name == "nothing" {
			low, high = []float64{-1, -1}, []float64{1, 1}
		}
		for i := range d {
			require.InDelta(t, (low[i]+high[i])/2, e.Center[i], 1e-9, name)
			require.InDelta(t, (high[i]-low[i])/2, e.Scale[i], 1e-9, name)
		}

		// About a centre that is known.
		e = population(t, n, d, logPi)
		e.ctx, e.Scale[1] = ended, 3
		z, _ = drawn(e, 0)
		e.startNear()
		for r := range n {
			reach := []float64{0.5, 1.5, 5, 15}[r%4]
			require.InDelta(t, reach*2/math.Sqrt2, e.Lengths[r], 1e-12)
			require.Equal(t, []float32{float32(0.5 + reach*2*float64(z[r*d])), float32(0.5 + reach*3*float64(z[r*d+1]))}, e.X[r*d:(r+1)*d])
		}
		e.drawBase()
		z, _ = drawn(e, 1)
		for r := range n {
			require.Equal(t, []float32{float32(0.5 + 2*float64(z[r*d])), float32(0.5 + 3*float64(z[r*d+1]))}, e.X[r*d:(r+1)*d])
			require.Equal(t, r, e.Ancestor[r])
		}
		require.Zero(t, e.Beta)
		if name == "walls" {
			require.Equal(t, n, e.anneal().Lines, "each of its own")
		}
	}
	// Those that have got nowhere are put where others have.
	e := population(t, 6, 1, quartic)
	e.X, e.LogPi = []float32{1, 2, 3, 4, 5, 6}, []float64{-50, -83, -83.01, -99, math.Inf(-1), -50}
	e.replaceLost()
	require.Equal(t, []float32{1, 2, 6, 1, 2, 6}, e.X)
	require.Equal(t, []float64{-50, -83, -50, -50, -83, -50}, e.LogPi)
	e.X, e.LogPi = []float32{1, 2}, []float64{math.Inf(-1), math.Inf(-1)}
	e.replaceLost()
	require.Equal(t, []float32{1, 2}, e.X)
}

// TestInterruptedScoutsGoOn: a scout that is interrupted again and again, in each of its parts,
// finds what it finds at once.
func TestInterruptedScoutsGoOn(t *testing.T) {
	t.Parallel() // it waits
	const d = 3
	for name, c := range map[string]struct {
		scout Scout
		logPi func(x []float32) float64
	}{
		"settling":     {Scout{Population: 64, Moves: 2, Seed: 3, Settle: true, Center: []float64{0, 0, 0}, Scale: []float64{1, 1, 1}}, func(x []float32) float64 { return chain(x, 1, 0.5, 2) - math.Pow(float64(x[0]), 4)/50 }},
		"a population": {Scout{Population: 128, Moves: 2, Seed: 4, Sweeps: 9, Center: []float64{0, 0, 0}, Scale: []float64{4, 4, 4}}, func(x []float32) float64 { return chain(x, 1, 0.5, 2) }},
		"two modes": {Scout{Population: 128, Moves: 2, Seed: 4, Far: true, Center: []float64{0, 0, 0}, Scale: []float64{4, 4, 4}}, func(x []float32) float64 {
			other := round{1, 0.1, 60}
			return max(chain(x, 1, 0.5, 2), other.logDensity(x)-3)
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			calls, left, stop, pause := 0, math.MaxInt, func() {}, time.Duration(0)
			own := func() Density {
				return func(dst []float64, x []float32) {
					time.Sleep(pause)
					if calls, left = calls+1, left-1; left == 0 {
						stop()
					}
					for r := range dst {
						dst[r] = c.logPi(x[r*d : (r+1)*d])
					}
				}
			}
			workers := pool.New(1)
			defer workers.Close()
			want, err := c.scout.Run(t.Context(), d, own, workers)
			require.NoError(t, err)
			needed, attempts := calls, 0
			calls, pause = 0, 800*time.Millisecond/time.Duration(needed) // several notes in each attempt
			dir := t.TempDir()
			for {
				ctx, end := context.WithCancel(t.Context())
				stop, left, attempts = end, needed/2, attempts+1
				got, err := c.scout.Run(notes.With(ctx, notes.Open(dir)), d, own, workers)
				end()
				if err == nil {
					require.Equal(t, want, got)
					break
				}
				require.ErrorIs(t, err, context.Canceled)
				require.Less(t, attempts, 30, "it does not get on")
			}
			t.Log(needed, attempts, calls)
			require.Greater(t, attempts, 1)
			require.Less(t, calls, 3*needed)
		})
	}
}

// TestShapesOfPopulations: moves have the shapes of up to eight Gaussians, of eight members for each coordinate and one
// more, after three iterations; and a region is described by as many after twenty.
func TestShapesOfPopulations(t *testing.T) {
	for _, c := range []struct{ n, d, shapes int }{{7, 1, 1}, {15, 1, 1}, {16, 1, 2}, {63, 1, 7}, {64, 1, 8}, {200, 1, 8}, {35, 2, 2}, {36, 2, 3}, {96, 2, 8}} {
		e := population(t, c.n, c.d, quartic)
		random := rand.New(rand.NewPCG(7, 8))
		for i := range e.X {
			e.X[i] = float32(random.NormFloat64() + float64(random.IntN(4)*3))
		}
		stream := rng.Stream(e.Seed, rng.Scouting, e.Stream)
		e.Round = 5
		f := newFit(t.Context(), e.X, c.d, c.shapes)
		f.seed(&stream, 3<<62|5<<32)
		f.maximise()
		for range 3 {
			f.expect()
			f.maximise()
		}
		f.expect()
		owner := make([]int, c.n)
		f.nearest(owner)
		require.Equal(t, f.mixture(), e.fitShapes(), "%+v", c)
		require.Equal(t, owner, e.ShapeIndex)
		require.EqualValues(t, 6, e.Round)
		require.Equal(t, f.packed.factor, e.moveShapes.factor)

		logPi := make([]float64, c.n)
		for i := range logPi {
			logPi[i] = float64(i % 7)
		}
		g := e.describe(&Found{X: e.X, LogPi: logPi})
		f = newFit(t.Context(), e.X, c.d, c.shapes)
		f.run(20, &stream, 3<<62|6<<32)
		require.Equal(t, f.mixture(), g.fit.mixture(), "%+v", c)
		require.EqualValues(t, 7, e.Round)
		q, ratios := make([]float64, c.n), make([]float64, c.n)
		g.fit.packed.LogDensity(q, e.X, nil, g.fit.packed.model.NewWork(c.n))
		for i, v := range q {
			ratios[i] = logPi[i] - v
		}
		slices.Sort(ratios)
		require.InDelta(t, ratios[c.n/2], g.logZ, 1e-12)
	}
}
