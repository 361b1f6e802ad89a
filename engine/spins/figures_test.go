package spins

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	gonum "gonum.org/v1/gonum/stat"
)

// TestFiguresOfBridges: ln Z from sums at three levels, and its error by leaving out one
// ladder after the other.
func TestFiguresOfBridges(t *testing.T) {
	g, err := NewGraph(Hamiltonian{Spins: 7})
	require.NoError(t, err)
	b := newBridge(&Exchange{Tempering: Tempering{Sets: 2}, graph: g, betas: []float64{0, 0.5, 0.8}})
	copy(b.origin, []float64{-3, 2})
	random := rand.New(rand.NewPCG(1, 2))
	for k := range 3 {
		for i := range b.up[k] {
			b.up[k][i], b.down[k][i] = 1+random.Float64(), 2+random.Float64()
		}
	}
	without := func(x []float64, i int) []float64 { return slices.Delete(slices.Clone(x), i, i+1) }
	logZ := func(of func(x []float64) []float64) float64 {
		ratio := func(k int) float64 { return math.Log(gonum.Mean(of(b.up[k]), nil) / gonum.Mean(of(b.down[k+1]), nil)) }
		return 7*math.Ln2 + ratio(0) - 0.5*-3 + ratio(1) - 0.3*2
	}
	value, standardError := b.logZ()
	require.InDelta(t, logZ(func(x []float64) []float64 { return x }), value, 1e-12)
	var all []float64
	for i := range 2 * Lanes {
		all = append(all, logZ(func(x []float64) []float64 { return without(x, i) }))
	}
	require.InEpsilon(t, math.Sqrt((2*Lanes-1)*gonum.PopVariance(all, nil)), standardError, 1e-9)
}
