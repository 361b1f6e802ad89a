package vectors

import (
	"fmt"
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/revgen/revgen/asm"
	"github.com/revgen/revgen/engine"
	"github.com/revgen/revgen/internal/alloctest"
	"github.com/revgen/revgen/internal/long"
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

// Modes implements Modal.
func (u unplaced) Modes() int { return modesOf(u.Target) }

// TestModalTransitionLeavesTargetInvariant moves exact samples, and finds by the same
// statistics that another target's moves are another's. Without places teleports
// keep x.
func TestModalTransitionLeavesTargetInvariant(t *testing.T) {
	long.SkipShort(t)
	const n, bound = 1 << 15, 5.7
	for _, d := range dims {
		target := threeTwins(d)
		after := func(of Target, c TransitionConfig, steps int) float64 {
			s := exactTwins(target, n, 3)
			newKernel(of, c).newMover(strip).run(s, steps, &asm.Counter{Seed: 4}, 0)
			return target.deviation(s.X, s.K)
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

// TestModalTransitionAcceptance compares acceptance, counts and frequencies of the
// moves with a scalar computation from the same definition.
func TestModalTransitionAcceptance(t *testing.T) {
	const n = 1 << 15
	for _, d := range dims {
		target := threeTwins(d)
		tr := newKernel(target, testTransitions["random"])
		var counts [numMoves]engine.Count
		m, all := tr.newMover(strip), exactTwins(target, n, 7)
		for lo := 0; lo < n; lo += strip {
			count := m.run(all.Part(lo, lo+strip), 1, &asm.Counter{Seed: 8}, uint64(lo))
			require.EqualValues(t, strip, count.Proposed)
			before := counts
			m.countKinds(&counts)
			for kind := range counts {
				count.Accepted -= counts[kind].Accepted - before[kind].Accepted
			}
			require.Zero(t, count.Accepted)
		}
		for kind, p := range map[move]float64{walking: .45, flip: .05, teleport: .5} {
			share := float64(counts[kind].Proposed) / n
			require.InDelta(t, p, share, 6*math.Sqrt(p*(1-p)/n), "%s", moveNames[kind])
		}
		// Other exact samples, other noise, acceptance in expectation.
		s := exactTwins(target, n, 17)
		e := make([]float32, 4*n)
		asm.Normals(e, &asm.Counter{Seed: 9}, 0)
		var want [numMoves]stat.Mean
		for i, mode := range s.K {
			from := number.Widen(s.X[i*d : (i+1)*d])
			m, to := target[mode], make([]float64, d)
			accept := func(kind move, l int, logVolume float64) {
				want[kind].Add(math.Exp(min(0, target.log(to, l)-target.log(from, int(mode))+logVolume)))
			}
			for j := range d {
				to[j] = from[j] + 0.5*float64(e[4*i+j])
			}
			accept(walking, int(mode), 0)
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
			require.InDelta(t, w.Value(), rate, 6*math.Hypot(w.StandardError(), math.Sqrt(rate*(1-rate)/of)), "%s in %d", moveNames[kind], d)
		}
	}
}

// countKinds adds the proposals of the last step, by their kinds.
func (m *mover) countKinds(counts *[numMoves]engine.Count) {
	for i, choice := range m.choice {
		c := &counts[m.proposals[choice].kind]
		c.Proposed++
		if m.uniforms[4*i+m.acceptIndex] < m.ratio[i] {
			c.Accepted++
		}
	}
}

// TestModalTransitionIsIndependentOfCuts moves a batch in one piece and in several.
func TestModalTransitionIsIndependentOfCuts(t *testing.T) {
	for _, d := range []int{1, 2, 3, 5} {
		target := threeTwins(d)
		for name, c := range testTransitions {
			tr := newKernel(target, c)
			m := tr.newMover(strip)
			const n = 1000
			s, cuts := exactTwins(target, n, 1), exactTwins(target, n, 1)
			whole, parts := m.run(s, 9, &asm.Counter{Seed: 2, Step: 5}, 40), engine.Count{}
			for _, cut := range [][2]int{{0, 3}, {3, 300}, {300, 1000}} {
				part := m.run(cuts.Part(cut[0], cut[1]), 9, &asm.Counter{Seed: 2, Step: 5}, 40+uint64(cut[0]))
				parts.Add(part)
			}
			require.Equal(t, s, cuts, name)
			require.Equal(t, whole, parts, name)
			require.Zero(t, alloctest.PerRun(5, func() { m.run(s, 3, &asm.Counter{}, 0) }))
		}
	}
}

// TestTransitionIsHalted in the middle of its steps.
func TestTransitionIsHalted(t *testing.T) {
	halted := func(target Target, c TransitionConfig, s States) {
		m, asked := newKernel(target, c).newMover(strip), 0
		m.halted = func() bool { asked++; return asked > 100 }
		m.run(s, 1<<20, &asm.Counter{}, 0)
		require.Equal(t, 101, asked)
	}
	halted(plane(0.6), TransitionConfig{Sigma: []float64{0.3}}, states(exact(plane(0.6), 2*strip, 1), 2))
	for _, c := range testTransitions {
		halted(threeTwins(2), c, exactTwins(threeTwins(2), 2*strip, 1))
	}
}

// TestModalTransitionDrawsEachNormalOnce: displacements of a flat target's walk are
// standard normal numbers, independent between steps and coordinates.
func TestModalTransitionDrawsEachNormalOnce(t *testing.T) {
	const n, d, steps = 300, 3, 9
	tr := newKernel(flat{d}, TransitionConfig{Order: "random", Sigma: []float64{1}})
	seen := map[float32]int{}
	before, s := make([]float32, n*d), newStates(n, d, 1)
	x := s.X
	var sum stat.Mean
	for step := range steps {
		copy(before, x)
		clear(x)
		tr.newMover(strip).run(s, step+1, &asm.Counter{Seed: 3}, 0)
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

// TestModalTransitionOfOneMode never leaves it.
func TestModalTransitionOfOneMode(t *testing.T) {
	target := threeTwins(2)[:1]
	for name, c := range testTransitions {
		s := exactTwins(target, 100, 1)
		m := newKernel(target, c).newMover(strip)
		for step := range 5 {
			m.run(s, 1, &asm.Counter{Step: uint32(step)}, 0)
			var counts [numMoves]engine.Count
			m.countKinds(&counts)
			require.Zero(t, counts[teleport].Proposed, name)
		}
		require.Equal(t, make([]uint8, 100), s.K, name)
	}
}

// TestModalTransitionRejectsUndefined keeps states that are not finite where they
// are instead of spreading them over modes.
func TestModalTransitionRejectsUndefined(t *testing.T) {
	tr := newKernel(threeTwins(1), testTransitions["best"])
	x := []float32{float32(math.NaN()), float32(math.Inf(1)), 3e38}
	k := []uint8{0, 1, 2}
	tr.newMover(strip).run(States{1, x, k}, 20, &asm.Counter{}, 0)
	require.True(t, math.IsNaN(float64(x[0])))
	require.Equal(t, []uint8{0, 1}, k[:2])
}

// BenchmarkModalTransition takes the paper's three steps from 2048 states.
func BenchmarkModalTransition(b *testing.B) {
	target := threeTwins(1)
	for _, name := range []string{"paper", "random", "best"} {
		b.Run(name, func(b *testing.B) {
			tr := newKernel(target, testTransitions[name])
			m, s := tr.newMover(strip), exactTwins(target, 2048, 1)
			var count engine.Count
			c := asm.Counter{Seed: 1}
			for b.Loop() {
				c.Step++
				count.Add(m.run(s, tr.config.Steps, &c, 0))
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(count.Proposed), "ns/move")
		})
	}
}

// TestModalTransitionFollowsItsStreams moves samples one by one: move number i of a
// sample takes a block of uniforms of its own, for the kind of move, the choice
// within it, the acceptance and σ, and four steps share d blocks of normals.
func TestModalTransitionFollowsItsStreams(t *testing.T) {
	const n, steps, first = 300, 9, 70
	stream := asm.Counter{Seed: 8, Purpose: 3, Step: 2}
	for _, d := range []int{1, 3} {
		target := threeTwins(d)
		for name, c := range testTransitions {
			followsItsStreams(t, fmt.Sprintf("%s in %d", name, d), target, c, stream, n, steps, first)
		}
	}
}

func followsItsStreams(t *testing.T, name string, target twins, c TransitionConfig, stream asm.Counter, n, steps, first int) {
	d := target.Dim()
	s, want := exactTwins(target, n, 5), exactTwins(target, n, 5)
	wantX, wantK := want.X, want.K
	accepted := 0
	for i := range wantK {
		state := wantX[i*d : (i+1)*d]
		move := func(index, step int, across float64) {
			u, z := make([]float32, 4), make([]float32, 4*d)
			asm.Uniforms(u, &stream, uint64(index)<<40|uint64(first+i))
			for j := range d {
				asm.Normals(z[4*j:4*j+4], &stream, 1<<63|uint64(step/4*d+j)<<40|uint64(first+i))
			}
			from, to, stretch := int(wantK[i]), int(wantK[i]), 1.0
			sigma := c.Sigma[int(float64(u[3])*float64(len(c.Sigma)))]
			y := make([]float32, d)
			if float64(u[0]) < across {
				to = (from + 1 + int(float64(u[1])*float64(target.Modes()-1))) % target.Modes()
				stretch = target[to].scale / target[from].scale
			}
			for j, v := range number.Widen(state) {
				switch e := sigma * float64(z[step%4*d+j]); {
				case to != from:
					y[j] = float32(target[to].center[j] + stretch*(v-target[from].center[j]))
				case u[1] < float32(c.Flip) && float64(u[0]) >= across:
					y[j] = float32(2*target[from].center[j] - v + e)
				default:
					y[j] = float32(v + e)
				}
			}
			ratio := math.Exp(target.log(number.Widen(y), to)-target.log(number.Widen(state), from)) * math.Pow(stretch, float64(d))
			if float64(u[2]) < ratio {
				copy(state, y)
				wantK[i] = uint8(to)
				accepted++
			}
		}
		for step := range steps {
			if c.Order == "random" {
				move(2*step, step, c.Across)
				continue
			}
			move(2*step, step, 0)
			move(2*step+1, step, 1)
		}
	}
	count := newKernel(target, c).newMover(strip).run(s, steps, &stream, uint64(first))
	require.Equal(t, wantK, s.K, name)
	for i := range s.X {
		require.InDelta(t, wantX[i], s.X[i], 1e-4, fmt.Sprintf("%s, sample %d", name, i/d))
	}
	require.EqualValues(t, accepted, count.Accepted, name)
}
