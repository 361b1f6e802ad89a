package kfd

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/revgen/revgen/asm"
	"github.com/revgen/revgen/internal/alloctest"
	"github.com/revgen/revgen/internal/number"
	"github.com/revgen/revgen/internal/pool"
)

// walk returns n normal states and where a step takes them.
func walk(n, dim int, seed uint64) (s, t []float32) {
	r := rand.New(rand.NewPCG(seed, 1))
	s, t = make([]float32, n*dim), make([]float32, n*dim)
	for i := range s {
		s[i] = float32(r.NormFloat64())
		t[i] = s[i]
	}
	for i := range n {
		if r.Float64() < 0.8 {
			for c := range dim {
				t[i*dim+c] = 0.9*s[i*dim+c] + float32(0.5*r.NormFloat64())
			}
		}
	}
	return s, t
}

func TestAgainstNaive(t *testing.T) {
	before, _, _ := asm.Active()
	defer func() { require.NoError(t, asm.Use(before)) }()
	workers := pool.New(2)
	defer workers.Close()
	for _, path := range asm.Supported() {
		require.NoError(t, asm.Use(path))
		for _, c := range []struct{ n, dim, r int }{{2, 1, 1}, {63, 2, 5}, {64, 3, 16}, {65, 2, 33}, {501, 2, 64}, {700, 5, 100}} {
			m, err := New(c.n, c.dim, Config{Ridge: 1e-2, Memory: 0.9, Every: 1, Features: Features{Number: c.r, Scale: 1, Range: 1}}, 3, workers)
			require.NoError(t, err)
			s, u := walk(c.n, c.dim, 5)
			got, want := make([]float32, c.n*c.dim), make([]float64, c.n*c.dim)
			loss := m.LossGradient(s, u, got)
			wantLoss, _ := m.Naive(number.Widen(s), number.Widen(u), want)
			require.InDelta(t, wantLoss, loss, 2e-4*(math.Abs(wantLoss)+0.01), "%v %+v", path, c)
			require.InDeltaSlice(t, want, number.Widen(got), 1e-3*number.Largest(want), "%v %+v", path, c)
		}
	}
}

// TestNaiveGradient differentiates the witnesses.
func TestNaiveGradient(t *testing.T) {
	workers := pool.New(1)
	defer workers.Close()
	const n, dim, h = 21, 3, 1e-5
	m, err := New(n, dim, Config{Ridge: 1e-3, Memory: 0, Every: 1, Features: Features{Number: 9, Scale: 0.7, Range: 1}}, 1, workers)
	require.NoError(t, err)
	s32, t32 := walk(n, dim, 2)
	s, u, grad := number.Widen(s32), number.Widen(t32), make([]float64, n*dim)
	loss, g := m.Naive(s, u, grad)
	var change [2]float64
	for i := range n {
		half := m.half(i)
		x := append([]float64(nil), s[i*dim:(i+1)*dim]...)
		change[half] += g[half](x) - g[half](u[i*dim:(i+1)*dim])
		for c := range dim {
			x[c] += h
			up := g[half](x)
			x[c] -= 2 * h
			down := g[half](x)
			x[c] += h
			require.InDelta(t, (up-down)/(2*h*n), grad[i*dim+c], 1e-9)
		}
	}
	require.InDelta(t, loss, (change[0]/11+change[1]/10)/4, 1e-12)
}

// TestWitnessFindsTheLogRatio: for states of N(0, σ²) that move by exact
// Ornstein–Uhlenbeck steps of N(0, 1), g approaches ln(p/π) = (1 − 1/σ²) x²/2 up to
// a constant.
func TestWitnessFindsTheLogRatio(t *testing.T) {
	workers := pool.New(2)
	defer workers.Close()
	const n, sigma, steps = 8192, 1.05, 60
	m, err := New(n, 1, Config{Ridge: 1e-4, Memory: 0.95, Every: 1, Features: Features{Number: 64, Scale: 1, Range: 1.5}}, 1, workers)
	require.NoError(t, err)
	r := rand.New(rand.NewPCG(1, 2))
	s, u, grad := make([]float32, n), make([]float32, n), make([]float32, n)
	var product, squares float64 // of the mean gradient with that of the log-ratio
	for range steps {
		for i := range s {
			s[i] = float32(sigma * r.NormFloat64())
			u[i] = float32(0.3*float64(s[i]) + math.Sqrt(1-0.09)*r.NormFloat64())
		}
		m.LossGradient(s, u, grad)
		for i, x := range s {
			want := (1 - 1/(sigma*sigma)) * float64(x)
			product += n * float64(grad[i]) * want
			squares += want * want
		}
	}
	require.InDelta(t, 1, product/squares, 0.25)
}

func TestProperties(t *testing.T) {
	const n, dim = 333, 2
	s, u := walk(n, dim, 7)
	var want []float32
	for _, threads := range []int{1, 2, 3} {
		workers := pool.New(threads)
		m, err := New(n, dim, Config{Ridge: 1e-3, Memory: 0.9, Every: 2, Features: Features{Number: 48, Scale: 1, Range: 1}}, 1, workers)
		require.NoError(t, err)
		grad := make([]float32, n*dim)
		for range 3 {
			m.LossGradient(s, u, grad)
		}
		if want == nil {
			want = append(want, grad...)
		}
		require.Equal(t, want, grad, "%d threads", threads)
		require.Zero(t, alloctest.PerRun(5, func() { m.LossGradient(s, u, grad) }))
		for _, bad := range []float32{float32(math.NaN()), float32(math.Inf(1))} {
			keep := s[100]
			s[100] = bad
			require.True(t, math.IsNaN(m.LossGradient(s, u, grad)))
			s[100] = keep
		}
		require.False(t, math.IsNaN(m.LossGradient(s, u, grad)), "a bad batch leaves no trace")
		require.Panics(t, func() { m.LossGradient(s[1:], u, grad) })
		workers.Close()
	}
	c := Config{Ridge: 1, Every: 1}
	for _, bad := range []Features{{0, 1, 1}, {5000, 1, 1}, {4, 0, 1}, {4, 1, -1}, {4, math.Inf(1), 1}} {
		c.Features = bad
		_, err := New(8, 2, c, 1, nil)
		require.ErrorContains(t, err, "features.")
	}
	c.Features = Features{Number: 4, Scale: 1, Range: 1}
	_, err := New(8, 2, Config{Features: c.Features}, 1, nil)
	require.ErrorContains(t, err, "ridge")
	_, err = New(1, 2, c, 1, nil)
	require.ErrorContains(t, err, "a batch of 1 states")
}

func BenchmarkWitness(b *testing.B) {
	workers := pool.New(0)
	defer workers.Close()
	const n, dim = 2048, 2
	m, err := New(n, dim, Config{Ridge: 1e-4, Memory: 0.99, Every: 1, Features: Features{Number: 256, Scale: 1, Range: 1.5}}, 1, workers)
	require.NoError(b, err)
	s, u := walk(n, dim, 7)
	grad := make([]float32, n*dim)
	for b.Loop() {
		m.LossGradient(s, u, grad)
	}
}
