package hybrid

import (
	"math"

	"github.com/revgen/revgen/asm"
	"github.com/revgen/revgen/engine"
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

// moveCounts counts proposals by move.
type moveCounts [moves]engine.Count

func (c *moveCounts) add(d *moveCounts) {
	for m := range c {
		c[m].Add(d[m])
	}
}

func (c *moveCounts) total() (sum engine.Count) {
	for _, m := range c {
		sum.Add(m)
	}
	return sum
}

// A proposal is the map x → factor·x + noise·ε from one mode to another.
type proposal struct {
	factor, noise  float64
	muFrom, muTo   float64
	offset         float64 // ln Z_from − ln Z_to + ln |factor|
	from, to, kind uint8
}

// logRatio returns ln [π(y, to) |dy/dx| / π(x, from)], whose minimum with 0 is
// the logarithm of the acceptance α: Green's ratio for a choice among the
// proposals that is as likely on the way back.
func (p *proposal) logRatio(x, y float64) float64 {
	before, after := x*x-p.muFrom, y*y-p.muTo
	return before*before - after*after + p.offset
}

// A transition is the Metropolis–Hastings kernel p(s, s′) of the paper's
// "Product Kernel and Hybrid MCMC Transition". It is immutable.
type transition struct {
	target *Target
	config TransitionConfig
	across float32 // probability of a teleport in random order

	// The proposals of mode k begin at k·(M+1): walk, flip, and teleports to the
	// modes k+1, …, k+M−1 modulo M.
	proposals []proposal
}

func newTransition(target *Target, c TransitionConfig) *transition {
	t := &transition{target: target, config: c, across: float32(c.Across)}
	m := target.Modes()
	if m == 1 {
		t.across = 0 // there is no other mode
	}
	for k := range m {
		for i := range m + 1 {
			p := proposal{factor: 1, noise: 1, from: uint8(k), to: uint8(k), kind: uint8(walk)}
			switch {
			case i == int(flip):
				p.factor, p.kind = -1, uint8(flip)
			case i >= int(teleport):
				p.to, p.kind = uint8((k+i-1)%m), uint8(teleport)
				p.factor, p.noise = math.Sqrt(target.Well(int(p.to)).Mu()/target.Well(k).Mu()), 0
			}
			from, to := target.Well(k), target.Well(int(p.to))
			p.muFrom, p.muTo = from.Mu(), to.Mu()
			p.offset = from.LogZ() - to.LogZ() + math.Log(math.Abs(p.factor))
			t.proposals = append(t.proposals, p)
		}
	}
	return t
}

// A sample's random numbers are those of one block for each of its moves and,
// of the stream's upper half, one block for each four moves within a mode.
const (
	moveShift   = 40
	maxSamples  = 1 << moveShift
	normalsHalf = 1 << 63
	strip       = 256 // samples that move together
)

// draws holds a strip's random numbers and proposals.
type draws struct {
	uniforms, normals [4 * strip]float32
	to                [strip]float32
	ratio             [strip]float32 // whose minimum with 1 is the acceptance
	proposal          [strip]uint32
}

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
			if t.config.Order == "random" {
				t.step(x[:n], k[:n], c, first, 2*step, t.across, &d, counts)
				continue
			}
			t.step(x[:n], k[:n], c, first, 2*step, 0, &d, counts)
			if len(t.target.wells) > 1 {
				t.step(x[:n], k[:n], c, first, 2*step+1, 1, &d, counts)
			}
		}
		x, k, first = x[n:], k[n:], first+uint64(n)
	}
}

// step takes move number index, a teleport with probability across. Which kind
// of move comes next and whether it is accepted cannot be predicted, so neither
// is a branch.
func (t *transition) step(x []float32, k []uint8, c *asm.Counter, first uint64, index int, across float32, d *draws, counts *moveCounts) {
	n := len(x)
	asm.Uniforms(d.uniforms[:4*n], c, uint64(index)<<moveShift|first)
	ordinal := index / 2 % 4 // of the normal numbers that are drawn together
	modes, flipping := len(t.target.wells), float32(t.config.Flip)
	sigmas := float64(len(t.config.Sigma))
	k = k[:n]
	for i, v := range x {
		u := (*[4]float32)(d.uniforms[4*i:])
		choice := 0
		if u[1] < flipping {
			choice = 1
		}
		if other := 2 + int(float64(u[1])*float64(modes-1)); u[0] < across {
			choice = other
		}
		choice += int(k[i]) * (modes + 1)
		p := &t.proposals[choice]
		epsilon := t.config.Sigma[int(float64(u[3])*sigmas)] * float64(d.normals[4*i+ordinal])
		to := float32(p.factor*float64(v) + p.noise*epsilon)
		d.proposal[i], d.to[i] = uint32(choice), to
		d.ratio[i] = float32(p.logRatio(float64(v), float64(to)))
	}
	asm.Exp(d.ratio[:n], d.ratio[:n])
	var proposed, accepted uint64 // sixteen bits for each kind of move
	for i, v := range x {
		p := &t.proposals[d.proposal[i]]
		yes := uint32(0)
		if d.uniforms[4*i+2] < d.ratio[i] { // never for NaN
			yes = 1
		}
		proposed += 1 << (16 * p.kind & 63)
		accepted += uint64(yes) << (16 * p.kind & 63)
		from := math.Float32bits(v)
		x[i] = math.Float32frombits(from ^ (from^math.Float32bits(d.to[i]))&-yes)
		k[i] ^= (k[i] ^ p.to) & -uint8(yes)
	}
	for kind := range counts {
		counts[kind].Proposed += proposed >> (16 * kind) & math.MaxUint16
		counts[kind].Accepted += accepted >> (16 * kind) & math.MaxUint16
	}
}
