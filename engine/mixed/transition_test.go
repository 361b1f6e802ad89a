package mixed

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/revgen/revgen/asm"
	"github.com/revgen/revgen/internal/alloctest"
	"github.com/revgen/revgen/internal/number"
	"github.com/revgen/revgen/internal/stat"
)

var testTransitions = map[string]TransitionConfig{
	"paper":       {Order: "paper-order", Sigma: []float64{.5}, Flip: .1, Steps: 3},
	"random":      {Order: "random", Across: .5, Sigma: []float64{.5}, Flip: .1, Steps: 3},
	"walk only":   {Order: "random", Sigma: []float64{.1, .5}, Steps: 3},
	"flip only":   {Order: "random", Sigma: []float64{.1, .5, 2}, Flip: 1, Steps: 3},
	"across only": {Order: "random", Across: 1, Sigma: []float64{.5}, Steps: 3},
	"best":        {Order: "random", Across: .5, Sigma: []float64{.1, .5}, Flip: .5, Steps: 10},
}

var dims = []int{1, 3}

// unplaced hides all abilities of a target but its density.
type unplaced struct{ Target }

// TestTransitionLeavesTargetInvariant moves exact samples, and finds by the same
// statistics that another target's moves are another's. Without places teleports
// keep x.
func TestTransitionLeavesTargetInvariant(t *testing.T) {
	const n, bound = 1 << 15, 5.7
	for _, d := range dims {
		target := threeTwins(d)
		after := func(of Target, c TransitionConfig, steps int) float64 {
			tr, counts := newTransition(of, c), moveCounts{}
			x, k := exact(target, n, 3)
			tr.run(x, k, steps, &asm.Counter{Seed: 4}, 0, tr.newScratch(), &counts)
			return target.deviation(x, k)
		}
		for name, c := range testTransitions {
			require.Less(t, after(target, c, 4), bound, "%d %s", d, name)
			require.Less(t, after(unplaced{target}, c, 4), bound, "%d %s", d, name)
		}
		for _, change := range []func(m *twin){
			func(m *twin) { m.weight *= 1.5 },
			func(m *twin) { m.center[d-1] += 0.5 },
		} {
			require.Greater(t, after(target.changed(change), testTransitions["random"], 20), 2*bound)
		}
	}
}

// TestTransitionAcceptance compares acceptance, counts and frequencies of the
// moves with a scalar computation from the same definition.
func TestTransitionAcceptance(t *testing.T) {
	const n = 1 << 15
	for _, d := range dims {
		target := threeTwins(d)
		tr, counts := newTransition(target, testTransitions["random"]), moveCounts{}
		x, k := exact(target, n, 7)
		tr.run(x, k, 1, &asm.Counter{Seed: 8}, 0, tr.newScratch(), &counts)
		require.EqualValues(t, n, counts.total().Proposed)
		for kind, p := range map[move]float64{walk: .45, flip: .05, teleport: .5} {
			share := float64(counts[kind].Proposed) / n
			require.InDelta(t, p, share, 6*math.Sqrt(p*(1-p)/n), "%v", kind)
		}
		// Other exact samples, other noise, acceptance in expectation.
		x, k = exact(target, n, 17)
		e := make([]float32, 4*n)
		asm.Normals(e, &asm.Counter{Seed: 9}, 0)
		var want [moves]stat.Mean
		for i, mode := range k {
			from := number.Widen(x[i*d : (i+1)*d])
			m, to := target[mode], make([]float64, d)
			accept := func(kind move, l int, logVolume float64) {
				want[kind].Add(math.Exp(min(0, target.log(to, l)-target.log(from, int(mode))+logVolume)))
			}
			for j := range d {
				to[j] = from[j] + 0.5*float64(e[4*i+j])
			}
			accept(walk, int(mode), 0)
			for j := range d {
				to[j] = 2*m.center[j] - from[j] + 0.5*float64(e[4*i+j])
			}
			accept(flip, int(mode), 0)
			other := (int(mode) + 1 + i%2) % 3
			for j := range d {
				to[j] = target[other].center[j] + target[other].scale/m.scale*(from[j]-m.center[j])
			}
			accept(teleport, other, float64(d)*math.Log(target[other].scale/m.scale))
		}
		for kind, w := range want {
			rate, of := counts[kind].Rate(), float64(counts[kind].Proposed)
			require.InDelta(t, w.Value(), rate, 6*math.Hypot(w.StandardError(), math.Sqrt(rate*(1-rate)/of)), "%v in %d", move(kind), d)
		}
	}
	require.Zero(t, (&moveCounts{}).total().Rate())
}

// TestTransitionIsIndependentOfCuts moves a batch in one piece and in several.
func TestTransitionIsIndependentOfCuts(t *testing.T) {
	for _, d := range []int{1, 2, 3, 5} {
		target := threeTwins(d)
		for name, c := range testTransitions {
			tr := newTransition(target, c)
			s := tr.newScratch()
			const n = 1000
			x, k := exact(target, n, 1)
			y, l := exact(target, n, 1)
			var whole, parts moveCounts
			tr.run(x, k, 9, &asm.Counter{Seed: 2, Step: 5}, 40, s, &whole)
			for _, cut := range [][2]int{{0, 3}, {3, 300}, {300, 1000}} {
				lo, hi := cut[0], cut[1]
				tr.run(y[lo*d:hi*d], l[lo:hi], 9, &asm.Counter{Seed: 2, Step: 5}, 40+uint64(lo), s, &parts)
			}
			require.Equal(t, x, y, name)
			require.Equal(t, k, l, name)
			require.Equal(t, whole, parts, name)
			require.Zero(t, alloctest.PerRun(5, func() { tr.run(x, k, 3, &asm.Counter{}, 0, s, &parts) }))
		}
	}
}

// TestTransitionIsHalted in the middle of its steps.
func TestTransitionIsHalted(t *testing.T) {
	target := threeTwins(2)
	for name, c := range testTransitions {
		tr := newTransition(target, c)
		s, asked := tr.newScratch(), 0
		s.halted = func() bool { asked++; return asked > 100 }
		x, k := exact(target, 2*strip, 1)
		var counts moveCounts
		tr.run(x, k, 1<<20, &asm.Counter{}, 0, s, &counts)
		require.Equal(t, 101, asked, name)
	}
}

// TestTransitionDrawsEachNormalOnce: displacements of a flat target's walk are
// standard normal numbers, independent between steps and coordinates.
func TestTransitionDrawsEachNormalOnce(t *testing.T) {
	const n, d, steps = 300, 3, 9
	tr := newTransition(flat{d}, TransitionConfig{Order: "random", Sigma: []float64{1}})
	seen := map[float32]int{}
	before, x, k := make([]float32, n*d), make([]float32, n*d), make([]uint8, n)
	var sum stat.Mean
	for step := range steps {
		copy(before, x)
		clear(x)
		var counts moveCounts
		tr.run(x, k, step+1, &asm.Counter{Seed: 3}, 0, tr.newScratch(), &counts)
		for i := range x {
			e := x[i] - before[i]
			seen[e]++
			sum.Add(float64(e) * float64(e))
		}
	}
	require.Greater(t, len(seen), n*d*steps*99/100)
	require.InDelta(t, 1, sum.Value(), 6*sum.StandardError())
}

type flat struct{ dim int }

func (f flat) Dim() int                               { return f.dim }
func (f flat) Modes() int                             { return 1 }
func (f flat) LogDensity(dst, _ []float32, _ []uint8) { clear(dst) }

// TestTransitionOfOneMode never leaves it.
func TestTransitionOfOneMode(t *testing.T) {
	target := threeTwins(2)[:1]
	for name, c := range testTransitions {
		x, k := exact(target, 100, 1)
		var counts moveCounts
		tr := newTransition(target, c)
		tr.run(x, k, 5, &asm.Counter{}, 0, tr.newScratch(), &counts)
		require.Zero(t, counts[teleport].Proposed, name)
		require.Equal(t, make([]uint8, 100), k, name)
	}
}

// TestTransitionRejectsUndefined keeps states that are not finite where they
// are instead of spreading them over modes.
func TestTransitionRejectsUndefined(t *testing.T) {
	tr := newTransition(threeTwins(1), testTransitions["best"])
	x := []float32{float32(math.NaN()), float32(math.Inf(1)), 3e38}
	k := []uint8{0, 1, 2}
	var counts moveCounts
	tr.run(x, k, 20, &asm.Counter{}, 0, tr.newScratch(), &counts)
	require.True(t, math.IsNaN(float64(x[0])))
	require.Equal(t, []uint8{0, 1}, k[:2])
}

// BenchmarkTransition takes the paper's three steps from 2048 states.
func BenchmarkTransition(b *testing.B) {
	target := threeTwins(1)
	for _, name := range []string{"paper", "random", "best"} {
		b.Run(name, func(b *testing.B) {
			tr := newTransition(target, testTransitions[name])
			s := tr.newScratch()
			x, k := exact(target, 2048, 1)
			var counts moveCounts
			c := asm.Counter{Seed: 1}
			for b.Loop() {
				c.Step++
				tr.run(x, k, tr.config.Steps, &c, 0, s, &counts)
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(counts.total().Proposed), "ns/move")
		})
	}
}
