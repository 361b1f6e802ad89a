package vectors

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"gonum.org/v1/gonum/mat"

	"github.com/revgen/revgen/asm"
	"github.com/revgen/revgen/engine/rng"
	"github.com/revgen/revgen/internal/number"
	"github.com/revgen/revgen/internal/pool"
)

// TestWhereChainsBegin: in every mode in turn, normally about its centre, in turns at each of the
// scales, in many coordinates but for sixteen at once.
func TestWhereChainsBegin(t *testing.T) {
	const n = 300
	for _, c := range []struct {
		target Modal
		wide   int // coordinates at once
	}{{threeTwins(3), 3}, {many{64, 1}, 64}, {many{65, 2}, 16}, {stretched{2}, 16}} {
		e := ensemble(t, c.target)
		d, modes := c.target.Dim(), c.target.Modes()
		for _, far := range []bool{false, true} {
			epoch, scales := uint32(0), []float64{1, 3}
			if far {
				epoch, scales = 1, []float64{10, 20, 40}
			}
			var w *walk
			if far {
				got, err := e.Prospect(make([]float32, e.generator.networks().params), n, scales)
				require.NoError(t, err)
				w = got.(*walk)
			} else {
				got, err := e.Chains(make([]float32, e.generator.networks().params), n)
				require.NoError(t, err)
				w = got.(*walk)
			}
			require.Equal(t, []any{uint64(epoch) << 32, 0, n, uint64(0)}, []any{w.first, w.lo, w.hi, w.firstLeap})
			z := make([]float32, n*d)
			stream := rng.Stream(e.seed, rng.ChainStart, epoch)
			rng.Normals(z, d, &stream, 0)
			for i := range n {
				require.Equal(t, uint8(i%modes), w.states.K[i])
				center, scale := placeOf(c.target, i%modes)
				turn := i / modes
				for j := range d {
					spread := scale
					if c.wide == d || ((j+16*(turn/len(scales)))%d < 16) {
						spread *= scales[turn%len(scales)]
					}
					require.InDelta(t, center[j]+spread*float64(z[i*d+j]), w.states.X[i*d+j], 1e-4*spread, "chain %d, coordinate %d of %d", i, j, d)
				}
			}
			logs := make([]float64, n)
			densityOf(c.target)(logs, w.states.X, w.states.K)
			require.Equal(t, logs, w.LogDensities())
		}
	}
}

// walled is flat within 1 of (3, 3) and has no weight elsewhere.
type walled struct{}

func (walled) Dim() int                       { return 2 }
func (walled) Place(int) ([]float64, float64) { return []float64{3, 3}, 2 }
func (walled) LogDensity(dst, x []float32, _ []uint8) {
	for r := range dst {
		dst[r] = 0
		if !(math.Hypot(float64(x[2*r])-3, float64(x[2*r+1])-3) < 1) {
			dst[r] = float32(math.Inf(-1))
		}
	}
}

// TestChainsEnter: a state without weight goes half-way to its centre until there is some, or stays
// where sixteen halvings do not lead there.
func TestChainsEnter(t *testing.T) {
	workers := pool.New(1)
	defer workers.Close()
	c := paperConfig()
	e := newEnsemble(c.settings(), walled{}, workers)
	x := []float32{3.5, 3, 5, 3, 3, -5, 3 + 60_000, 3, 3 + 70_000, 3, 3, 3.999}
	w := e.newWalk(make([]float32, e.generator.networks().params), rng.ChainTransition, 0, 6)
	copy(w.states.X, x)
	w.enterSupport()
	require.InDeltaSlice(t, []float32{3.5, 3, 3.5, 3, 3, 2.5, 3 + 60_000./(1<<16), 3, 3 + 70_000, 3, 3, 3.999}, w.states.X, 1e-3)
	inf := math.Inf(-1)
	require.Equal(t, []float64{0, 0, 0, 0, inf, 0}, w.logPi)
}

// TestShapes: a shape is the Cholesky factor of a covariance, of four times as many states as
// coordinates at least, and chains adapt their steps by how many are accepted.
func TestShapes(t *testing.T) {
	const d, n = 3, 12
	about := make([]float64, n*d)
	for i := range about {
		about[i] = math.Sin(float64(i*i + i))
	}
	covariance := mat.NewSymDense(d, nil)
	for i := range d {
		for j := range i + 1 {
			var sum float64
			for r := range n {
				sum += about[r*d+i] * about[r*d+j] / n
			}
			covariance.SetSym(i, j, sum)
		}
	}
	s := newShape([]float64{1, -2, 3}, about)
	require.Equal(t, []float32{1, -2, 3}, s.center)
	lower := mat.NewDense(d, d, s.lower)
	var product mat.Dense
	product.Mul(lower, lower.T())
	require.True(t, mat.EqualApprox(covariance, &product, 1e-12))
	z := []float32{0.5, -1, 2}
	var x mat.VecDense
	x.MulVec(lower, mat.NewVecDense(d, number.Widen(z)))
	back, forth := make([]float32, d), make([]float32, d)
	for i := range d {
		back[i] = float32(x.AtVec(i)) + s.center[i]
	}
	s.inverse(forth, back)
	require.InDeltaSlice(t, z, forth, 1e-5)
	asm.DenseForward(forth, z, s.factor, s.center, 1, d, d, 1)
	require.InDeltaSlice(t, back, forth, 1e-5)
	require.Nil(t, newShape(make([]float64, d), about[:11*d]))
	require.Nil(t, newShape(make([]float64, d), make([]float64, n*d)), "states that are all the same")

	steps := &shaping{stepSize: []float64{1, 1, 0.015}}
	steps.adapt(0, true, 4)
	steps.adapt(1, false, 4)
	steps.adapt(2, false, 4)
	steps.adapt(2, false, 4)
	require.InDeltaSlice(t, []float64{math.Exp(0.075), math.Exp(-0.025), 0.015 * math.Exp(-0.05)}, steps.stepSize, 1e-12)
	for range 100 {
		steps.adapt(2, false, 4)
	}
	require.InDelta(t, 0.012, steps.stepSize[2], 1e-12, "a hundredth of 2.4/√d")
}

// TestShapedSteps replays the steps of chains in a shape, on their way and at rest, and a slice of
// them beside the kernel's own.
func TestShapedSteps(t *testing.T) {
	const n, d, steps = 40, 2, 5
	workers := pool.New(1)
	defer workers.Close()
	target := plane(0.6)
	s, params := newTestSystem(target, workers)
	begin := func() *walk {
		got, err := s.Chains(params, n)
		require.NoError(t, err)
		w := got.(*walk)
		w.Calls = 3
		w.Shape(0)
		require.Equal(t, plainEveryFewDim, w.shaping.plainEvery)
		require.InDelta(t, 2.4/math.Sqrt2, w.shaping.stepSize[n-1], 1e-12)
		require.True(t, math.IsInf(w.shaping.lastLogPi[0], -1))
		for i := range n {
			w.shaping.atRest[i] = i%3 == 0
		}
		return w
	}
	w := begin()
	shape := w.shaping.shapes[0]
	log := densityOf(target)
	x, density := slices.Clone(w.states.X), slices.Clone(w.logPi)
	size, last := slices.Clone(w.shaping.stepSize), slices.Clone(w.shaping.lastLogPi)
	last[1] = density[1] + 1 // ln π has fallen since
	w.shaping.lastLogPi[1] = last[1]
	rests := slices.Clone(w.shaping.atRest)
	rests[1] = true
	stream := rng.Stream(s.seed, rng.ShapeTransition, 3)
	accepted, wide := 0, 0
	for i := range n {
		z := make([]float32, d)
		shape.inverse(z, x[i*d:(i+1)*d])
		for step := range uint64(steps) {
			noise, u := make([]float32, d), make([]float32, 4)
			rng.Normals(noise, d, &stream, step<<36|uint64(i))
			asm.Uniforms(u, &stream, 1<<63|step<<36|uint64(i))
			keep, fresh, own := 1.0, size[i], rests[i] && u[1] < 0.5
			if own {
				beta := []float64{1, 0.5, 0.25, 0.125}[int(8*u[1])]
				keep, fresh = math.Sqrt(1-beta*beta), beta
				wide++
			}
			y := make([]float32, d)
			for j := range y {
				y[j] = float32(keep)*z[j] + float32(fresh)*noise[j]
			}
			to, next := make([]float32, d), make([]float64, 1)
			asm.DenseForward(to, y, shape.factor, shape.center, 1, d, d, 1)
			log(next, to, nil)
			ratio := next[0] - density[i]
			if own {
				ratio += (square(y) - square(z)) / 2
			}
			yes := float64(u[0]) < math.Exp(ratio)
			if yes {
				copy(z, y)
				copy(x[i*d:], to)
				density[i] = next[0]
				accepted++
			}
			if !rests[i] {
				size[i] *= math.Exp(map[bool]float64{true: 0.075, false: -0.025}[yes])
			}
		}
	}
	chains := make([]int, n)
	for i := range chains {
		chains[i] = i
	}
	before := slices.Clone(w.logPi)
	w.eachPiece(func(tools *Tools, lo, hi int) { w.shapedSteps(tools, shape, chains, steps, true) })
	require.Equal(t, x, w.states.X)
	require.Equal(t, density, w.logPi)
	require.InDeltaSlice(t, size, w.shaping.stepSize, 1e-12)
	require.Equal(t, rests, w.shaping.atRest)
	require.Equal(t, before, w.shaping.lastLogPi)
	require.True(t, n < accepted && accepted < n*steps && wide > 10, fmt.Sprint(accepted, wide))

	// A slice takes the kernel's own steps first, one in two.
	for _, taken := range []int{1, 2, 5, 8} {
		a, b := begin(), begin()
		stream := rng.Stream(s.seed, rng.ChainTransition, 3)
		a.advance(&stream, taken)
		plain := (taken + 1) / 2 // of the call of number 3
		b.eachPiece(func(tools *Tools, lo, hi int) {
			c := stream
			tools.mover.resume(b.logPi, b.states, plain, &c, 0)
			b.shapedSteps(tools, b.shaping.shapes[0], chains, taken-plain, false)
		})
		require.Equal(t, b.states.X, a.states.X, taken)
		require.Equal(t, []int{taken, 0}, []int{a.shaping.steps, a.shaping.lookedAt})
		a.advance(&stream, 1)
		require.Equal(t, map[bool]int{true: taken}[taken >= d], a.shaping.lookedAt, "it looks after d steps")
	}
}

// TestLeaps replays what chains are offered of the generator's samples.
func TestLeaps(t *testing.T) {
	const n, d, first = 50, 2, 1 << 34
	workers := pool.New(1)
	defer workers.Close()
	target := plane(0.6)
	s, params := newTestSystem(target, workers)
	got, err := s.Leaps(params, n, first, 1, 3)
	require.NoError(t, err)
	w := got.(*walk)
	w.Calls = 2
	x, logPi := slices.Clone(w.states.X), slices.Clone(w.logPi)
	samples := s.NewStates(n)
	w.sampler.Draw(samples, nil, first+2*n)
	logQ := func(x []float32) float64 { return -square(x)/2 - math.Log(2*math.Pi) } // of a flow that is the identity
	stream, u := rng.Stream(s.seed, rng.ShapeTransition, 2), make([]float32, 4*n)
	asm.Uniforms(u, &stream, 1<<63)
	leapt := 0
	for i := range n {
		to, next := samples.X[i*d:(i+1)*d], make([]float64, 1)
		densityOf(target)(next, to, nil)
		ratio := next[0] - logQ(to) - logPi[i] + logQ(x[i*d:(i+1)*d])
		if math.Log(float64(u[4*i])) < ratio {
			copy(x[i*d:], to)
			logPi[i] = next[0]
			leapt++
		}
	}
	w.eachPiece(func(tools *Tools, lo, hi int) { w.leap(tools, lo, hi) })
	require.Equal(t, x, w.states.X)
	require.Equal(t, logPi, w.logPi)
	require.True(t, 5 < leapt && leapt < n-1, leapt)
}

// TestWalksOfFew: what is observed of one chain, or of three, is what their states score, with their
// weights and without; of none it is nothing.
func TestWalksOfFew(t *testing.T) {
	workers := pool.New(1)
	defer workers.Close()
	s, params := newTestSystem(plane(0.6), workers)
	width := len(s.Observables())
	for _, n := range []int{0, 1, 3} {
		got, err := s.Chains(params, n)
		require.NoError(t, err)
		w := got.(*walk)
		require.NoError(t, w.Advance(t.Context(), 2))
		written, values, plain, want := make([]byte, 8*n), make([]float64, n*width), make([]float64, n*width), make([]float64, n*width)
		require.NoError(t, w.States(written, "states"))
		require.ErrorContains(t, w.States(nil, "bits"), `format: "bits" is not states`)
		require.NoError(t, s.Score(want, params, "states", written))
		w.Observe(values)
		require.InDeltaSlice(t, want, values, 1e-5)
		w.ObserveUnweighted(plain)
		for i := range n {
			values[(i+1)*width-1] = 0
		}
		require.Equal(t, values, plain)
	}
}
