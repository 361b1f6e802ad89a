package mixed

import (
	"math"

	"github.com/revgen/revgen/asm"
	"github.com/revgen/revgen/engine"
	"github.com/revgen/revgen/engine/rng"
	"github.com/revgen/revgen/engine/vectors"
)

// A move is one of the proposals of the transition kernel.
type move int

const (
	walk     move = iota // x′ = x + ε in the same mode
	flip                 // x′ = 2c_k − x + ε in the same mode
	teleport             // k′ ≠ k uniform, x′ = c_k′ + (σ_k′/σ_k)(x − c_k)
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

// A proposal is the map x → factor·x + shift + noise·ε from one mode to another.
type proposal struct {
	factor, noise  float64
	shift          []float64 // [d]
	logVolume      float64   // ln |∂x′/∂x| = d ln |factor|
	from, to, kind uint8
}

// logRatio returns ln [π(x′, to) |∂x′/∂x| / π(x, from)], given the densities'
// logarithms. Its minimum with 0 is the logarithm of the acceptance α: Green's ratio
// for a choice among the proposals that is as likely on the way back.
func (p *proposal) logRatio(current, next float64) float64 { return next - current + p.logVolume }

// A transition is the Metropolis–Hastings kernel p(s, s′) of the paper's
// "Product Kernel and Hybrid MCMC Transition". It is immutable.
type transition struct {
	target     Target
	config     TransitionConfig
	dim, modes int
	across     float32 // probability of a teleport in random order

	// The proposals of mode k begin at k·(M+1): walk, flip, and teleports to the
	// modes k+1, …, k+M−1 modulo M.
	proposals []proposal
}

func newTransition(target Target, c TransitionConfig) *transition {
	m, d := target.Modes(), target.Dim()
	t := &transition{target: target, config: c, dim: d, modes: m, across: float32(c.Across)}
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
				p.to, p.kind, p.noise = uint8((k+i-1)%m), uint8(teleport), 0
			}
			from, width := place(target, k)
			to, newWidth := place(target, int(p.to))
			p.factor *= newWidth / width
			p.logVolume = float64(d) * math.Log(math.Abs(p.factor))
			for c := range d {
				p.shift = append(p.shift, to[c]-p.factor*from[c])
			}
			t.proposals = append(t.proposals, p)
		}
	}
	return t
}

// A sample's random numbers are those of one block for each of its moves and,
// of the stream's upper half, d blocks for each four moves within a mode.
const (
	moveShift   = 40
	maxSamples  = 1 << moveShift
	normalsHalf = 1 << 63
	strip       = 256 // samples that move together
)

// moveScratch holds a strip's random numbers and proposals.
type moveScratch struct {
	transition    *transition
	target        Target
	density       func(dst []float64, x []float32, k []uint8) // ln π of up to a strip's states
	uniforms      []float32                                   // [strip][4]
	normals       []float32                                   // [d][strip][4]: of a sample, 4d for four moves
	to            []float32                                   // x′, [strip][d]
	mode          []uint8                                     // k′
	choice        []uint32                                    // of the proposals
	current, next []float64                                   // ln π(x, k), ln π(x′, k′)
	ratio         []float32                                   // whose minimum with 1 is the acceptance
	beta          float64                                     // inverse temperature of the target
	halted        func() bool                                 // ends a run early; nil in training
}

func (t *transition) newScratch() *moveScratch {
	target := own(t.target)
	return &moveScratch{
		transition: t, target: target, density: densityOf(target),
		uniforms: make([]float32, 4*strip), normals: make([]float32, t.dim*4*strip),
		to: make([]float32, strip*t.dim), mode: make([]uint8, strip), choice: make([]uint32, strip),
		current: make([]float64, strip), next: make([]float64, strip), ratio: make([]float32, strip), beta: 1,
	}
}

// logDensity sets dst to β ln π of up to a strip's states.
func (s *moveScratch) logDensity(dst []float64, x []float32, k []uint8) {
	s.density(dst, x, k)
	if s.beta != 1 {
		for i := range dst {
			dst[i] *= s.beta
		}
	}
}

// Run implements vectors.Mover.
func (s *moveScratch) Run(states vectors.States, steps int, c *rng.Counter, first uint64) {
	var counts moveCounts
	s.transition.run(states.X, states.K, steps, c, first, s, &counts)
}

// LogDensity implements vectors.Mover.
func (s *moveScratch) LogDensity(dst []float64, states vectors.States) {
	s.density(dst, states.X, states.K)
}

// Observe implements vectors.Mover.
func (s *moveScratch) Observe(dst []float64, stride int, states vectors.States) {
	s.target.(Observed).Observe(dst, stride, states.X, states.K)
}

// begin sets ln π of up to a strip's states, from which advance goes on.
func (s *moveScratch) begin(states vectors.States) {
	s.logDensity(s.current[:len(states.K)], states.X, states.K)
}

// subtract takes β ln π of the states that it has come to from each of dst.
func (s *moveScratch) subtract(dst []float64) {
	for i := range dst {
		dst[i] -= s.current[i]
	}
}

// run takes the given number of steps from the states (x, k), in place, x row-major
// [len(k)][d], whose indices in the stream c start at first. Every sample's random
// numbers are its own, so the same bits result however a batch is cut. A run that is
// halted leaves states of no use. It allocates nothing.
func (t *transition) run(x []float32, k []uint8, steps int, c *asm.Counter, first uint64, s *moveScratch, counts *moveCounts) {
	for len(k) > 0 {
		n := min(strip, len(k))
		s.logDensity(s.current[:n], x[:n*t.dim], k[:n])
		if !t.advance(x[:n*t.dim], k[:n], steps, c, first, s, counts) {
			return
		}
		x, k, first = x[n*t.dim:], k[n:], first+uint64(n)
	}
}

// advance is run of a strip whose ln π is known, and leaves ln π of where it ends. It
// reports whether it was not halted.
func (t *transition) advance(x []float32, k []uint8, steps int, c *asm.Counter, first uint64, s *moveScratch, counts *moveCounts) bool {
	for step := range steps {
		if s.halted != nil && s.halted() {
			return false
		}
		if step%4 == 0 {
			for j := range t.dim {
				asm.Normals(s.normals[j*4*strip:][:4*len(k)], c, normalsHalf|uint64(step/4*t.dim+j)<<moveShift|first)
			}
		}
		if t.config.Order == "random" {
			t.step(x, k, c, first, 2*step, t.across, s, counts)
			continue
		}
		t.step(x, k, c, first, 2*step, 0, s, counts)
		if t.modes > 1 {
			t.step(x, k, c, first, 2*step+1, 1, s, counts)
		}
	}
	return true
}

// step takes move number index, a teleport with probability across. Which kind
// of move comes next and whether it is accepted cannot be predicted, so neither
// is a branch.
func (t *transition) step(x []float32, k []uint8, c *asm.Counter, first uint64, index int, across float32, s *moveScratch, counts *moveCounts) {
	n, d := len(k), t.dim
	uniforms, ratio, next, to, mode := s.uniforms[:4*n], s.ratio[:n], s.next[:n], s.to[:n*d], s.mode[:n]
	asm.Uniforms(uniforms, c, uint64(index)<<moveShift|first)
	ordinal := index / 2 % 4 * d // of the normal numbers that are drawn together
	flipping, sigmas := float32(t.config.Flip), float64(len(t.config.Sigma))
	for i := range k {
		u := (*[4]float32)(uniforms[4*i:])
		choice := 0
		if u[1] < flipping {
			choice = 1
		}
		if other := 2 + int(float64(u[1])*float64(t.modes-1)); u[0] < across {
			choice = other
		}
		choice += int(k[i]) * (t.modes + 1)
		p := &t.proposals[choice]
		sigma := p.noise * t.config.Sigma[int(float64(u[3])*sigmas)]
		for j, shift := range p.shift {
			at := uint(ordinal + j)
			epsilon := sigma * float64(s.normals[at/4*(4*strip)+4*uint(i)+at%4])
			to[i*d+j] = float32(p.factor*float64(x[i*d+j]) + shift + epsilon)
		}
		mode[i], s.choice[i] = p.to, uint32(choice)
	}
	s.logDensity(next, to, mode)
	for i, v := range next {
		ratio[i] = float32(t.proposals[s.choice[i]].logRatio(s.current[i], v))
	}
	asm.Exp(ratio, ratio)
	var proposed, accepted uint64 // sixteen bits for each kind of move
	for i, v := range next {
		yes := uint32(0)
		if uniforms[4*i+2] < ratio[i] { // never for NaN
			yes = 1
		}
		kind := t.proposals[s.choice[i]].kind
		proposed += 1 << (16 * kind & 63)
		accepted += uint64(yes) << (16 * kind & 63)
		for j := i * d; j < (i+1)*d; j++ {
			from := math.Float32bits(x[j])
			x[j] = math.Float32frombits(from ^ (from^math.Float32bits(to[j]))&-yes)
		}
		from := math.Float64bits(s.current[i])
		s.current[i] = math.Float64frombits(from ^ (from^math.Float64bits(v))&-uint64(yes))
		k[i] ^= (k[i] ^ mode[i]) & -uint8(yes)
	}
	for kind := range counts {
		counts[kind].Proposed += proposed >> (16 * kind) & math.MaxUint16
		counts[kind].Accepted += accepted >> (16 * kind) & math.MaxUint16
	}
}
