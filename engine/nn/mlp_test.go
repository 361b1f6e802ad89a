package nn

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/revgen/revgen/asm"
	"github.com/revgen/revgen/internal/alloctest"
	"github.com/revgen/revgen/internal/number"
	"github.com/revgen/revgen/internal/pool"
)

func random(r *rand.Rand, n int) []float32 {
	x := make([]float32, n)
	for i := range x {
		x[i] = float32(r.NormFloat64())
	}
	return x
}

// TestBackwardMatchesCentralDifferences differentiates Σ dout·output by every
// parameter and every input.
func TestBackwardMatchesCentralDifferences(t *testing.T) {
	for _, sizes := range [][]int{{1, 1}, {3, 5, 2}, {4, 17, 16, 9}, {2, 8, 8, 8, 1}, {1, 6, 3}, {1, 1, 1, 1}, {1, 9, 20, 1}, {1, 7, 5, 6, 2}} {
		r := rand.New(rand.NewPCG(1, 2))
		m := NewMLP(0.01, sizes...)
		params := make([]float32, m.NumParams())
		m.Initialize(params, &asm.Counter{Seed: 7}, 0)
		const rows, lo, hi = 9, 2, 8
		a := m.NewActivations(rows)
		copy(a[0], random(r, len(a[0])))
		p := m.NewPacked(true)
		m.Pack(p, params)
		m.Forward(a, p, params, lo, hi)
		dout := random(r, (hi-lo)*m.Out())
		grad, din := make([]float32, m.NumParams()), make([]float32, (hi-lo)*m.In())
		m.Backward(grad, din, dout, a, p, lo, hi, NewScratch(hi-lo, m))

		p64, x64 := number.Widen(params), number.Widen(a[0])
		objective := func() float64 {
			var sum float64
			for row := lo; row < hi; row++ {
				for o, y := range m.Forward64(p64, x64[row*m.In():(row+1)*m.In()]) {
					sum += y * float64(dout[(row-lo)*m.Out()+o])
				}
			}
			return sum
		}
		check := func(what string, v []float64, i int, got float32) {
			want := number.CentralDifference(&v[i], 1e-5, objective)
			require.InDelta(t, want, float64(got), 2e-5*(1+math.Abs(want)), "%v: %s %d", sizes, what, i)
		}
		for i := range p64 {
			check("parameter", p64, i, grad[i])
		}
		for i := range din {
			check("input", x64, lo*m.In()+i, din[i])
		}
		for row := lo; row < hi; row++ {
			for o, want := range m.Forward64(p64, x64[row*m.In():(row+1)*m.In()]) {
				require.InDelta(t, want, float64(a.Output()[row*m.Out()+o]), 1e-5*(1+math.Abs(want)))
			}
		}
	}
}

func TestInitializeIsUniform(t *testing.T) {
	m := NewMLP(0.01, 16, 300, 3)
	params := make([]float32, m.NumParams())
	next := m.Initialize(params, &asm.Counter{Seed: 1}, 5)
	require.EqualValues(t, 5+(17*300)/4+(301*3+3)/4, next)
	var sum, squares float64
	w := m.Weights(params, 0)
	for _, x := range w {
		require.LessOrEqual(t, math.Abs(float64(x)), 0.25)
		sum += float64(x)
		squares += float64(x) * float64(x)
	}
	// Moments of the uniform law on ±1/4 within six standard errors.
	n := float64(len(w))
	require.InDelta(t, 0, sum/n, 6*0.25/math.Sqrt(3*n))
	require.InDelta(t, 1.0/48, squares/n, 6*(1.0/16)*math.Sqrt(4.0/45/n))
}

func TestTensorName(t *testing.T) {
	m := NewMLP(0.01, 2, 3, 1)
	for name, numbers := range map[string][2]int{"layer 1 weights": {0, 5}, "layer 1 biases": {6, 8}, "layer 2 weights": {9, 11}, "layer 2 biases": {12, 12}} {
		for i := numbers[0]; i <= numbers[1]; i++ {
			require.Equal(t, name, m.TensorName(i))
		}
	}
}

// TestLanesSameBitsForAnyThreads sums a gradient that depends on every row and
// compares the bits for several numbers of threads.
func TestLanesSameBitsForAnyThreads(t *testing.T) {
	const rows, params = 5000, 20000
	var want []float32
	for _, threads := range []int{1, 2, 3, 7} {
		workers := pool.New(threads)
		l := NewLanes(rows, params, workers)
		seen := make([]int, rows)
		l.Own(func(_, lo, hi int, _ []float32) {
			for r := lo; r < hi; r++ {
				seen[r]++
			}
		})
		for r, n := range seen {
			require.Equal(t, 1, n, "row %d", r)
		}
		grad := make([]float32, params)
		body := func(_, lo, hi int, g []float32) {
			for r := lo; r < hi; r++ {
				g[r%params] += float32(math.Sin(float64(r)))
				g[(7*r)%params] += float32(math.Cos(float64(r)))
			}
		}
		l.Backward(grad, body)
		if want == nil {
			want = grad
			sum := make([]float32, params)
			body(0, 0, rows, sum)
			require.InDeltaSlice(t, sum, grad, 1e-5, "every row once")
		}
		require.Equal(t, want, grad, "%d threads", threads)
		require.Zero(t, alloctest.PerRun(10, func() { l.Backward(grad, body) }))
		workers.Close()
	}
}

// TestLanesCallEveryRowOnce for numbers of rows about those of whole blocks.
func TestLanesCallEveryRowOnce(t *testing.T) {
	workers := pool.New(2)
	defer workers.Close()
	b := BlockRows()
	for _, rows := range []int{1, b - 1, b, b + 1, 2*b + 1, 9*b + 1, 17 * b} {
		l := NewLanes(rows, 1, workers)
		seen := make([]int, rows)
		count := func(_, lo, hi int, _ []float32) {
			for r := lo; r < hi; r++ {
				seen[r]++
			}
		}
		l.Own(count)
		l.Backward(make([]float32, 1), count)
		for r, n := range seen {
			require.Equal(t, 2, n, "row %d of %d", r, rows)
		}
	}
}

func TestNewMLPNeedsLayersAndASlope(t *testing.T) {
	require.NotPanics(t, func() { NewMLP(1, 3, 2) })
	for _, wrong := range []func(){
		func() { NewMLP(1) }, func() { NewMLP(1, 3) }, func() { NewMLP(0, 3, 2) },
		func() { NewMLP(-1, 3, 2) }, func() { NewMLP(float32(math.NaN()), 3, 2) },
	} {
		require.PanicsWithValue(t, "nn: a perceptron needs an input, an output and a positive slope", wrong)
	}
}

// TestRecall: values of a first hidden layer of at most eight inputs are computed again, row by
// row, and all others are left as they are.
func TestRecall(t *testing.T) {
	for _, c := range []struct {
		sizes []int
		kept  []int // of each layer
		again int   // the layer that is computed again, 0 for none
	}{
		{[]int{8, 5, 4}, []int{8, 0, 4}, 1}, {[]int{9, 5, 4}, []int{9, 5, 4}, 0}, {[]int{2, 3, 4, 5}, []int{2, 0, 4, 5}, 1},
		{[]int{8, 5}, []int{8, 5}, 0}, {[]int{1, 6, 5, 7, 2}, []int{1, 1, 0, 7, 2}, 2}, {[]int{1, 6, 5, 1}, []int{1, 1, 0, 1}, 0}, {[]int{1, 6, 3}, []int{1, 0, 3}, 1},
	} {
		m := NewMLP(0.1, c.sizes...)
		params := random(rand.New(rand.NewPCG(5, 6)), m.NumParams())
		const rows, lo, hi = 5, 1, 4
		a := m.NewActivations(rows)
		copy(a[0], random(rand.New(rand.NewPCG(7, 8)), len(a[0])))
		p := m.NewPacked(true)
		m.Pack(p, params)
		m.Forward(a, p, params, 0, rows)
		for l, want := range c.kept {
			require.Equal(t, want, m.Kept(l), "%v: layer %d", c.sizes, l)
		}
		before := make([][]float32, len(a))
		for l := range a {
			before[l] = slices.Clone(a[l])
		}
		want := make([]float32, m.NumParams())
		m.Recall(a, p, params, lo, hi)
		m.Backward(want, nil, slices.Repeat([]float32{1}, (hi-lo)*m.Out()), a, p, lo, hi, NewScratch(hi-lo, m))
		for l := range a {
			copy(a[l], before[l])
		}
		if c.again > 0 {
			for i := range a[c.again] {
				a[c.again][i] = 77
			}
		}
		m.Recall(a, p, params, lo, hi)
		got := make([]float32, m.NumParams())
		m.Backward(got, nil, slices.Repeat([]float32{1}, (hi-lo)*m.Out()), a, p, lo, hi, NewScratch(hi-lo, m))
		require.Equal(t, want, got, "%v", c.sizes)
		for l := range a {
			if l != c.again && m.Kept(l) == c.sizes[l] && l < len(a)-1 {
				require.Equal(t, before[l], a[l], "%v: layer %d", c.sizes, l)
			}
		}
	}
}

// TestShapes: widths of layers, and what is allocated for them.
func TestShapes(t *testing.T) {
	m := NewMLP(0.01, 3, 7, 5, 2)
	require.Equal(t, []int{3, 3, 2, 7, 5}, []int{m.Layers(), m.In(), m.Out(), m.Width(1), m.Width(2)})
	sum, widest := m.Widths()
	require.Equal(t, []int{17, 7}, []int{sum, widest})
	require.Equal(t, 4*7+8*5+6*2, m.NumParams())
	params := make([]float32, m.NumParams())
	for i := range params {
		params[i] = float32(i)
	}
	require.Equal(t, []float32{28, 62}, []float32{m.Weights(params, 1)[0], m.Weights(params, 1)[34]})
	require.Equal(t, []float32{63, 67}, []float32{m.Biases(params, 1)[0], m.Biases(params, 1)[4]})
	p := m.NewPacked(true)
	require.Len(t, p.backward[2], asm.PackedLen(2, 5))
	require.Len(t, p.forward[2], asm.PackedLen(5, 2))
	require.Nil(t, m.NewPacked(false).backward[0])
	require.Panics(t, func() { m.NewActivations(-1) })
	a := m.NewActivations(4)
	for l, width := range []int{3, 7, 5, 2} {
		require.Len(t, a[l], 4*width)
	}
	require.Len(t, a.Output(), 8)
	kinked := NewMLP(0.01, 1, 4, 9, 1)
	for _, s := range []*Scratch{NewScratch(6, m), NewScratch(6, NewMLP(0.01, 2, 3), m)} {
		require.Equal(t, []int{42, 42, 0, 0}, []int{len(s.a), len(s.b), len(s.sums), len(s.din)})
	}
	for _, s := range []*Scratch{NewScratch(6, kinked, m), NewScratch(6, m, kinked), NewScratch(6, kinked, NewMLP(0.01, 1, 2, 3, 1))} {
		require.Equal(t, []int{54, 54, 2 * 5 * 9, 6}, []int{len(s.a), len(s.b), len(s.sums), len(s.din)})
	}
}

// TestBlocks: a block of rows, with the gradient of inputs and without it, has the gradients of its
// parts.
func TestBlocks(t *testing.T) {
	for _, sizes := range [][]int{{3, 5, 2}, {1, 6, 4, 1}, {1, 6, 4, 2}} {
		for _, rows := range []int{blockRows, blockRows + 1, 2*blockRows + 40} {
			m := NewMLP(0.1, sizes...)
			r := rand.New(rand.NewPCG(9, uint64(rows)))
			params := random(r, m.NumParams())
			a, p := m.NewActivations(rows), m.NewPacked(true)
			copy(a[0], random(r, len(a[0])))
			m.Pack(p, params)
			m.Forward(a, p, params, 0, rows)
			dout := random(r, rows*m.Out())
			whole, parts := make([]float32, m.NumParams()), make([]float32, m.NumParams())
			din, dinParts := make([]float32, rows*m.In()), make([]float32, rows*m.In())
			s := NewScratch(rows, m)
			m.Backward(whole, din, dout, a, p, 0, rows, s)
			for lo := 0; lo < rows; lo += 30 {
				hi := min(lo+30, rows)
				m.Backward(parts, dinParts[lo*m.In():hi*m.In()], dout[lo*m.Out():hi*m.Out()], a, p, lo, hi, s)
			}
			require.InDeltaSlice(t, parts, whole, 2e-3, "%v, %d rows", sizes, rows)
			require.InDeltaSlice(t, dinParts, din, 1e-5)
			again := make([]float32, m.NumParams())
			m.Backward(again, nil, dout, a, p, 0, rows, s)
			require.Equal(t, whole, again)
		}
	}
}
