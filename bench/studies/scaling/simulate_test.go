package main

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/revgen/revgen/internal/stat"
)

func generator() *rand.Rand { return rand.New(rand.NewPCG(1, 2)) }

// Without anything random a step is what the cost model says.
func TestStepsWithoutNoise(t *testing.T) {
	run := &Run{Stages: []Stage{{Shared: 6e-3, Pieces: 16, Bytes: 1000}, {Shared: 2e-3, Pieces: 12}, {Whole: 1e-3, Bytes: 500}, {Bytes: 1, EachRank: true}}}
	m := &Machine{Near: Link{2e-6, 1e9}}
	require.InDelta(t, 9e-3, stat.MeanOf(Steps(run, m, 1, 3, generator())).Value(), 1e-12)
	want := 6e-3/8 + 2e-3/6 + 1e-3 + 4*3*2e-6 + 1508*7.0/8/1e9 // 12 pieces take two turns of 8 ranks
	for _, seconds := range Steps(run, m, 8, 3, generator()) {
		require.InDelta(t, want, seconds, 1e-12)
	}
	// A sum in ten chunks along six ranks that have pieces, and from the last to all eight.
	run = &Run{Stages: []Stage{{Shared: 6e-3, Pieces: 6, Bytes: 9500, Chunk: 1000}}}
	want = 1e-3 + 14*(2e-6+1e-6) + 3*2e-6 + 2*9.5e-6
	require.InDelta(t, want, stat.MeanOf(Steps(run, m, 8, 3, generator())).Value(), 1e-12)
	// More ranks than a node has.
	m.Node, m.Far = 4, Link{1e-5, 1e8}
	require.InDelta(t, 1e-3+14*2e-5+3e-5+2*9.5e-5, stat.MeanOf(Steps(run, m, 8, 3, generator())).Value(), 1e-12)
}

// A call waits for the last: if a hiccup slows a loop with probability p, n ranks are slowed
// with 1−(1−p)ⁿ. The part of 20 000 loops differs from it by less than five standard
// deviations, at a level of 6·10⁻⁷.
func TestStepsWaitForTheLast(t *testing.T) {
	run := &Run{Stages: []Stage{{Whole: 1}}}
	m := &Machine{Near: Link{Bandwidth: 1}, Hiccups: 0.02, Hiccup: 10}
	for _, n := range []int{1, 16} {
		const steps = 20000
		slow := 0
		for _, s := range Steps(run, m, n, steps, generator()) {
			if s > 10 {
				slow++
			}
		}
		p := 1 - math.Pow(0.98, float64(n))
		require.InDelta(t, p, float64(slow)/steps, 5*math.Sqrt(p*(1-p)/steps))
	}
	// A spread alone leaves the mean of one rank as it is: five standard errors.
	m = &Machine{Near: Link{Bandwidth: 1}, Spread: 0.3}
	require.InDelta(t, 1, stat.MeanOf(Steps(run, m, 1, 20000, generator())).Value(), 5*0.31/math.Sqrt(20000))
	require.Greater(t, stat.MeanOf(Steps(run, m, 16, 2000, generator())).Value(), 1.4, "of 16, the last")
}

// The table is made of what is committed.
func TestTable(t *testing.T) {
	runs, err := calibration()
	require.NoError(t, err)
	require.NotEmpty(t, runs)
	text := table(runs, 20)
	require.Contains(t, text, "1024")
	require.Equal(t, text, table(runs, 20), "a seed is its table")
}
