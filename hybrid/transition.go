package hybrid

import (
	"math"

	"github.com/revgen/revgen/asm"
)

// A move is one of the proposals of the transition kernel.
type move int

const (
	walk     move = iota // x′ = x + ε in the same mode
	flip                 // x′ = −x + ε in the same mode
	teleport             // k′ ≠ k uniform, x′ = x √(μ_k′/μ_k)
	moves                // number of proposals
)

var moveNames = [moves]string{walk: "walk", flip: "flip", teleport: "teleport"}

// String returns "walk", "flip" or "teleport".
func (m move) String() string { return moveNames[m] }

// A Count says how many of the proposals of one move were accepted.
type Count struct{ Proposed, Accepted uint64 }

// Rate returns the fraction accepted, 0 of none.
func (c Count) Rate() float64 { return float64(c.Accepted) / max(1, float64(c.Proposed)) }

// moveCounts counts proposals by move.
type moveCounts [moves]Count

func (c *moveCounts) add(d *moveCounts) {
	for m := range c {
		c[m].Proposed += d[m].Proposed
		c[m].Accepted += d[m].Accepted
	}
}

func (c *moveCounts) total() Count {
	var sum Count
	for _, m := range c {
		sum.Proposed += m.Proposed
		sum.Accepted += m.Accepted
	}
	return sum
}

// A transition is the Metropolis–Hastings kernel p(s, s′) of the paper's
// "Product Kernel and Hybrid MCMC Transition". It is immutable.
type transition struct {
	target *Target
	config TransitionConfig
	across float64 // probability of a teleport in random order

	// By k·M + k′: the factor √(μ_k′/μ_k) that a teleport stretches x with, and
	// ln Z_k − ln Z_k′ plus its logarithm.
	stretch, offset []float64
}

func newTransition(target *Target, c TransitionConfig) *transition {
	t := &transition{target: target, config: c, across: c.Across}
	m := target.Modes()
	if m == 1 {
		t.across = 0 // there is no other mode
	}
	for k := range m {
		for l := range m {
			from, to := target.Well(k), target.Well(l)
			ratio := math.Sqrt(to.mu / from.mu)
			t.stretch = append(t.stretch, ratio)
			t.offset = append(t.offset, from.LogZ()-to.LogZ()+math.Log(ratio))
		}
	}
	return t
}

// logRatio returns ln [π(y, l) |dy/dx| / π(x, k)] for a move from (x, k) to
// (y, l), whose acceptance is α = exp(min(0, logRatio)): Green's ratio for a
// symmetric choice of k′ and a map x → y with the derivative √(μ_l/μ_k), which
// is 1 within a mode.
func (t *transition) logRatio(x float64, k int, y float64, l int) float64 {
	return t.target.Energy(x, k) - t.target.Energy(y, l) + t.offset[k*len(t.target.wells)+l]
}

// A sample's random numbers are those of one block for each of its moves and,
// of the stream's upper half, one block for each four moves within a mode.
const (
	moveShift   = 40
	maxSamples  = 1 << moveShift
	normalsHalf = 1 << 63
	strip       = 256 // samples that move together
)

// draws holds a strip's random numbers.
type draws struct{ uniforms, normals [4 * strip]float32 }

// run takes the given number of steps from the states (x, k), in place, whose
// indices in the stream c start at first. Every sample's random numbers are its
// own, so the same bits result however a batch is cut. It allocates nothing.
func (t *transition) run(x []float32, k []uint8, steps int, c *asm.Counter, first uint64, counts *moveCounts) {
	var d draws
	for len(x) > 0 {
		n := min(strip, len(x))
		for step := range steps {
			if step%4 == 0 {
				asm.Normals(d.normals[:4*n], c, normalsHalf|uint64(step/4)<<moveShift|first)
			}
			within := t.config.Order != "random"
			t.step(x[:n], k[:n], c, first, 2*step, &d, within, step%4, counts)
			if within && len(t.target.wells) > 1 {
				t.stepAcross(x[:n], k[:n], c, first, 2*step+1, &d, counts)
			}
		}
		x, k, first = x[n:], k[n:], first+uint64(n)
	}
}

func (d *draws) draw(c *asm.Counter, first uint64, index, n int) {
	asm.Uniforms(d.uniforms[:4*n], c, uint64(index)<<moveShift|first)
}

// step takes one move, within the mode if so told and of a random kind
// otherwise. Normal number phase of each sample is its ε.
func (t *transition) step(x []float32, k []uint8, c *asm.Counter, first uint64, index int, d *draws, within bool, phase int, counts *moveCounts) {
	d.draw(c, first, index, len(x))
	across, flipping := float32(t.across), float32(t.config.Flip)
	if within {
		across = 0
	}
	var seen moveCounts
	for i := range x {
		u := d.uniforms[4*i:][:4]
		if u[0] < across {
			t.teleport(&x[i], &k[i], u, &seen)
			continue
		}
		kind, y := walk, x[i]
		if u[1] < flipping {
			kind, y = flip, -y
		}
		sigma := t.config.Sigma[int(float64(u[3])*float64(len(t.config.Sigma)))]
		y += float32(sigma) * d.normals[4*i+phase]
		seen[kind].Proposed++
		if accept(t.logRatio(float64(x[i]), int(k[i]), float64(y), int(k[i])), u[2]) {
			x[i] = y
			seen[kind].Accepted++
		}
	}
	counts.add(&seen)
}

// stepAcross takes one teleport.
func (t *transition) stepAcross(x []float32, k []uint8, c *asm.Counter, first uint64, index int, d *draws, counts *moveCounts) {
	d.draw(c, first, index, len(x))
	for i := range x {
		t.teleport(&x[i], &k[i], d.uniforms[4*i:][:4], counts)
	}
}

func (t *transition) teleport(x *float32, k *uint8, u []float32, counts *moveCounts) {
	m := len(t.target.wells)
	l := int(*k) + 1 + int(float64(u[1])*float64(m-1))
	if l >= m {
		l -= m
	}
	y := float32(float64(*x) * t.stretch[int(*k)*m+l])
	counts[teleport].Proposed++
	if accept(t.logRatio(float64(*x), int(*k), float64(y), l), u[2]) {
		*x, *k = y, uint8(l)
		counts[teleport].Accepted++
	}
}

// accept decides with probability exp(min(0, logRatio)); NaN is rejected.
func accept(logRatio float64, u float32) bool {
	return logRatio >= 0 || float64(u) < math.Exp(logRatio)
}
