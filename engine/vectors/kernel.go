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
	numMoves
)

var moveNames = [numMoves]string{walking: "walk", flip: "flip", teleport: "teleport"}

// A proposal is the map x′ = factor·x + shift + noise·ε from one mode to another.
type proposal struct {
	factor, noise    float64
	shift            []float64 // [d]
	logVolume        float64   // ln |∂x′/∂x| = d ln |factor|
	fromMode, toMode uint8
	kind             move
}

// logRatio returns ln [π(s′) |∂x′/∂x| / π(s)], given ln π(s) and ln π(s′). Its minimum with 0 is the
// logarithm of the acceptance α: Green's ratio for proposals that are chosen with the same
// probability on the way back.
func (p *proposal) logRatio(logPi, logNext float64) float64 { return logNext - logPi + p.logVolume }

// A kernel is the Metropolis–Hastings kernel p(s, s′). Without modes it is the paper's "MCMC
// Transition Kernel": each step proposes x′ = x + σε with ε ~ N(0, I) and one of the listed σ,
// drawn independently of x. With modes it is the paper's "Product Kernel and Hybrid MCMC
// Transition". It is immutable.
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
			p := proposal{factor: 1, noise: 1, fromMode: uint8(k), toMode: uint8(k), kind: walking}
			switch {
			case i == int(flip):
				p.factor, p.kind = -1, flip
			case i >= int(teleport):
				p.toMode, p.kind, p.noise = uint8((k+i-1)%m), teleport, 0
			}
			center, scale := placeOf(target, k)
			newCenter, newScale := placeOf(target, int(p.toMode))
			p.factor *= newScale / scale
			p.logVolume = float64(d) * math.Log(math.Abs(p.factor))
			for c := range d {
				p.shift = append(p.shift, newCenter[c]-p.factor*center[c])
			}
			t.proposals = append(t.proposals, p)
		}
	}
	return t
}

// Each sample has random numbers of its own in a stream. Without modes a step takes the normals of row
// step·2³⁶ + sample, and the uniforms of the block of that number in the stream's upper half. With
// modes a move takes the uniforms of block move·2⁴⁰ + sample, and four steps share d blocks of
// normals in the stream's upper half.
const (
	stepShift = 36
	moveShift = 40
	upperHalf = 1 << 63
	strip     = 256 // samples that move together
)

// maxSamples returns how many samples have random numbers of their own.
func (t *kernel) maxSamples() uint64 {
	if t.modes > 0 {
		return 1 << moveShift
	}
	return 1 << stepShift
}

// A mover takes steps of a kernel, and evaluates ln π of states, in one thread.
type mover struct {
	*kernel
	threadTarget Target // what this thread may call
	density      func(dst []float64, x []float32, k []uint8)
	beta         float64     // inverse temperature of the target
	halted       func() bool // ends a run early; nil in training
	uniforms     []float32   // [rows][4]
	acceptIndex  int         // which of a row's four uniforms decides about acceptance
	normals      []float32   // with modes: 4d of each sample, for four steps, [d][strip][4]

	// Of the step under way:
	next           States    // s′
	choice         []uint32  // index of each state's proposal
	logPi, logNext []float64 // β ln π(s), β ln π(s′)
	ratio          []float32 // acceptance probability
}

// newMover makes room for a number of states at once, at most a strip.
func (t *kernel) newMover(rows int) *mover {
	target := threadTarget(t.target)
	m := &mover{
		kernel: t, threadTarget: target, density: densityOf(target), beta: 1,
		uniforms: make([]float32, 4*rows), next: newStates(rows, t.dim, t.modes), choice: make([]uint32, rows),
		logPi: make([]float64, rows), logNext: make([]float64, rows), ratio: make([]float32, rows),
	}
	if t.modes > 0 {
		m.acceptIndex, m.normals = 2, make([]float32, t.dim*4*strip)
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
	default: // the density without modes is in float32
		for i, v := range dst {
			dst[i] = float64(float32(v) * float32(m.beta))
		}
	}
}

// LogDensity sets dst to ln π of up to a piece's states.
func (m *mover) LogDensity(dst []float64, s States) { m.density(dst, s.X, s.K) }

// ensureLogPi sets logPi to ln π of up to a piece's states, unless that is known. It begins with NaN if
// it is not.
func (m *mover) ensureLogPi(logPi []float64, s States) {
	if math.IsNaN(logPi[0]) {
		m.LogDensity(logPi, s)
	}
}

// run takes steps with the states of samples first, first+1, … of the stream c, in place. Every sample
// has random numbers of its own, so the bits do not depend on how a batch is cut. A run that is
// halted leaves states of no use. It allocates nothing.
func (m *mover) run(s States, steps int, c *rng.Counter, first uint64) (count engine.Count) {
	rows := len(m.logPi)
	for lo := 0; lo < s.Len(); lo += rows {
		part := s.Part(lo, min(lo+rows, s.Len()))
		m.setLogPi(part)
		if !m.advance(part, steps, c, first+uint64(lo), &count) {
			break
		}
	}
	return count
}

// resume is run of up to a strip's states with their ln π, which may be unknown as in ensureLogPi. It
// sets logPi to ln π of the states that it reaches.
func (m *mover) resume(logPi []float64, s States, steps int, c *rng.Counter, first uint64) {
	m.ensureLogPi(logPi, s)
	copy(m.logPi, logPi)
	m.advance(s, steps, c, first, new(engine.Count))
	copy(logPi, m.logPi)
}

// setLogPi sets m.logPi to β ln π of up to a strip's states, and returns it.
func (m *mover) setLogPi(s States) []float64 {
	logPi := m.logPi[:s.Len()]
	m.logDensity(logPi, s)
	return logPi
}

// advance is run of states whose β ln π m.logPi begins with. It keeps m.logPi up to date, and returns
// false if it was halted.
func (m *mover) advance(s States, steps int, c *rng.Counter, first uint64, count *engine.Count) bool {
	for step := range steps {
		if m.halted != nil && m.halted() {
			return false
		}
		if m.modes == 0 {
			m.walk(s, c, uint64(step)<<stepShift|first)
			m.acceptOrReject(s, count)
			continue
		}
		if step%4 == 0 {
			for j := range m.dim {
				asm.Normals(m.normals[j*4*strip:][:4*s.Len()], c, upperHalf|uint64(step/4*m.dim+j)<<moveShift|first)
			}
		}
		across, moves := m.across, 1
		if m.config.Order != "random" {
			across, moves = 0, min(m.modes, 2) // a move within the mode, and then one across
		}
		for i := range moves {
			m.propose(s, c, first, 2*step+i, max(across, float32(i)))
			m.acceptOrReject(s, count)
		}
	}
	return true
}

// walk proposes x′ = x + σε.
func (m *mover) walk(s States, c *rng.Counter, at uint64) {
	next, uniforms := m.next.X[:len(s.X)], m.uniforms[:4*s.Len()]
	rng.Normals(next, m.dim, c, at)
	asm.Uniforms(uniforms, c, upperHalf|at)
	m.shift(next, s.X, uniforms)
}

// shift turns the normals ε in y into x + σε. A row's second uniform number chooses σ.
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

// propose proposes move number index of a sample, a teleport with probability across. The kind of move
// cannot be predicted, so it is chosen without branches.
func (m *mover) propose(s States, c *rng.Counter, first uint64, index int, across float32) {
	n, d := s.Len(), m.dim
	uniforms, x, next := m.uniforms[:4*n], s.X, m.next.X[:n*d]
	asm.Uniforms(uniforms, c, uint64(index)<<moveShift|first)
	ordinal := index / 2 % 4 * d // of the move's first normal number among the 4d of a sample
	flipping, sigmas := float32(m.config.Flip), float64(len(m.config.Sigma))
	for i, k := range s.K {
		u := (*[4]float32)(uniforms[4*i:])
		choice := 0
		if u[1] < flipping {
			choice = 1
		}
		if teleport := 2 + int(float64(u[1])*float64(m.modes-1)); u[0] < across {
			choice = teleport
		}
		choice += int(k) * (m.modes + 1)
		p := &m.proposals[choice]
		sigma := p.noise * m.config.Sigma[int(float64(u[3])*sigmas)]
		for j, shift := range p.shift {
			at := uint(ordinal + j)
			epsilon := sigma * float64(m.normals[at/4*(4*strip)+4*uint(i)+at%4])
			next[i*d+j] = float32(p.factor*float64(x[i*d+j]) + shift + epsilon)
		}
		m.next.K[i], m.choice[i] = p.toMode, uint32(choice)
	}
}

// acceptOrReject makes the proposed moves that are accepted.
func (m *mover) acceptOrReject(s States, count *engine.Count) {
	m.logDensity(m.logNext[:s.Len()], m.next.Part(0, s.Len()))
	m.accept(s, m.acceptance(s.Len()), count)
}

// acceptance returns min{1, π(s′) |∂s′/∂s| / π(s)} of the proposals of the first rows. The minimum is
// taken before the exponential, which therefore cannot overflow. Moves from outside the support
// are accepted if they lead into it. An undefined ratio is NaN, which accept rejects.
func (m *mover) acceptance(rows int) []float32 {
	ratio := m.ratio[:rows]
	for i, logNext := range m.logNext[:rows] {
		ratio[i] = float32(min(0, m.proposals[m.choice[i]].logRatio(m.logPi[i], logNext)))
	}
	asm.Exp(ratio, ratio)
	return ratio
}

// accept makes the moves whose uniform number is below their ratio.
func (m *mover) accept(s States, ratio []float32, count *engine.Count) {
	d := m.dim
	var accepted uint64
	for i, p := range ratio {
		if !(m.uniforms[4*i+m.acceptIndex] < p) { // never for NaN
			continue
		}
		accepted++
		copy(s.X[i*d:][:d], m.next.X[i*d:])
		m.logPi[i] = m.logNext[i]
		if s.K != nil {
			s.K[i] = m.next.K[i]
		}
	}
	count.Add(engine.Count{Proposed: uint64(len(ratio)), Accepted: accepted})
}
