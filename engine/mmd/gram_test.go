package mmd

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/revgen/revgen/asm"
	"github.com/revgen/revgen/internal/alloctest"
	"github.com/revgen/revgen/internal/long"
	"github.com/revgen/revgen/internal/number"
	"github.com/revgen/revgen/internal/pool"
)

// forEachPath runs f once on every kernel path of this machine.
func forEachPath(t *testing.T, f func(t *testing.T)) {
	before, _, _ := asm.Active()
	defer func() { require.NoError(t, asm.Use(before)) }()
	for _, p := range asm.Supported() {
		t.Run(p.String(), func(t *testing.T) {
			require.NoError(t, asm.Use(p))
			f(t)
		})
	}
}

// paperKernel is the five Gaussians and the inverse multiquadric of the
// paper's Gaussian-mixture experiment.
func paperKernel() Kernel {
	return Kernel{Bandwidths: []float64{.1, .5, 1, 2, 5}, IMQ: []IMQ{{C: 1.4, Beta: .5, Weight: 1}}}
}

var testKernels = map[string]Kernel{
	"paper":     paperKernel(),
	"one":       {Bandwidths: []float64{.7}},
	"weighted":  {Bandwidths: []float64{2, .3, 1.1}, Weights: []float64{.5, 3, 1.25}},
	"ladder":    {Bandwidths: []float64{.25, .5, 1, 2, 4, 8, 16}},
	"repeated":  {Bandwidths: []float64{1, 1, math.Sqrt2}},
	"imq":       {IMQ: []IMQ{{C: .2, Beta: 1.5, Weight: .1}, {C: 1, Beta: 1, Weight: 2}}},
	"power":     {IMQ: []IMQ{{C: .5, Beta: .3, Weight: 1}, {C: 2, Beta: 2.7, Weight: 4}}},
	"high beta": {IMQ: []IMQ{{C: 1, Beta: 8, Weight: 1}}},
	"laplacian": {Matern: []Matern{{Nu: .5, Length: .8, Weight: 1}}},
	"matern":    {Matern: []Matern{{Nu: 1.5, Length: .5, Weight: 2}, {Nu: 2.5, Length: 2, Weight: 1}}},
	"sum":       {Bandwidths: []float64{1}, IMQ: []IMQ{{C: 1, Beta: .5, Weight: 1}}, Matern: []Matern{{Nu: 1.5, Length: 1, Weight: 1}}},
}

// moves returns a batch of states and of small moves from them, of which the
// given share is rejected, like a Metropolis chain's.
func moves(r *rand.Rand, n, dim int, rejected, spread float64) (s, t []float32) {
	s, t = make([]float32, n*dim), make([]float32, n*dim)
	for i := range n {
		still := r.Float64() < rejected
		for c := range dim {
			s[i*dim+c] = float32(r.NormFloat64() * spread)
			t[i*dim+c] = s[i*dim+c]
			if !still {
				t[i*dim+c] += float32(r.NormFloat64() * .3 * spread)
			}
		}
	}
	return s, t
}

// requireNear compares the fast loss and gradient with the naive ones. The
// tolerances are in units of the sums without their cancelling signs, the
// kernel at its largest: k(0) for the loss, the largest k′·|x| for the gradient.
func requireNear(t *testing.T, known map[string]sums, k *Kernel, stat Statistic, s, u []float32, dim int, loss float64, grad []float32, msg string) {
	t.Helper()
	n := len(s) / dim
	want := once(known, msg, func() sums {
		grad := make([]float64, len(s))
		loss := Naive(k, stat, number.Widen(s), number.Widen(u), n, dim, grad)
		return sums{loss: loss, grad: grad, steepest: steepest(k)}
	})
	require.InDelta(t, want.loss, loss, lossTolerance*2*k.Value(0)/math.Sqrt(float64(n)), "loss: %s", msg)
	worst := 0.
	for i := range want.grad {
		if d := math.Abs(want.grad[i] - float64(grad[i])); !(d <= worst) {
			worst = d
		}
	}
	require.LessOrEqual(t, worst, gradTolerance*8*want.steepest/math.Sqrt(float64(n)), "gradient: %s", msg)
}

// sums are a loss and its gradients as double sums in float64 give them, and how
// steep the kernel is at most.
type sums struct {
	loss         float64
	grad, byMode []float64
	steepest     float64
}

// once returns what does not depend on the kernel path, which is computed for the
// first.
func once(known map[string]sums, key string, compute func() sums) sums {
	s, ok := known[key]
	if !ok {
		s = compute()
		known[key] = s
	}
	return s
}

func steepest(k *Kernel) (most float64) {
	for d := .001; d < 100; d *= 1.1 {
		most = max(most, -k.Derivative(d*d)*d)
	}
	return most
}

const (
	lossTolerance = 4e-6
	gradTolerance = 4e-6
)

func TestGramAgainstNaive(t *testing.T) {
	long.SkipShort(t)
	workers := pool.New(2)
	defer workers.Close()
	known := map[string]sums{}
	check := func(t *testing.T, name string, n, dim int, stat Statistic, rejected float64) {
		t.Helper()
		k := testKernels[name]
		r := rand.New(rand.NewPCG(uint64(n), uint64(dim)))
		g := NewGram(n, dim, k, stat, workers)
		s, u := moves(r, n, dim, rejected, 1)
		grad := make([]float32, n*dim)
		loss := g.LossGradient(s, u, grad)
		msg := fmt.Sprintf("%s n=%d dim=%d %v rejected=%v", name, n, dim, stat, rejected)
		requireNear(t, known, &k, stat, s, u, dim, loss, grad, msg)
		// A second call with other numbers of moved pairs reuses the buffers.
		s, u = moves(r, n, dim, 1-rejected, 1)
		loss = g.LossGradient(s, u, grad)
		requireNear(t, known, &k, stat, s, u, dim, loss, grad, msg+", again")
	}
	forEachPath(t, func(t *testing.T) {
		for n := 1; n <= 70; n++ {
			for i, rejected := range []float64{0, .4, 1} {
				check(t, "paper", n, 1+(n+i)%5, V, rejected)
				if n > 1 {
					check(t, "weighted", n, 1+(n+i)%3, U, rejected)
				}
			}
		}
		for name := range testKernels {
			for _, n := range []int{2, 17, 40} {
				check(t, name, n, 2, V, .2)
				check(t, name, n, 1, U, 0)
			}
		}
		for _, n := range []int{127, 128, 129, 300} {
			check(t, "paper", n, 2, V, .3)
			check(t, "one", n, 1, U, 0)
		}
	})
}

func TestGramSameBitsForAnyThreads(t *testing.T) {
	forEachPath(t, func(t *testing.T) {
		const n, dim = 700, 2
		s, u := moves(rand.New(rand.NewPCG(3, 4)), n, dim, .2, 1)
		var wantLoss float64
		var want []float32
		for _, threads := range []int{1, 2, 3, 5} {
			workers := pool.New(threads)
			defer workers.Close()
			g := NewGram(n, dim, paperKernel(), V, workers)
			grad := make([]float32, n*dim)
			for range 3 {
				loss := g.LossGradient(s, u, grad)
				if want == nil {
					wantLoss, want = loss, append(want, grad...)
				}
				require.Equal(t, wantLoss, loss, "%d threads", threads)
				require.Equal(t, want, grad, "%d threads", threads)
			}
		}
	})
}

func TestGramDoesNotAllocate(t *testing.T) {
	workers := pool.New(2)
	defer workers.Close()
	forEachPath(t, func(t *testing.T) {
		for _, stat := range []Statistic{V, U} {
			const n, dim = 150, 3
			g := NewGram(n, dim, testKernels["power"], stat, workers)
			s, u := moves(rand.New(rand.NewPCG(5, 6)), n, dim, .3, 1)
			grad := make([]float32, n*dim)
			require.Zero(t, alloctest.PerRun(5, func() { g.LossGradient(s, u, grad) }))
		}
	})
}

// The trainer looks at the loss for values that are not finite.
func TestGramReportsNonFiniteStates(t *testing.T) {
	workers := pool.New(1)
	defer workers.Close()
	forEachPath(t, func(t *testing.T) {
		const n, dim = 21, 2
		for _, stat := range []Statistic{V, U} {
			g := NewGram(n, dim, paperKernel(), stat, workers)
			s, u := moves(rand.New(rand.NewPCG(7, 8)), n, dim, .5, 1)
			grad := make([]float32, n*dim)
			for i := range s {
				for _, bad := range []float32{float32(math.NaN()), float32(math.Inf(1)), float32(math.Inf(-1))} {
					for _, x := range [][]float32{s, u} {
						before := x[i]
						x[i] = bad
						require.True(t, math.IsNaN(g.LossGradient(s, u, grad)), "%v at %d", bad, i)
						x[i] = before
					}
					a, b := s[i], u[i]
					s[i], u[i] = bad, bad // a rejected move, or NaN
					require.True(t, math.IsNaN(g.LossGradient(s, u, grad)), "%v at %d of both", bad, i)
					s[i], u[i] = a, b
				}
			}
			require.False(t, math.IsNaN(g.LossGradient(s, u, grad)))
		}
	})
}

func TestGramOfFarStates(t *testing.T) {
	workers := pool.New(1)
	defer workers.Close()
	forEachPath(t, func(t *testing.T) {
		const n, dim = 33, 2
		for _, spread := range []float64{1e-30, 1e-6, 1e3, 1e10, 1e18} {
			g := NewGram(n, dim, paperKernel(), V, workers)
			s, u := moves(rand.New(rand.NewPCG(9, 10)), n, dim, .3, spread)
			grad := make([]float32, n*dim)
			k := paperKernel()
			requireNear(t, map[string]sums{}, &k, V, s, u, dim, g.LossGradient(s, u, grad), grad, fmt.Sprint(spread))
		}
	})
}

func TestGramOfRejectedMovesIsZero(t *testing.T) {
	workers := pool.New(1)
	defer workers.Close()
	forEachPath(t, func(t *testing.T) {
		g := NewGram(40, 2, paperKernel(), V, workers)
		s, _ := moves(rand.New(rand.NewPCG(11, 12)), 40, 2, 1, 1)
		grad := []float32{79: 1}
		require.Zero(t, g.LossGradient(s, s, grad))
		require.Equal(t, make([]float32, 80), grad)
	})
}

// Naive is an oracle: its gradient is that of its loss with t fixed, and its
// loss that of the four sums of the paper's eq. (3.4).
func TestNaive(t *testing.T) {
	const n, dim = 9, 2
	narrow, wide := moves(rand.New(rand.NewPCG(13, 14)), n, dim, .2, 1)
	s, u := number.Widen(narrow), number.Widen(wide)
	distance := func(a, b, c, d []float64) (d2 float64) {
		for i := range a {
			d2 += square(a[i]-c[i]) + square(b[i]-d[i])
		}
		return d2
	}
	for name, k := range testKernels {
		for _, stat := range []Statistic{V, U} {
			grad := make([]float64, n*dim)
			loss := Naive(&k, stat, s, u, n, dim, grad)
			var four float64
			for i := range n {
				for j := range n {
					if stat == U && i == j {
						continue
					}
					a, b, c, d := s[i*dim:][:dim], u[i*dim:][:dim], s[j*dim:][:dim], u[j*dim:][:dim]
					four += k.Value(distance(a, b, c, d)) + k.Value(distance(b, a, d, c)) -
						k.Value(distance(a, b, d, c)) - k.Value(distance(b, a, c, d))
				}
			}
			require.InEpsilon(t, four*pairNorm(stat, n), loss, 1e-12, name)
			require.Equal(t, loss, Naive(&k, stat, s, u, n, dim, nil))
			const h = 1e-5
			for i := range s {
				x := s[i]
				s[i] = x + h
				up := Naive(&k, stat, s, u, n, dim, nil)
				s[i] = x - h
				down := Naive(&k, stat, s, u, n, dim, nil)
				s[i] = x // exactly: the Laplacian has a kink where s and s′ meet
				require.InDelta(t, (up-down)/(2*h), grad[i], 1e-7*k.Value(0), "%s %v, coordinate %d", name, stat, i)
			}
		}
	}
}

func TestBadArguments(t *testing.T) {
	workers := pool.New(1)
	defer workers.Close()
	for _, c := range []struct {
		k    Kernel
		want string
	}{
		{Kernel{}, "bandwidths"},
		{Kernel{Bandwidths: []float64{-1}}, "bandwidths[0]"},
		{Kernel{Bandwidths: []float64{1, 1e-16}}, "bandwidths[1]: 1e-16 with weight 1 makes the kernel too steep"},
		{Kernel{IMQ: []IMQ{{C: 1e-12, Beta: 1, Weight: 1}}}, "imq[0]: c = 1e-12, beta = 1"},
		{Kernel{Matern: []Matern{{Nu: 1, Length: 1, Weight: 1}}}, "matern[0].nu: 1 is not 0.5, 1.5 or 2.5"},
		{Kernel{Matern: []Matern{{Nu: .5, Weight: 1}}}, "matern[0].length: 0"},
		{Kernel{Matern: []Matern{{Nu: .5, Length: 1}}}, "matern[0].weight: 0"},
		{Kernel{Matern: []Matern{{Nu: .5, Length: 1e-13, Weight: 1}}}, "matern[0]: length = 1e-13"},
		{Kernel{Diffusion: []float64{9}}, "diffusion[0]: 9"},
	} {
		require.ErrorContains(t, c.k.Validate(), c.want)
	}
	g := NewGram(3, 2, paperKernel(), V, workers)
	require.Panics(t, func() { g.LossGradient(make([]float32, 6), make([]float32, 6), make([]float32, 5)) })
	require.Panics(t, func() { Naive(&Kernel{}, V, make([]float64, 6), make([]float64, 5), 3, 2, nil) })
}
