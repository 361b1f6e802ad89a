package engine

import (
	"math"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/revgen/revgen/internal/number"
)

// TestForward compares the gradient of KL(π‖q), by samples in exact proportion to q, with
// central differences over the logits of three states, and what a heavy sample counts with
// the bound.
func TestForward(t *testing.T) {
	pi, logits := []float64{0.2, 0.3, 0.5}, []float64{math.Log(2), 0, 0}
	q := func() (p [3]float64) {
		var sum float64
		for _, x := range logits {
			sum += math.Exp(x)
		}
		for k, x := range logits {
			p[k] = math.Exp(x) / sum
		}
		return p
	}
	forward := func() (kl float64) {
		p := q()
		for k, x := range pi {
			kl += x * math.Log(x/p[k])
		}
		return kl
	}
	states, at := []int{0, 0, 0, 0, 1, 1, 2, 2}, q()
	d := NewDivergence(&Training{Batch: len(states), Steps: 10}, 0.2)
	for i, s := range states {
		d.R[i] = math.Log(at[s]/pi[s]) - 7
	}
	d.Measure(8) // the last that is not
	reverse := slices.Clone(d.Weight)
	d.Measure(9)
	require.NotEqual(t, reverse, d.Weight)
	require.InDelta(t, 0, d.Total, 1e-15)
	for k := range logits {
		var gradient float64
		for i, s := range states {
			gradient -= d.Weight[i] * at[k]
			if s == k {
				gradient += d.Weight[i]
			}
		}
		require.InDelta(t, number.CentralDifference(&logits[k], 1e-5, forward), gradient, 1e-9, k)
	}

	const n = 512
	heavy := NewDivergence(&Training{Batch: n, Steps: 10}, 1)
	heavy.R[3] = -1000
	heavy.Measure(1)
	require.InDelta(t, (mostWeight/float64(n)-mostWeight)/n, heavy.Weight[3], 1e-12)
	require.InDelta(t, mostWeight/float64(n*n), heavy.Weight[4], 1e-12)
}
