package mmd

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/revgen/revgen/internal/alloctest"
	"github.com/revgen/revgen/internal/number"
	"github.com/revgen/revgen/internal/pool"
)

// mixedStationarityNaive is the plain double sum in float64, the modes being
// vectors as in MixedNaive.
func mixedStationarityNaive(k *Kernel, stat Statistic, x, y, e, f []float64, dim, modes int) (loss float64) {
	n := len(x) / dim
	dot := func(a, b []float64, i, j int) (sum float64) {
		for c := range modes {
			sum += a[i*modes+c] * b[j*modes+c]
		}
		return sum
	}
	kernel := func(a, b []float64, i, j int) float64 {
		var d2 float64
		for c := range dim {
			d2 += square(a[i*dim+c] - b[j*dim+c])
		}
		return k.Value(d2)
	}
	for i := range n {
		for j := range n {
			if stat == U && i == j {
				continue
			}
			loss += kernel(x, x, i, j)*dot(e, e, i, j) - kernel(x, y, i, j)*dot(e, f, i, j) -
				kernel(y, x, i, j)*dot(f, e, i, j) + kernel(y, y, i, j)*dot(f, f, i, j)
		}
	}
	return loss * pairNorm(stat, n)
}

// TestMixedStationarity compares the loss with the plain sum and the gradients
// with its central differences, by modes too, in which it is a polynomial.
func TestMixedStationarity(t *testing.T) {
	known := map[string]sums{}
	forEachPath(t, func(t *testing.T) {
		workers := pool.New(2)
		defer workers.Close()
		for _, name := range []string{"imq", "matern"} {
			k := testKernels[name]
			for _, c := range [][2]int{{1, 1}, {1, 3}, {3, 2}} {
				dim, modes := c[0], c[1]
				for _, n := range []int{2, 66} {
					for _, stat := range []Statistic{V, U} {
						msg := fmt.Sprintf("%s, %d coordinates, %d modes, %d states, %v", name, dim, modes, n, stat)
						m, err := NewMixedStationarity(n, dim, modes, k, stat, workers)
						require.NoError(t, err)
						x, y, a, b := mixedMoves(rand.New(rand.NewPCG(1, 2)), n, dim, modes, .3)
						gradX, gradK, witness := make([]float32, n*dim), make([]float32, n*modes), make([]float32, n)
						loss := m.LossGradient(x, y, a, b, gradX, gradK)
						wx, wy, e, f := number.Widen(x), number.Widen(y), oneHot(a, modes), oneHot(b, modes)
						value := func() float64 { return mixedStationarityNaive(&k, stat, wx, wy, e, f, dim, modes) }
						want := once(known, msg, func() sums {
							all := sums{loss: value(), grad: make([]float64, len(wx)), byMode: make([]float64, len(e))}
							slope := func(p *float64) float64 {
								old := *p
								*p = old + 1e-4
								up := value()
								*p = old - 1e-4
								down := value()
								*p = old
								return (up - down) / 2e-4
							}
							for i := 0; i < n; i += 13 {
								for j := i * dim; j < (i+1)*dim; j++ {
									all.grad[j] = slope(&wx[j])
								}
								for j := i * modes; j < (i+1)*modes; j++ {
									all.byMode[j] = slope(&e[j])
								}
							}
							return all
						})
						require.InDelta(t, want.loss, loss, 1e-5*k.Value(0), msg)
						for i := 0; i < n; i += 13 {
							for j := i * dim; j < (i+1)*dim; j++ {
								require.InDelta(t, want.grad[j], gradX[j], 2e-5*k.Value(0), msg)
							}
							for j := i * modes; j < (i+1)*modes; j++ {
								require.InDelta(t, want.byMode[j], gradK[j], 2e-5*k.Value(0), msg)
							}
						}
						again := make([]float32, n*dim)
						require.Equal(t, loss, m.LossWitness(x, y, a, b, again, witness))
						require.Equal(t, gradX, again)
						for i, c := range a {
							require.Equal(t, gradK[i*modes+int(c)], witness[i])
						}
						require.Zero(t, alloctest.PerRun(3, func() { m.LossWitness(x, y, a, b, again, witness) }))
						y[n/2] = float32(math.NaN())
						require.True(t, math.IsNaN(m.LossGradient(x, y, a, b, gradX, gradK)), msg)
					}
				}
			}
		}
	})
	for want, f := range map[string]func() (*Mixed, error){
		"bandwidths": func() (*Mixed, error) { return NewMixedStationarity(2, 1, 1, Kernel{}, V, nil) },
		"modes: 0":   func() (*Mixed, error) { return NewMixedStationarity(2, 1, 0, paperKernel(), V, nil) },
		"batch size": func() (*Mixed, error) { return NewMixedStationarity(1, 1, 1, paperKernel(), U, nil) },
	} {
		_, err := f()
		require.ErrorContains(t, err, want)
	}
}
