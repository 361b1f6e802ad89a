package gmm

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/revgen/revgen/asm"
	"github.com/revgen/revgen/internal/stat"
)

func exactBatch(target *Target, n int, seed uint64) []float32 {
	x := make([]float32, n*target.Dim())
	target.Sample(x, &asm.Counter{Seed: seed, Purpose: 9}, 0)
	return x
}

// invariance returns how many standard errors the responsibilities and the
// second moments of exact samples are from the target's after a number of
// steps, at most.
func invariance(t *testing.T, target *Target, tr *transition, steps int) (worst float64) {
	t.Helper()
	const n = 1 << 16
	d := target.Dim()
	x := exactBatch(target, n, 3)
	tr.run(x, steps, &asm.Counter{Seed: 4}, 0, tr.newScratch(n))
	mean, covariance := target.Mean(), target.Covariance()
	p := make([]float64, target.Components())
	weights, second := make([]stat.Mean, len(p)), make([]stat.Mean, d)
	for r := range n {
		row := widen(x[r*d : (r+1)*d])
		target.Responsibilities(p, row)
		for k, v := range p {
			weights[k].Add(v)
		}
		for i := range d {
			second[i].Add(math.Pow(row[i]-mean[i], 2))
		}
	}
	for k, m := range weights {
		worst = max(worst, math.Abs(m.Value()-target.Component(k).Weight)/m.StandardError())
	}
	for i, m := range second {
		worst = max(worst, math.Abs(m.Value()-covariance[i*d+i])/m.StandardError())
	}
	return worst
}

func TestTransitionLeavesTargetInvariant(t *testing.T) {
	const bound = 5.5 // of 2·10⁻⁷ false alarms for all
	moves := TransitionConfig{Sigma: []float64{0.1, 0.7, 2}, Steps: 4}
	for _, c := range []TargetConfig{paperTarget(), randomMixture(1, 3, 4), randomMixture(6, 3, 5)} {
		target := newTestTarget(t, c)
		require.Less(t, invariance(t, target, newTransition(target, moves), 4), bound)
		// Of components of equal weight in six dimensions only the spread shows
		// that a target is another one.
		c.Components = append([]Component(nil), c.Components...)
		shifted := c.Components[0]
		shifted.Mean = append([]float64(nil), shifted.Mean...)
		shifted.Mean[0] += 0.5
		c.Components[0] = shifted
		require.Greater(t, invariance(t, target, newTransition(newTestTarget(t, c), moves), 40), 2*bound)
	}
}

// TestTransitionAcceptance compares the rate of acceptance and the size of the
// moves with a scalar computation from the same definition.
func TestTransitionAcceptance(t *testing.T) {
	target := newTestTarget(t, paperTarget())
	const n = 1 << 14
	for _, sigma := range [][]float64{{0.1}, {2}, {0.1, 2}} {
		tr := newTransition(target, TransitionConfig{Sigma: sigma})
		x := exactBatch(target, n, 5)
		y := append([]float32(nil), x...)
		count := tr.run(y, 1, &asm.Counter{Seed: 6}, 0, tr.newScratch(n))
		require.EqualValues(t, n, count.Proposed)

		// ε from another stream, acceptance in expectation.
		e := make([]float32, 4*n)
		asm.Normals(e, &asm.Counter{Seed: 7}, 0)
		var want, wantSquare, square stat.Mean
		moved := 0
		for r := range n {
			from := widen(x[2*r : 2*r+2])
			s := sigma[r%len(sigma)]
			to := []float64{from[0] + s*float64(e[4*r]), from[1] + s*float64(e[4*r+1])}
			a := math.Exp(logAcceptance(target, from, to))
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
	for _, c := range []TargetConfig{paperTarget(), randomMixture(3, 2, 1), randomMixture(9, 2, 1)} {
		target := newTestTarget(t, c)
		tr := newTransition(target, TransitionConfig{Sigma: []float64{0.3, 1}})
		const n = 100
		d := target.Dim()
		s := tr.newScratch(n)
		whole := exactBatch(target, n, 1)
		tr.run(whole, 5, &asm.Counter{Seed: 6}, 1000, s)
		for _, cut := range []int{1, 16, 33, 99} {
			parts := exactBatch(target, n, 1)
			tr.run(parts[:cut*d], 5, &asm.Counter{Seed: 6}, 1000, s)
			tr.run(parts[cut*d:], 5, &asm.Counter{Seed: 6}, 1000+uint64(cut), s)
			require.Equal(t, whole, parts, "cut at %d", cut)
		}
		require.Zero(t, testing.AllocsPerRun(5, func() { tr.run(whole, 2, &asm.Counter{}, 0, s) }))
	}
}

// TestTransitionFarFromTheTarget: states that float32 cannot tell a density of
// are left where they are, and nothing becomes NaN.
func TestTransitionFarFromTheTarget(t *testing.T) {
	target := newTestTarget(t, paperTarget())
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
