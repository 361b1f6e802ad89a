package mmd

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/revgen/revgen/internal/alloctest"
	"github.com/revgen/revgen/internal/pool"
)

// flips returns random configurations and copies of them with some spins
// flipped, or none.
func flips(r *rand.Rand, n, spins int) (s, t []uint64) {
	words := (spins + 63) / 64
	s, t = make([]uint64, n*words), make([]uint64, n*words)
	for i := range n {
		for d := range spins {
			s[i*words+d/64] |= r.Uint64N(2) << (d % 64)
		}
		copy(t[i*words:(i+1)*words], s[i*words:])
		for range r.IntN(3) {
			d := r.IntN(spins)
			t[i*words+d/64] ^= 1 << (d % 64)
		}
	}
	return s, t
}

func asReals(packed []uint64, n, spins int) []float64 {
	x := make([]float64, n*spins)
	for i := range x {
		x[i] = float64(2*int(packed[i/spins*((spins+63)/64)+i%spins/64]>>(i%spins%64)&1) - 1)
	}
	return x
}

// TestHammingStationarity compares loss and surrogate with Stationarity's of
// real spins, and differences with the losses of flipped ones.
func TestHammingStationarity(t *testing.T) {
	forEachPath(t, func(t *testing.T) {
		workers := pool.New(2)
		defer workers.Close()
		for _, spins := range []int{2, 9, 70} {
			for _, stat := range []Statistic{V, U} {
				const n = 45
				k := Kernel{Bandwidths: []float64{1.5, 3}, IMQ: []IMQ{{C: 1, Beta: .5, Weight: .5}}}
				s, next := flips(rand.New(rand.NewPCG(1, uint64(spins))), n, spins)
				words := len(s) / n
				want := make([]float64, n*spins)
				wantLoss := StationarityNaive(&k, stat, asReals(s, n, spins), asReals(next, n, spins), n, spins, want)

				surrogate, err := NewHammingStationarity(n, spins, k, Surrogate, stat, workers)
				require.NoError(t, err)
				grad := make([]float32, n*spins)
				require.InDelta(t, wantLoss, surrogate.LossGradient(s, next, grad), 1e-6)
				for i, g := range want {
					require.InDelta(t, g, grad[i], 1e-6, "%v, %d of %d spins", stat, i%spins, spins)
				}
				difference, err := NewHammingStationarity(n, spins, k, Difference, stat, workers)
				require.NoError(t, err)
				loss := difference.LossGradient(s, next, grad)
				require.InDelta(t, wantLoss, loss, 1e-6)
				values := make([]float32, n)
				difference.Witness(values)
				var mean float64
				for i := range n {
					mean += float64(values[i]) / n
					for _, d := range []int{0, spins / 2, spins - 1} {
						s[i*words+d/64] ^= 1 << (d % 64)
						changed := StationarityNaive(&k, stat, asReals(s, n, spins), asReals(next, n, spins), n, spins, nil)
						s[i*words+d/64] ^= 1 << (d % 64)
						require.InDelta(t, changed-wantLoss, grad[i*spins+d], 1e-6, "%v, flip %d", stat, d)
					}
				}
				// L is quadratic: the mean of F over a, less that over b, is 2L.
				difference.LossGradient(next, s, grad)
				difference.Witness(values)
				for i := range n {
					mean += float64(values[i]) / n
				}
				require.InDelta(t, 2*wantLoss, mean, 1e-5)
				require.Zero(t, alloctest.PerRun(3, func() { difference.LossGradient(s, next, grad) }))
			}
		}
	})
	for want, make := range map[string]func() (*HammingStationarity, error){
		"batch size: 1": func() (*HammingStationarity, error) {
			return NewHammingStationarity(1, 9, paperKernel(), Surrogate, U, nil)
		},
		"spins: 0": func() (*HammingStationarity, error) {
			return NewHammingStationarity(2, 0, paperKernel(), Surrogate, V, nil)
		},
		"bandwidths": func() (*HammingStationarity, error) { return NewHammingStationarity(2, 9, Kernel{}, Surrogate, V, nil) },
	} {
		_, err := make()
		require.ErrorContains(t, err, want)
	}
}
