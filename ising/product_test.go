package ising

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
)

// productGradient sets grad to scale times the gradient of E[g(s)] by the
// logits of several rows.
func productGradient(grad, g, logits []float32, rows int) {
	spins := len(logits) / rows
	p, table := newProductLaw(spins, rows, allocate), newPackedTable(spins)
	p.measure(logits)
	table.set(g)
	p.gradient(grad, &table, 0, rows, 1)
}

// TestProductLawMatchesEnumeration compares the sums over the laws of
// independent spins, and their gradient, with plain enumeration in float64.
func TestProductLawMatchesEnumeration(t *testing.T) {
	const rows = 3
	for _, spins := range []int{4, 9, 11} {
		r := rand.New(rand.NewPCG(9, uint64(spins)))
		logits, g := make([]float32, rows*spins), make([]float32, 1<<spins)
		h := make([]float64, len(logits))
		for i := range logits {
			logits[i] = float32(r.NormFloat64())
			h[i] = float64(logits[i])
		}
		for i := range g {
			g[i] = float32(r.NormFloat64())
		}
		law := func(h []float64, s int) float64 {
			p := 1.0
			for i, x := range h {
				sign := float64(2*(s>>i&1) - 1)
				p /= 1 + math.Exp(-2*sign*x)
			}
			return p
		}
		p := newProductLaw(spins, rows, allocate)
		p.measure(logits)
		p.sum(0, 0, 1)
		p.sum(1, 1, rows)
		for half, own := range [2][2]int{{0, 1}, {1, rows}} {
			sum := make([]float32, 1<<spins)
			p.addTo(sum, half)
			for s, got := range sum {
				var want float64
				for row := own[0]; row < own[1]; row++ {
					want += law(h[row*spins:][:spins], s)
				}
				require.InDelta(t, want, got, 1e-6)
			}
		}
		grad := make([]float32, len(logits))
		productGradient(grad, g, logits, rows)
		for row := range rows {
			x := h[row*spins:][:spins]
			mean := func() (sum float64) {
				for s, v := range g {
					sum += law(x, s) * float64(v)
				}
				return sum
			}
			for i := range x {
				keep := x[i]
				x[i] = keep + 1e-5
				up := mean()
				x[i] = keep - 1e-5
				down := mean()
				x[i] = keep
				require.InDelta(t, (up-down)/2e-5, grad[row*spins+i], 3e-5)
			}
		}
	}
}

func allocate(n int) []float32 { return make([]float32, n) }
