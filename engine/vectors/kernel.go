package vectors

import (
	"math"

	"github.com/revgen/revgen/asm"
	"github.com/revgen/revgen/engine"
	"github.com/revgen/revgen/engine/rng"
	"github.com/revgen/revgen/internal/number"
)

// A move is one of the proposals of a kernel.
type move uint8

const (
	walking  move = iota // x′ = x + ε in the same mode
	flip                 // x′ = 2c_k − x + ε in the same mode
	teleport             // k′ ≠ k uniform, x′ = c_k′ + (σ_k′/σ_k)(x − c_k)
	moves                // number of proposals
)

var moveNames = [moves]string{walking: "walk", flip: "flip", teleport: "teleport"}

// A proposal is the map x → factor·x + shift + noise·ε from one mode to another.
type proposal struct {
	factor, noise float64
	shift         []float64 // [d]
	logVolume     float64   // ln |∂x′/∂x| = d ln |factor|
	from, to      uint8
	kind          move
}

// logRatio returns ln [π(x′, to) |∂x′/∂x| / π(x, from)], given the densities'
// logarithms. Its minimum with 0 is the logarithm of the acceptance α: Green's ratio
// for a choice among the proposals that is as likely on the way back.
func (p *proposal) logRatio(current, next float64) float64 { return next - current + p.logVolume }

// A kernel is that of Metropolis–Hastings, p(s, s′). Without modes it is that of the
// paper's "MCMC Transition Kernel": each step proposes x′ = x + σε with ε ~ N(0, I) and one
// of the listed σ, drawn independently of x. With modes it is that of "Product Kernel and
// Hybrid MCMC Transition". It is immutable.
type kernel struct {
	target     Target
	config     TransitionConfig
	dim, modes int
	sigma      []float32
	across     float32 // probability of a teleport in random order

	// The proposals of mode k begin at k·(M+1): walk, flip, and teleports to the
	// modes k+1, …, k+M−1 modulo M. Without modes there is the walk alone.
	proposals []proposal
}

func newKernel(target Target, c TransitionConfig) *kernel {
	m, d := modesOf(target), target.Dim()
	t := &kernel{target: target, config: c, dim: d, modes: m, sigma: number.Narrow(c.Sigma), across: float32(c.Across)}
	if m == 0 {
		t.proposals = make([]proposal, 1)
	}
	if m == 1 {
		t.across = 0 // there is no other mode
	}
	for k := range m {
		for i := range m + 1 {
			p := proposal{factor: 1, noise: 1, from: uint8(k), to: uint8(k), kind: walking}
			switch {
			case i == int(flip):
				p.factor, p.kind = -1, flip
			case i >= int(teleport):
				p.to, p.kind, p.noise = uint8((k+i-1)%m), teleport, 0
			}
			from, width := placeOf(target, k)
			to, newWidth := placeOf(target, int(p.to))
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

// A sample's random numbers are, with modes, those of one block for each of its moves and,
// of the stream's upper half, d blocks for each four moves within a mode. Without modes they
// are, for each step, the normals of one row of its stream and, of the stream's upper half,
// the uniforms of one block; rows are numbered step·2³⁶ + sample.
const (
	stepShift = 36
	moveShift = 40
	upperHalf = 1 << 63
	strip     = 256 // samples that move together
)

// most returns how many samples have random numbers of their own.
func (t *kernel) most() uint64 {
	if t.modes > 0 {
		return 1 << moveShift
	}
	return 1 << stepShift
}

// A mover takes steps of a kernel, and looks at states, in one thread.
type mover struct {
	*kernel
	own           Target
	density       func(dst []float64, x []float32, k []uint8) // ln π of states, together up to so many rows
	uniforms      []float32                                   // [rows][4]
	decides       int                                         // which of the four decides about acceptance
	normals       []float32                                   // with modes, [d][strip][4]: of a sample, 4d for four moves
	to            States                                      // s′, [rows]
	choice        []uint32                                    // of the proposals
	current, next []float64                                   // ln π(s), ln π(s′)
	ratio         []float32                                   // acceptance probability
	beta          float64                                     // inverse temperature of the target
	halted        func() bool                                 // ends a run early; nil in training
}

// newMover makes room for up to so many states at once, at most a strip.
func (t *kernel) newMover(rows int) *mover {
	target := own(t.target)
	m := &mover{
		kernel: t, own: target, density: densityOf(target), beta: 1,
		uniforms: make([]float32, 4*rows), to: newStates(rows, t.dim, t.modes), choice: make([]uint32, rows),
		current: make([]float64, rows), next: make([]float64, rows), ratio: make([]float32, rows),
	}
	if t.modes > 0 {
		m.decides, m.normals = 2, make([]float32, t.dim*4*strip)
	}
	return m
}

// logDensity sets dst to β ln π of up to a strip's states.
func (m *mover) logDensity(dst []float64, s States) {
	m.density(dst, s.X, s.K)
	switch {
	case m.beta == 1:
	case m.modes > 0:
		for i := range dst {
			dst[i] *= m.beta
		}
	default: // the density of vectors alone is in float32
		for i, v := range dst {
			dst[i] = float64(float32(v) * float32(m.beta))
		}
	}
}

// LogDensity sets dst to ln π of up to a piece's states.
func (m *mover) LogDensity(dst []float64, s States) { m.density(dst, s.X, s.K) }

// know is LogDensity, unless ln π of the states is known already: it begins with NaN if not.
func (m *mover) know(logPi []float64, s States) {
	if math.IsNaN(logPi[0]) {
		m.LogDensity(logPi, s)
	}
}

// run takes the given number of steps from states, in place, whose indices in the stream c
// start at first. Every sample's random numbers are its own, so the same bits result however
// a batch is cut. A run that is halted leaves states of no use. It allocates nothing.
func (m *mover) run(s States, steps int, c *rng.Counter, first uint64) (count engine.Count) {
	rows := len(m.current)
	for lo := 0; lo < s.Len(); lo += rows {
		part := s.Part(lo, min(lo+rows, s.Len()))
		m.start(part)
		if !m.advance(part, steps, c, first+uint64(lo), &count) {
			break
		}
	}
	return count
}

// keep is run of up to a strip's states whose ln π may be known, as know has it, and then is.
func (m *mover) keep(logPi []float64, s States, steps int, c *rng.Counter, first uint64) {
	m.know(logPi, s)
	copy(m.current, logPi)
	m.advance(s, steps, c, first, new(engine.Count))
	copy(logPi, m.current)
}

// start returns β ln π of up to a strip's states, from which advance goes on and which it
// keeps up.
func (m *mover) start(s States) (current []float64) {
	current = m.current[:s.Len()]
	m.logDensity(current, s)
	return current
}

// advance is run of the first of the states that start has seen. It reports whether it was
// not halted.
func (m *mover) advance(s States, steps int, c *rng.Counter, first uint64, count *engine.Count) bool {
	for step := range steps {
		if m.halted != nil && m.halted() {
			return false
		}
		if m.modes == 0 {
			m.walk(s, c, uint64(step)<<stepShift|first)
			m.settle(s, count)
			continue
		}
		if step%4 == 0 {
			for j := range m.dim {
				asm.Normals(m.normals[j*4*strip:][:4*s.Len()], c, upperHalf|uint64(step/4*m.dim+j)<<moveShift|first)
			}
		}
		across, orders := m.across, 1
		if m.config.Order != "random" {
			across, orders = 0, min(m.modes, 2) // a move within the mode, and then one across
		}
		for i := range orders {
			m.propose(s, c, first, 2*step+i, max(across, float32(i)))
			m.settle(s, count)
		}
	}
	return true
}

// walk proposes x′ = x + σε.
func (m *mover) walk(s States, c *rng.Counter, at uint64) {
	to, uniforms := m.to.X[:len(s.X)], m.uniforms[:4*s.Len()]
	rng.Normals(to, m.dim, c, at)
	asm.Uniforms(uniforms, c, upperHalf|at)
	m.shift(to, s.X, uniforms)
}

// shift turns the normals ε in y into x + σε.
func (t *kernel) shift(y, x, uniforms []float32) {
	d := t.dim
	sigma, scales := t.sigma[0], float64(len(t.sigma))
	for r := 0; r*d < len(x); r++ {
		if scales > 1 {
			sigma = t.sigma[int(float64(uniforms[4*r+1])*scales)]
		}
		for i, v := range x[r*d : (r+1)*d] {
			y[r*d+i] = v + sigma*y[r*d+i]
		}
	}
}

// propose proposes move number index, a teleport with probability across. Which kind
// of move comes next cannot be predicted, so it is no branch.
func (m *mover) propose(s States, c *rng.Counter, first uint64, index int, across float32) {
	n, d := s.Len(), m.dim
	uniforms, x, to := m.uniforms[:4*n], s.X, m.to.X[:n*d]
	asm.Uniforms(uniforms, c, uint64(index)<<moveShift|first)
	ordinal := index / 2 % 4 * d // of the normal numbers that are drawn together
	flipping, sigmas := float32(m.config.Flip), float64(len(m.config.Sigma))
	for i, k := range s.K {
		u := (*[4]float32)(uniforms[4*i:])
		choice := 0
		if u[1] < flipping {
			choice = 1
		}
		if other := 2 + int(float64(u[1])*float64(m.modes-1)); u[0] < across {
			choice = other
		}
		choice += int(k) * (m.modes + 1)
		p := &m.proposals[choice]
		sigma := p.noise * m.config.Sigma[int(float64(u[3])*sigmas)]
		for j, shift := range p.shift {
			at := uint(ordinal + j)
			epsilon := sigma * float64(m.normals[at/4*(4*strip)+4*uint(i)+at%4])
			to[i*d+j] = float32(p.factor*float64(x[i*d+j]) + shift + epsilon)
		}
		m.to.K[i], m.choice[i] = p.to, uint32(choice)
	}
}

// settle accepts proposals or not.
func (m *mover) settle(s States, count *engine.Count) {
	m.logDensity(m.next[:s.Len()], m.to.Part(0, s.Len()))
	m.accept(s, m.acceptance(s.Len()), count)
}

// acceptance returns min{1, π(s′) |∂s′/∂s| / π(s)} of the proposals of some states. The
// minimum comes before the exponential, which therefore cannot overflow. Moves from outside
// the support are accepted if they lead into it; where the ratio is undefined it is NaN,
// below which no uniform number is.
func (m *mover) acceptance(rows int) []float32 {
	ratio := m.ratio[:rows]
	for i, next := range m.next[:rows] {
		ratio[i] = float32(min(0, m.proposals[m.choice[i]].logRatio(m.current[i], next)))
	}
	asm.Exp(ratio, ratio)
	return ratio
}

// accept makes the moves whose uniform number is below their ratio.
func (m *mover) accept(s States, ratio []float32, count *engine.Count) {
	d := m.dim
	var accepted uint64
	for i, p := range ratio {
		if !(m.uniforms[4*i+m.decides] < p) { // never for NaN
			continue
		}
		accepted++
		copy(s.X[i*d:][:d], m.to.X[i*d:])
		m.current[i] = m.next[i]
		if s.K != nil {
			s.K[i] = m.to.K[i]
		}
	}
	count.Add(engine.Count{Proposed: uint64(len(ratio)), Accepted: accepted})
}
