package hybrid

import (
	"fmt"
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/revgen/revgen/asm"
)

var testTransitions = map[string]TransitionConfig{
	"paper":       {Order: "paper-order", Sigma: []float64{.5}, Flip: .1, Steps: 3},
	"random":      {Order: "random", Across: .5, Sigma: []float64{.5}, Flip: .1, Steps: 3},
	"walk only":   {Order: "random", Sigma: []float64{.1, .5}, Steps: 3},
	"flip only":   {Order: "random", Sigma: []float64{.1, .5, 2}, Flip: 1, Steps: 3},
	"across only": {Order: "random", Across: 1, Sigma: []float64{.5}, Steps: 3},
	"best":        {Order: "random", Across: .5, Sigma: []float64{.1, .5}, Flip: .5, Steps: 10},
}

// exactBatch returns n exact samples.
func exactBatch(target *Target, n int, seed uint64) (x []float32, k []uint8) {
	x, k = make([]float32, n), make([]uint8, n)
	target.Sample(x, k, &asm.Counter{Seed: seed, Purpose: 9}, 0)
	return x, k
}

// TestTransitionLeavesTargetInvariant moves exact samples and compares them
// with the target by χ² on 3×32 cells; the bound has a false-alarm rate of
// 1e-9 a case. A kernel that leaves out the stretching of space or the
// normalising constants must fail.
func TestTransitionLeavesTargetInvariant(t *testing.T) {
	target := paperTarget(t)
	const n, cells, bound = 1 << 16, 32, 190.0 // 95 degrees of freedom
	statistic := func(tr *transition, steps int) float64 {
		x, k := exactBatch(target, n, 3)
		var counts moveCounts
		tr.run(x, k, steps, &asm.Counter{Seed: 4}, 0, &counts)
		count := make([]float64, cells*3)
		for i := range x {
			u := target.Well(int(k[i])).CDF(float64(x[i]))
			count[int(k[i])*cells+min(cells-1, int(u*cells))]++
		}
		return chiSquare(count, n)
	}
	for name, c := range testTransitions {
		require.Less(t, statistic(newTransition(target, c), 4), bound, name)
	}
	for _, change := range []func(p *proposal){
		func(p *proposal) { p.offset -= math.Log(math.Abs(p.factor)) },
		func(p *proposal) { p.offset = math.Log(math.Abs(p.factor)) },
	} {
		require.Greater(t, statistic(wrongTransition(t, "random", change), 4), 10*bound)
	}
}

// TestTransitionAcceptance compares the acceptance of each move with its
// expectation under the target, by quadrature for the teleport, and checks the
// counts and the frequencies of the moves.
func TestTransitionAcceptance(t *testing.T) {
	target := paperTarget(t)
	c := testTransitions["random"]
	tr := newTransition(target, c)
	const n = 1 << 17
	x, k := exactBatch(target, n, 7)
	var counts moveCounts
	tr.run(x, k, 1, &asm.Counter{Seed: 8}, 0, &counts)
	require.EqualValues(t, n, counts.total().Proposed)
	for kind, p := range map[move]float64{walk: .45, flip: .05, teleport: .5} {
		share := float64(counts[kind].Proposed) / n
		require.InDelta(t, p, share, 6*math.Sqrt(p*(1-p)/n), "%v", kind)
	}
	var want float64
	for i := range tr.proposals {
		p := &tr.proposals[i]
		if p.from == p.to {
			continue
		}
		w := target.Well(int(p.from))
		want += simpson(func(x float64) float64 {
			return w.Density(x) * math.Exp(min(0, p.logRatio(x, p.factor*x)))
		}, -w.edge(), w.edge(), 20000) / 6
	}
	rate := counts[teleport].Rate()
	require.InDelta(t, want, rate, 6*math.Sqrt(want*(1-want)/(n/2)))
	require.Zero(t, (&moveCounts{}).total().Rate())
	require.Equal(t, "walk flip teleport", fmt.Sprint(walk, " ", flip, " ", teleport))
}

// TestTransitionIsIndependentOfCuts moves a batch in one piece and in several.
func TestTransitionIsIndependentOfCuts(t *testing.T) {
	target := paperTarget(t)
	for name, c := range testTransitions {
		tr := newTransition(target, c)
		const n = 1000
		x, k := exactBatch(target, n, 1)
		y, l := exactBatch(target, n, 1)
		var whole, parts moveCounts
		tr.run(x, k, 9, &asm.Counter{Seed: 2, Step: 5}, 40, &whole)
		for _, cut := range [][2]int{{0, 3}, {3, 300}, {300, 1000}} {
			lo, hi := cut[0], cut[1]
			tr.run(y[lo:hi], l[lo:hi], 9, &asm.Counter{Seed: 2, Step: 5}, 40+uint64(lo), &parts)
		}
		require.Equal(t, x, y, name)
		require.Equal(t, k, l, name)
		require.Equal(t, whole, parts, name)
	}
}

// TestTransitionOfOneMode never leaves it.
func TestTransitionOfOneMode(t *testing.T) {
	target, err := NewTarget([]float64{4})
	require.NoError(t, err)
	for name, c := range testTransitions {
		x, k := exactBatch(target, 100, 1)
		var counts moveCounts
		newTransition(target, c).run(x, k, 5, &asm.Counter{}, 0, &counts)
		require.Zero(t, counts[teleport].Proposed, name)
		require.Equal(t, make([]uint8, 100), k, name)
	}
}

// TestTransitionRejectsUndefined keeps states that are not finite where they
// are instead of spreading them over modes.
func TestTransitionRejectsUndefined(t *testing.T) {
	tr := newTransition(paperTarget(t), testTransitions["best"])
	x := []float32{float32(math.NaN()), float32(math.Inf(1)), 3e38}
	k := []uint8{0, 1, 2}
	var counts moveCounts
	tr.run(x, k, 20, &asm.Counter{}, 0, &counts)
	require.True(t, math.IsNaN(float64(x[0])))
	require.Equal(t, []uint8{0, 1}, k[:2])
}

func TestTransitionDoesNotAllocate(t *testing.T) {
	target := paperTarget(t)
	tr := newTransition(target, testTransitions["best"])
	x, k := exactBatch(target, 600, 1)
	var counts moveCounts
	c := asm.Counter{Seed: 1}
	require.Zero(t, testing.AllocsPerRun(10, func() { tr.run(x, k, 3, &c, 0, &counts) }))
}

// BenchmarkTransition takes the paper's three steps from 2048 states.
func BenchmarkTransition(b *testing.B) {
	target := paperTarget(b)
	for _, name := range []string{"paper", "random", "best"} {
		b.Run(name, func(b *testing.B) {
			tr := newTransition(target, testTransitions[name])
			x, k := exactBatch(target, 2048, 1)
			var counts moveCounts
			c := asm.Counter{Seed: 1}
			for b.Loop() {
				c.Step++
				tr.run(x, k, tr.config.Steps, &c, 0, &counts)
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(counts.total().Proposed), "ns/move")
		})
	}
}
