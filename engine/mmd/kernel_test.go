package mmd

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/revgen/revgen/internal/pool"
)

func TestKernelDerivatives(t *testing.T) {
	kernels := map[string]Kernel{"heat": {Diffusion: []float64{.3, 1.2}}}
	for name, k := range testKernels {
		kernels[name] = k
	}
	for name, k := range kernels {
		for _, d2 := range []float64{1e-3, .2, 1, 7} {
			h := 1e-4 * d2
			require.InEpsilon(t, (k.Value(d2+h)-k.Value(d2-h))/(2*h), k.Derivative(d2), 1e-5, "%s(%v)", name, d2)
		}
		require.False(t, math.IsInf(k.Derivative(0), 0), name)
	}
}

// The heat kernel at time t is the matrix exponential e^{−tΔ} of the hypercube's
// Laplacian, normalised to 1 on the diagonal: a product of those of single
// spins, of which [[−1, 1], [1, −1]] is the generator.
func TestHeatKernel(t *testing.T) {
	const time, steps = 0.7, 1 << 20
	stay, leave := 1., 0.
	for range steps {
		stay, leave = stay+time/steps*(leave-stay), leave+time/steps*(stay-leave)
	}
	k := Kernel{Diffusion: []float64{time}}
	require.NoError(t, k.Validate())
	require.ErrorContains(t, k.ValidateReal(), "diffusion")
	for h := range 10 {
		require.InEpsilon(t, math.Pow(leave/stay, float64(h)), k.Value(4*float64(h)), 1e-4)
	}
	gaussian := Kernel{Bandwidths: []float64{math.Sqrt(-2 / math.Log(math.Tanh(time)))}}
	require.InEpsilon(t, gaussian.Value(12), k.Value(12), 1e-12)
}

// TestKernelLimits has what is just within each limit, and what is just beyond.
func TestKernelLimits(t *testing.T) {
	bandwidths := func(s ...float64) Kernel { return Kernel{Bandwidths: s} }
	weighted := func(w ...float64) Kernel { return Kernel{Bandwidths: []float64{1, 2}, Weights: w} }
	imq := func(c, beta, weight float64) Kernel { return Kernel{IMQ: []IMQ{{1, 1, 1}, {c, beta, weight}}} }
	matern := func(nu, length, weight float64) Kernel {
		return Kernel{Matern: []Matern{{0.5, 1, 1}, {nu, length, weight}}}
	}
	heat := func(time float64) Kernel { return Kernel{Diffusion: []float64{1, time}} }
	for _, c := range []struct {
		within, beyond Kernel
		want           string
	}{
		{bandwidths(1), Kernel{}, "bandwidths: the kernel is empty; give at least one bandwidth or one term of imq, matern or, for spins, diffusion"},
		{bandwidths(1, 2), bandwidths(1, 0), "bandwidths[1]: 0 is not a positive finite number"},
		{weighted(1, 2), weighted(1), "weights: 1 values for 2 bandwidths"},
		{weighted(1, 2), weighted(1, 2, 3), "weights: 3 values for 2 bandwidths"},
		{weighted(1, 2), weighted(1, -2), "weights[1]: -2 is not a positive finite number"},
		{imq(1, 1, 1), imq(0, 1, 1), "imq[1].c: 0 is not a positive finite number"},
		{imq(1, 1, 1), imq(1, -1, 1), "imq[1].beta: -1 is not a positive finite number"},
		{imq(1, 1, 1), imq(1, 1, 0), "imq[1].weight: 0 is not a positive finite number"},
		{matern(1.5, 1, 1), matern(1.25, 1, 1), "matern[1].nu: 1.25 is not 0.5, 1.5 or 2.5"},
		{matern(2.5, 1, 1), matern(2.5, 0, 1), "matern[1].length: 0 is not a positive finite number"},
		{matern(0.5, 1, 1), matern(0.5, 1, -1), "matern[1].weight: -1 is not a positive finite number"},
		{heat(8), heat(8.001), "diffusion[1]: 8.001 is not a time between 1e-30 and 8"},
		{heat(1e-30), heat(0.9e-30), "diffusion[1]: 9e-31 is not a time between 1e-30 and 8"},
		// 1/(2σ²) is 1e30 at σ = √½·1e−15.
		{bandwidths(1, 7.072e-16), bandwidths(1, 7.071e-16), "bandwidths[1]: 7.071e-16 with weight 1 makes the kernel too steep for single precision"},
		{weighted(1, 0.999e30), weighted(1, 1e30), "bandwidths[1]: 2 with weight 1e+30 makes the kernel too steep for single precision"},
		{Kernel{Bandwidths: []float64{0.1}, Weights: []float64{1.99e28}}, Kernel{Bandwidths: []float64{0.1}, Weights: []float64{2.01e28}}, "bandwidths[0]: 0.1 with weight 2.01e+28 makes"},
		{Kernel{Bandwidths: []float64{7.072e-16}, Weights: []float64{1e-9}}, Kernel{Bandwidths: []float64{7.071e-16}, Weights: []float64{1e-9}}, "bandwidths[0]: 7.071e-16 with weight 1e-09 makes"},
		// Of weight·c^(−2β) and of β/c² times that.
		{imq(2, 1, 3.99e30), imq(2, 1, 4.01e30), "imq[1]: c = 2, beta = 1 and weight = 4.01e+30 make the kernel too steep for single precision"},
		{imq(0.1, 3, 3.3e21), imq(0.1, 3, 3.4e21), "imq[1]: c = 0.1, beta = 3 and weight = 3.4e+21 make"},
		// Of 2²⁰·2ν/ℓ² times the weight, and of the weight.
		{matern(1.5, 3, 2.8e24), matern(1.5, 3, 2.9e24), "matern[1]: length = 3 and weight = 2.9e+24 make the kernel too steep for single precision"},
		{matern(1.5, 1e9, 0.999e30), matern(1.5, 1e9, 1e30), "matern[1]: length = 1e+09 and weight = 1e+30 make the kernel too steep for single precision"},
	} {
		require.NoError(t, c.within.Validate(), c.want)
		err := c.beyond.Validate()
		require.ErrorContains(t, err, c.want)
		if len(c.beyond.Diffusion) == 0 {
			require.NoError(t, c.within.ValidateReal())
			require.Equal(t, err, c.beyond.ValidateReal())
		}
	}
}

// TestRefusals: what losses are not given, word for word, beside what is just within.
func TestRefusals(t *testing.T) {
	workers := pool.New(1)
	defer workers.Close()
	k := Kernel{Bandwidths: []float64{1}}
	for _, make := range []func(){
		func() { NewGram(3, 2, Kernel{}, V, workers) }, func() { NewMixed(3, 2, 4, Kernel{}, V, workers) }, func() { NewHamming(3, 70, Kernel{}, Surrogate, V, workers) },
	} {
		require.Panics(t, make)
	}
	g := NewGram(3, 2, k, V, workers)
	m := NewMixed(3, 2, 4, k, V, workers)
	h := NewHamming(3, 70, k, Surrogate, V, workers)
	right := []int{6, 6, 3, 3, 6, 12} // x, y, k, l and the gradients
	for wrong := range 7 {
		size := slices.Clone(right)
		if wrong < 6 {
			size[wrong]++
		}
		x, y, gradX := make([]float32, size[0]), make([]float32, size[1]), make([]float32, size[4])
		check := func(of bool, says string, call func()) {
			if of {
				require.PanicsWithValue(t, says, call)
			} else {
				require.NotPanics(t, call)
			}
		}
		check(slices.Contains([]int{0, 1, 4}, wrong), fmt.Sprintf("mmd: slices of length %d, %d and %d; want 6", size[0], size[1], size[4]), func() { g.LossGradient(x, y, gradX) })
		check(wrong < 6, fmt.Sprintf("mmd: slices of length %d, %d, %d, %d, %d and %d for 3 states of 2 coordinates", size[0], size[1], size[2], size[3], size[4], size[5]), func() {
			m.LossGradient(x, y, make([]uint8, size[2]), make([]uint8, size[3]), gradX, make([]float32, size[5]))
		})
		// The plain sums: x, y, e, f and the gradients, which may be none.
		n := []int{6, 6, 12, 12, 6, 12}
		if wrong < 6 && wrong != 0 {
			n[wrong]++
		}
		wide := make([][]float64, 6)
		for i := range wide {
			wide[i] = make([]float64, n[i])
		}
		check(wrong > 0 && wrong < 6, fmt.Sprintf("mmd: slices of length %d, %d, %d and %d for states of 2 coordinates in 4 modes", n[0], n[1], n[2], n[3]), func() {
			MixedNaive(&k, V, wide[0], wide[1], wide[2], wide[3], 2, 4, wide[4], wide[5])
		})
	}
	spins := make([]uint64, 6)
	require.NotPanics(t, func() { h.LossGradient(spins, spins, make([]float32, 210)) })
	// Nothing of the caller's is kept.
	require.Equal(t, []any{true, true, true}, []any{g.s == nil && g.t == nil && g.grad == nil,
		m.x == nil && m.y == nil && m.k == nil && m.l == nil && m.gradX == nil && m.gradK == nil,
		h.s == nil && h.t == nil && h.grad == nil && h.fold.s == nil && h.fold.t == nil})
}
