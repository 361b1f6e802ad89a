package nn

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/revgen/revgen/asm"
	"github.com/revgen/revgen/internal/alloctest"
	"github.com/revgen/revgen/internal/number"
)

// Units without a kink, several at one place, and kinks far away: the pieces
// must give what the layers give.
func TestKinksOfSpecialUnits(t *testing.T) {
	const units, out, rows = 12, 5, 40
	m := NewMLP(0.1, 1, units, out, 2)
	r := rand.New(rand.NewPCG(3, 4))
	params := random(r, m.NumParams())
	a, b := m.Weights(params, 0), m.Biases(params, 0)
	a[0], b[0] = 0, 2
	a[1], b[1] = 0, -2
	a[2], b[2] = 0, 0
	a[3], b[3] = 1e-39, 3
	a[4], b[4] = 0.5, 0.25
	a[5], b[5] = -1, -0.5
	a[6], b[6] = float32(math.Copysign(0, -1)), 1
	x := m.NewActivations(rows)
	for i := range x[0] {
		x[0][i] = float32(i-rows/2)/4 + 0.1 // at no kink
	}
	p := m.NewPacked(true)
	m.Pack(p, params)
	m.Forward(x, p, params, 0, rows)
	dout := make([]float32, 2*rows)
	for i := range dout {
		dout[i] = 1
	}
	grad, din := make([]float32, m.NumParams()), make([]float32, rows)
	m.Backward(grad, din, dout, x, p, 0, rows, NewScratch(rows, m))
	p64 := number.Widen(params)
	total := func() (sum float64) {
		for _, v := range x[0] {
			for _, y := range m.Forward64(p64, []float64{float64(v)}) {
				sum += y
			}
		}
		return sum
	}
	for i, v := range x[0] {
		for o, want := range m.Forward64(p64, []float64{float64(v)}) {
			require.InDelta(t, want, float64(x.Output()[2*i+o]), 1e-5*(1+math.Abs(want)), "row %d", i)
		}
	}
	for i := units; i < len(params); i++ { // slopes of zero are kinks of their own
		if want := number.CentralDifference(&p64[i], 1e-6, total); i != units+2 {
			require.InDelta(t, want, float64(grad[i]), 1e-3*(1+math.Abs(want)), "parameter %d", i)
		}
	}
	// What is 0 everywhere has the slope of what is below.
	at0 := total()
	p64[units+2] -= 1e-6
	require.InDelta(t, (at0-total())/1e-6, float64(grad[units+2]), 1e-3)
}

// What is not a number must not disappear.
func TestKinksPassNaN(t *testing.T) {
	for _, out := range []int{1, 2} {
		testKinksPassNaN(t, NewMLP(0.1, 1, 6, 5, out))
	}
}

func testKinksPassNaN(t *testing.T, m *MLP) {
	nan := float32(math.NaN())
	for i := -1; i < m.NumParams(); i++ {
		params := make([]float32, m.NumParams())
		m.Initialize(params, &asm.Counter{Seed: 1}, 0)
		x := m.NewActivations(1)
		x[0][0] = 0.5
		if i < 0 {
			x[0][0] = nan
		} else {
			params[i] = nan
		}
		p := m.NewPacked(false)
		m.Pack(p, params)
		m.Forward(x, p, params, 0, 1)
		require.True(t, slices.ContainsFunc(x.Output(), func(y float32) bool { return y != y }), "parameter %d", i)
	}
}

// The order of the units before must not matter: a resumed run has none.
func TestKinksForgetTheLastStep(t *testing.T) {
	m := NewMLP(0.01, 1, 30, 20, 1)
	r := rand.New(rand.NewPCG(5, 6))
	before, params := random(r, m.NumParams()), random(r, m.NumParams())
	m.Biases(params, 0)[7] = 0
	m.Biases(params, 0)[3] = 0
	fresh, used := m.NewPacked(true), m.NewPacked(true)
	m.Pack(used, before)
	m.Pack(used, params)
	m.Pack(fresh, params)
	require.Equal(t, fresh.kinks, used.kinks)
	require.Zero(t, alloctest.PerRun(10, func() { m.Pack(used, params) }))
}

// TestEqualKnotsStandInTheOrderOfTheirUnits whatever the order before, so that a run
// that is resumed has the table of one that was not.
func TestEqualKnotsStandInTheOrderOfTheirUnits(t *testing.T) {
	k := NewMLP(0.1, 1, 4, 5, 2).newKinks()
	a, b := []float32{1, 2, -1, 4}, []float32{-1, -2, 1, 0} // knots 1, 1, 1, 0
	for _, before := range [][]int32{{0, 1, 2, 3}, {2, 1, 0, 3}, {3, 2, 0, 1}} {
		copy(k.order, before)
		k.sort(a, b)
		require.Equal(t, []int32{3, 0, 1, 2}, k.order, "%v", before)
	}
}
