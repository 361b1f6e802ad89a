package stat_test

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"

	"github.com/revgen/revgen/internal/stat"
)

// TestLogMass: the integral of a Gaussian with correlations is found to a fifth by 400 of its
// states; by fewer, of which scales alone are known, it is at most overestimated by what
// correlations are worth. What does not vary, is on its way or too few, tells nothing.
func TestLogMass(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	states := func(n, d int, slope float64) (x, logs []float64) {
		for range n {
			sum, last := 0.0, 0.0
			for range d {
				u := random.NormFloat64()
				last = slope*last + u // determinant 1
				x = append(x, 3+last)
				sum -= u * u / 2
			}
			logs = append(logs, sum-7)
		}
		return x, logs
	}
	for _, d := range []int{1, 2, 5, 10} {
		want := float64(d)/2*math.Log(2*math.Pi) - 7
		x, logs := states(400, d, 0.8)
		require.InDelta(t, want, stat.LogMass(x, logs), 0.2, d)
	}
	x, logs := states(60, 20, 0)
	require.InDelta(t, 10*math.Log(2*math.Pi)-7, stat.LogMass(x, logs), 1)
	few, of := states(15, 2, 0)
	require.True(t, math.IsNaN(stat.LogMass(few, of)))
	still := make([]float64, 100)
	require.True(t, math.IsNaN(stat.LogMass(still, still)))
	for i := range still {
		still[i] = float64(i)
	}
	require.True(t, math.IsNaN(stat.LogMass(still, make([]float64, 100))), "on its way")
}

// TestLogMassByItsFormula holds estimates against the formula by another inverse, for as few
// states as tell of covariances, as tell of scales alone, and as tell anything.
func TestLogMassByItsFormula(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 4))
	for _, c := range []struct {
		n, d int
		full bool
	}{{16, 1, true}, {17, 2, true}, {16, 4, true}, {20, 5, true}, {19, 5, false}, {40, 3, true}} {
		x, logs := make([]float64, c.n*c.d), make([]float64, c.n)
		for i := range x {
			x[i] = 2 + random.NormFloat64()
			if i > 0 {
				x[i] += 0.5 * x[i-1]
			}
		}
		for i := range logs {
			logs[i] = -5 * random.Float64()
		}
		states := mat.NewDense(c.n, c.d, slices.Clone(x))
		for i := range c.d {
			column := mat.Col(nil, i, states)
			floats.AddConst(-floats.Sum(column)/float64(c.n), column)
			states.SetCol(i, column)
		}
		var covariance, inverse mat.Dense
		covariance.Mul(states.T(), states)
		covariance.Scale(1/float64(c.n), &covariance)
		if !c.full {
			covariance.Apply(func(i, j int, v float64) float64 { return map[bool]float64{true: v}[i == j] }, &covariance)
		}
		require.NoError(t, inverse.Inverse(&covariance))
		squares := make([]float64, c.n)
		for i := range squares {
			squares[i] = mat.Inner(states.RowView(i), &inverse, states.RowView(i))
		}
		radius := slices.Sorted(slices.Values(squares))[c.n/2]
		var sum float64
		inside := 0
		for i, s := range squares {
			if s <= radius*(1+1e-9) {
				sum += math.Exp(-logs[i])
				inside++
			}
		}
		require.Equal(t, c.n/2+1, inside)
		volume := math.Pow(math.Pi*radius, float64(c.d)/2) / math.Gamma(float64(c.d)/2+1) * math.Sqrt(mat.Det(&covariance))
		require.InDelta(t, math.Log(volume*float64(c.n)/sum), stat.LogMass(x, logs), 1e-8, "%v", c)
		require.True(t, math.IsNaN(stat.LogMass(x[:c.n-1], logs)), "less than a number each")
	}
	// Halves that are apart by half of the deviation and more tell nothing.
	x, logs := make([]float64, 16), make([]float64, 16)
	for i := range x {
		x[i] = float64(1 - 2*(i%2))
	}
	apart := func(by float64) float64 {
		moved := slices.Clone(x)
		for i := 8; i < 16; i++ {
			moved[i] += by
		}
		return stat.LogMass(moved, logs)
	}
	// The deviation is √((16 + 4 by²)/15), and the first half is by/2 from the middle.
	at := math.Sqrt(16. / 11)
	require.False(t, math.IsNaN(apart(0.999*at)))
	require.True(t, math.IsNaN(apart(1.001*at)))
	// A number that follows from another leaves no volume, nor does one of another order.
	for i := range x {
		x[i] = random.NormFloat64()
	}
	var follows, tiny []float64
	for _, v := range x {
		follows = append(follows, v, v)
		tiny = append(tiny, v, 1e-9*random.NormFloat64())
	}
	require.True(t, math.IsNaN(stat.LogMass(follows, logs)))
	require.True(t, math.IsNaN(stat.LogMass(tiny, logs)))
}
