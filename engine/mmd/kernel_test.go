package mmd

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"
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
