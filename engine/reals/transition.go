package reals

import (
	"math"

	"github.com/revgen/revgen/asm"
	"github.com/revgen/revgen/engine"
	"github.com/revgen/revgen/engine/rng"
	"github.com/revgen/revgen/engine/vectors"
	"github.com/revgen/revgen/internal/number"
)

// A transition is the Metropolis kernel of the paper's "MCMC Transition
// Kernel": each step proposes x′ = x + σε with ε ~ N(0, I) and one of the
// listed σ, drawn independently of x, so the proposal is symmetric, and accepts
// with probability min{1, π(x′)/π(x)}. It is immutable.
type transition struct {
	target Target
	dim    int
	sigma  []float32
}

func newTransition(t Target, c TransitionConfig) *transition {
	return &transition{target: t, dim: t.Dim(), sigma: number.Narrow(c.Sigma)}
}

// A sample's random numbers are, for each step, the normals of one row of its
// stream and, of the stream's upper half, the uniforms of one block: the first
// decides about acceptance, the second about σ. Rows are numbered
// step·2³⁶ + sample.
const (
	stepShift    = 36
	maxSamples   = 1 << stepShift
	uniformsHalf = 1 << 63
)

// moveScratch is what the moves of a number of rows need.
type moveScratch struct {
	transition           *transition
	proposal, uniforms   []float32
	current, next, ratio []float32 // ln π(x), ln π(x′), acceptance probability
	target               Target
	beta                 float64     // inverse temperature of the target
	halted               func() bool // ends a run early; nil in training
}

func (t *transition) newScratch(rows int) *moveScratch {
	return &moveScratch{
		transition: t,
		proposal:   make([]float32, rows*t.dim),
		uniforms:   make([]float32, 4*rows),
		current:    make([]float32, rows),
		next:       make([]float32, rows),
		ratio:      make([]float32, rows),
		target:     own(t.target),
		beta:       1,
	}
}

// logDensity sets dst to β ln π of the rows of x.
func (s *moveScratch) logDensity(dst, x []float32) {
	s.target.LogDensity(dst, x)
	if s.beta != 1 {
		for r := range dst {
			dst[r] *= float32(s.beta)
		}
	}
}

// Run implements vectors.Mover.
func (s *moveScratch) Run(states vectors.States, steps int, c *rng.Counter, first uint64) {
	s.transition.run(states.X, steps, c, first, s)
}

// LogDensity implements vectors.Mover.
func (s *moveScratch) LogDensity(dst []float64, states vectors.States) {
	narrow := s.current[:len(dst)]
	s.target.LogDensity(narrow, states.X)
	for i, v := range narrow {
		dst[i] = float64(v)
	}
}

// Observe implements vectors.Mover.
func (s *moveScratch) Observe(dst []float64, stride int, states vectors.States) {
	s.target.(Observed).Observe(dst, stride, states.X)
}

// run takes steps from the states x, in place.
func (t *transition) run(x []float32, steps int, c *asm.Counter, first uint64, s *moveScratch) engine.Count {
	s.start(x)
	return t.walk(x, steps, c, first, s)
}

// start makes the states x, [rows][d], those that a walk begins at, and returns their
// β ln π, which the walk keeps up.
func (s *moveScratch) start(x []float32) (current []float32) {
	current = s.current[:len(x)/s.transition.dim]
	s.logDensity(current, x)
	return current
}

// walk takes the given number of steps from the first of the states that start has seen,
// x, [rows][d], in place, whose indices in the stream c start at first. The random numbers
// of a state are its own, so that the same bits result however a batch is cut. A walk that
// is halted leaves states of no use. It allocates nothing.
func (t *transition) walk(x []float32, steps int, c *asm.Counter, first uint64, s *moveScratch) engine.Count {
	d := t.dim
	rows := len(x) / d
	proposal, uniforms := s.proposal[:rows*d], s.uniforms[:4*rows]
	current, next, ratio := s.current[:rows], s.next[:rows], s.ratio[:rows]
	count := engine.Count{Proposed: uint64(rows * steps)}
	for step := range steps {
		if s.halted != nil && s.halted() {
			break
		}
		at := uint64(step)<<stepShift | first
		rng.Normals(proposal, d, c, at)
		asm.Uniforms(uniforms, c, uniformsHalf|at)
		t.propose(proposal, x, uniforms)
		s.logDensity(next, proposal)
		acceptance(ratio, current, next)
		if d <= fewCoordinates {
			count.Accepted += acceptFew(x, current, proposal, next, ratio, uniforms)
			continue
		}
		for r, p := range ratio {
			if uniforms[4*r] < p {
				copy(x[r*d:(r+1)*d], proposal[r*d:])
				current[r] = next[r]
				count.Accepted++
			}
		}
	}
	return count
}

// fewCoordinates is up to how many coordinates acceptFew is faster than a branch,
// which is mispredicted in a good part of the moves.
const fewCoordinates = 4

// acceptFew makes the moves whose uniform number is below their ratio, by masks, and
// returns how many there are. Numbers from 0 to 1 are ordered as their bits are; a ratio
// that is NaN has bits above those of 1, or the sign.
func acceptFew(x, current, proposal, next, ratio, uniforms []float32) (accepted uint64) {
	d := len(x) / len(ratio)
	one := int32(math.Float32bits(1))
	take := func(from, to float32, mask uint32) float32 {
		old := math.Float32bits(from)
		return math.Float32frombits(old ^ (old^math.Float32bits(to))&mask)
	}
	for r, p := range ratio {
		bits := int32(math.Float32bits(p))
		mask := uint32((int32(math.Float32bits(uniforms[4*r]))-bits)>>31) &^ uint32((one-bits)>>31)
		row, to := x[r*d:][:d], proposal[r*d:][:d]
		for i, v := range row {
			row[i] = take(v, to[i], mask)
		}
		current[r] = take(current[r], next[r], mask)
		accepted += uint64(mask & 1)
	}
	return accepted
}

// propose turns the normals ε in y into x + σε.
func (t *transition) propose(y, x, uniforms []float32) {
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

// acceptance sets ratio to min{1, π(x′)/π(x)} given the densities' logarithms.
// The minimum comes before the exponential, which therefore cannot overflow.
// Moves from outside the support of float32 are accepted if they lead into it;
// where the ratio is undefined it is NaN, below which no uniform number is.
func acceptance(ratio, current, next []float32) {
	for r := range ratio {
		ratio[r] = min(0, next[r]-current[r])
	}
	asm.Exp(ratio, ratio)
}
