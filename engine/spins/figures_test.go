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
// ladder after the other. Halves of the rounds that are far apart widen it by that.
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
	const ladders = 2 * Lanes
	without := func(x []float64, i int) []float64 { // of sums over both halves
		return slices.Delete(slices.Delete(slices.Clone(x), ladders+i, ladders+i+1), i, i+1)
	}
	logZ := func(of func(x []float64) []float64) float64 {
		ratio := func(k int) float64 { return math.Log(gonum.Mean(of(b.up[k]), nil) / gonum.Mean(of(b.down[k+1]), nil)) }
		return 7*math.Ln2 + ratio(0) - 0.5*-3 + ratio(1) - 0.3*2
	}
	value, standardError := b.logZ()
	require.InDelta(t, logZ(func(x []float64) []float64 { return x }), value, 1e-12)
	var all []float64
	for i := range ladders {
		all = append(all, logZ(func(x []float64) []float64 { return without(x, i) }))
	}
	jackknife := func(all []float64) float64 { return math.Sqrt((ladders - 1) * gonum.PopVariance(all, nil)) }
	require.InEpsilon(t, jackknife(all), standardError, 1e-9)

	for i := range ladders {
		b.up[1][ladders+i] *= 1.5
	}
	value, standardError = b.logZ()
	first := logZ(func(x []float64) []float64 { return x[:ladders] })
	second := logZ(func(x []float64) []float64 { return x[ladders:] })
	require.Greater(t, second-first, 0.3)
	all = nil
	for i := range ladders {
		all = append(all, logZ(func(x []float64) []float64 { return without(x, i) }))
	}
	require.InEpsilon(t, math.Hypot(jackknife(all), second-first), standardError, 1e-9)
	require.True(t, first < value && value < second)
}
