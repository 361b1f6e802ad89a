package reals

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/revgen/revgen/asm"
	"github.com/revgen/revgen/internal/alloctest"
	"github.com/revgen/revgen/internal/number"
	"github.com/revgen/revgen/internal/stat"
)

// TestTransitionLeavesTargetInvariant moves exact samples, and finds by the same
// statistics that another target's moves are another's.
func TestTransitionLeavesTargetInvariant(t *testing.T) {
	const bound, n = 5.5, 1 << 16 // of 2·10⁻⁷ false alarms for all
	moves := TransitionConfig{Sigma: []float64{0.1, 0.7, 2}}
	for _, target := range []gaussians{plane(0.6), randomMixture(1, 3, 4), randomMixture(6, 3, 5)} {
		after := func(of gaussians, steps int) float64 {
			tr, x := newTransition(of, moves), exact(target, n, 3)
			tr.run(x, steps, &asm.Counter{Seed: 4}, 0, tr.newScratch(n))
			return target.deviation(x)
		}
		require.Less(t, after(target, 4), bound)
		require.Greater(t, after(target.shifted(0.5), 40), 2*bound)
	}
}

// TestTransitionAcceptance compares the rate of acceptance and the size of the
// moves with a scalar computation from the same definition.
func TestTransitionAcceptance(t *testing.T) {
	target := plane(0.6)
	const n = 1 << 14
	for _, sigma := range [][]float64{{0.1}, {2}, {0.1, 2}} {
		tr := newTransition(target, TransitionConfig{Sigma: sigma})
		x := exact(target, n, 5)
		y := append([]float32(nil), x...)
		count := tr.run(y, 1, &asm.Counter{Seed: 6}, 0, tr.newScratch(n))
		require.EqualValues(t, n, count.Proposed)

		// ε from another stream, acceptance in expectation.
		e := make([]float32, 4*n)
		asm.Normals(e, &asm.Counter{Seed: 7}, 0)
		var want, wantSquare, square stat.Mean
		moved := 0
		for r := range n {
			from := number.Widen(x[2*r : 2*r+2])
			s := sigma[r%len(sigma)]
			to := []float64{from[0] + s*float64(e[4*r]), from[1] + s*float64(e[4*r+1])}
			a := math.Exp(min(0, target.log(to)-target.log(from)))
			want.Add(a)
			wantSquare.Add(a * (math.Pow(to[0]-from[0], 2) + math.Pow(to[1]-from[1], 2)))
			step := math.Pow(float64(y[2*r]-x[2*r]), 2) + math.Pow(float64(y[2*r+1]-x[2*r+1]), 2)
			square.Add(step)
			if step > 0 {
				moved++
			}
		}
		require.EqualValues(t, moved, count.Accepted)
		rate := count.Rate()
		require.InDelta(t, want.Value(), rate, 6*math.Hypot(want.StandardError(), math.Sqrt(rate*(1-rate)/n)), "%v", sigma)
		require.InDelta(t, wantSquare.Value(), square.Value(), 6*math.Hypot(wantSquare.StandardError(), square.StandardError()), "%v", sigma)
	}
}

// TestTransitionSplitsIntoAnyRows cuts a batch at several places and steps.
func TestTransitionSplitsIntoAnyRows(t *testing.T) {
	for _, target := range []gaussians{plane(0.6), randomMixture(3, 2, 1), randomMixture(9, 2, 1)} {
		tr := newTransition(target, TransitionConfig{Sigma: []float64{0.3, 1}})
		const n = 100
		d := target.Dim()
		s := tr.newScratch(n)
		whole := exact(target, n, 1)
		tr.run(whole, 5, &asm.Counter{Seed: 6}, 1000, s)
		for _, cut := range []int{1, 16, 33, 99} {
			parts := exact(target, n, 1)
			tr.run(parts[:cut*d], 5, &asm.Counter{Seed: 6}, 1000, s)
			tr.run(parts[cut*d:], 5, &asm.Counter{Seed: 6}, 1000+uint64(cut), s)
			require.Equal(t, whole, parts, "cut at %d", cut)
		}
		require.Zero(t, alloctest.PerRun(5, func() { tr.run(whole, 2, &asm.Counter{}, 0, s) }))
	}
}

// TestTransitionIsHalted in the middle of its steps.
func TestTransitionIsHalted(t *testing.T) {
	target := plane(0.6)
	s, asked := newTransition(target, TransitionConfig{Sigma: []float64{0.3}}).newScratch(8), 0
	s.halted = func() bool { asked++; return asked > 100 }
	x := exact(target, 8, 1)
	newTransition(target, TransitionConfig{Sigma: []float64{0.3}}).run(x, 1<<20, &asm.Counter{}, 0, s)
	require.Equal(t, 101, asked)
}

// TestTransitionFarFromTheTarget: states that float32 cannot tell a density of
// are left where they are, and nothing becomes NaN.
func TestTransitionFarFromTheTarget(t *testing.T) {
	target := plane(0.6)
	tr := newTransition(target, TransitionConfig{Sigma: []float64{0.1}})
	nan := float32(math.NaN())
	x := []float32{1e25, 1e25, 1000, -1000, nan, 0, 0, 0}
	y := append([]float32(nil), x...)
	count := tr.run(y, 50, &asm.Counter{Seed: 2}, 0, tr.newScratch(4))
	require.Equal(t, x[:2], y[:2])
	require.Less(t, y[2], x[2]+1, "moves far away lead towards the target")
	require.NotEqual(t, x[2], y[2])
	require.True(t, y[4] != y[4])
	require.NotEqual(t, x[6], y[6])
	require.Less(t, count.Rate(), 0.5)
}
