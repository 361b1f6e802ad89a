package mmd

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/revgen/revgen/asm"
	"github.com/revgen/revgen/engine/pool"
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

func widen(x []float32) []float64 {
	y := make([]float64, len(x))
	for i, v := range x {
		y[i] = float64(v)
	}
	return y
}

// requireNear compares the fast loss and gradient with the naive ones. The
// tolerances are in units of the sums without their cancelling signs, the
// kernel at its largest: k(0) for the loss, the largest k′·|x| for the gradient.
func requireNear(t *testing.T, k *Kernel, stat Statistic, s, u []float32, dim int, loss float64, grad []float32, msg string) {
	t.Helper()
	n := len(s) / dim
	want := make([]float64, len(s))
	wantLoss := Naive(k, stat, widen(s), widen(u), n, dim, want)
	require.InDelta(t, wantLoss, loss, lossTolerance*2*k.Value(0)/math.Sqrt(float64(n)), "loss: %s", msg)
	var steepest float64
	for d := .001; d < 100; d *= 1.1 {
		steepest = max(steepest, -k.Derivative(d*d)*d)
	}
	worst := 0.
	for i := range want {
		if d := math.Abs(want[i] - float64(grad[i])); !(d <= worst) {
			worst = d
		}
	}
	require.LessOrEqual(t, worst, gradTolerance*8*steepest/math.Sqrt(float64(n)), "gradient: %s", msg)
}

const (
	lossTolerance = 4e-6
	gradTolerance = 4e-6
)

func TestGramAgainstNaive(t *testing.T) {
	forEachPath(t, func(t *testing.T) {
		for name, k := range testKernels {
			for _, threads := range []int{1, 2} {
				workers := pool.New(threads)
				defer workers.Close()
				r := rand.New(rand.NewPCG(1, 2))
				for _, dim := range []int{1, 2, 3, 5} {
					for _, n := range []int{1, 2, 3, 15, 17, 33, 70, 150, 270} {
						for _, stat := range []Statistic{V, U} {
							if stat == U && n == 1 || n > 33 && (dim != 2 || name != "paper") || name == "power" && n > 17 {
								continue
							}
							for _, rejected := range []float64{0, .3, 1} {
								g, err := NewGram(n, dim, k, stat, workers)
								require.NoError(t, err)
								s, u := moves(r, n, dim, rejected, 1)
								grad := make([]float32, n*dim)
								loss := g.LossGradient(s, u, grad)
								requireNear(t, &k, stat, s, u, dim, loss, grad, fmt.Sprintf("%s n=%d dim=%d %v rejected=%v", name, n, dim, stat, rejected))
							}
						}
					}
				}
			}
		}
	})
}
