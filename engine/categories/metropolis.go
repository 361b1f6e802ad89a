package categories

import (
	"fmt"
	"math"
	"sync"

	"github.com/revgen/revgen/engine"
	"github.com/revgen/revgen/engine/rng"
	"github.com/revgen/revgen/engine/sites"
	"github.com/revgen/revgen/engine/spins"
	"github.com/revgen/revgen/engine/spins/hierarchy"
)

// Moves is a kernel in detailed balance with π. A step is a sweep, or proposes another state for one
// site, or relabels all states.
type Moves struct {
	law     *law
	sweep   bool      // steps redraw every site given the others, in order and back
	relabel float64   // probability to relabel all states, if steps are no sweeps
	code    Code      // of the target: which relabellings leave the energy as it is
	words   int       // random words of a step
	states  sync.Pool // of states of a block
}

// NewMoves returns the kernel that a configuration names, at inverse temperature
// fraction·β. An error begins with the key of the configuration that it is about.
func NewMoves(t *Target, c *spins.TransitionConfig, fraction float64) (*Moves, error) {
	l, err := newLaw(t, nil)
	if err != nil {
		return nil, err
	}
	l.setBeta(fraction * t.Beta)
	return l.moves(c)
}

func (l *law) moves(c *spins.TransitionConfig) (*Moves, error) {
	code, symmetric := l.target.Code()
	m := &Moves{law: l, code: code, words: 4}
	m.states.New = func() any {
		state := make([]byte, l.target.N()*block)
		return &state
	}
	switch c.Proposal {
	case spins.Sweeping:
		m.sweep, m.words = true, 2*l.target.N()
	case "single":
	case "mixture":
		if !symmetric {
			return nil, fmt.Errorf("transition.proposal: mixture relabels all states, which a field or a table of this target tells apart; take single or %s", spins.Sweeping)
		}
		if !(c.GlobalFlip >= 0 && c.GlobalFlip <= 1) {
			return nil, fmt.Errorf("transition.global_flip: %v is not a probability", c.GlobalFlip)
		}
		m.relabel = c.GlobalFlip
	default:
		return nil, fmt.Errorf("transition.proposal: %q is for spins; take single, mixture or %s", c.Proposal, spins.Sweeping)
	}
	return m, nil
}

// MixingOf returns the heat-bath sweeps of a target, by inverse temperature.
func MixingOf(t *Target) func(beta float64) (sites.Kernel[byte], error) {
	return func(beta float64) (sites.Kernel[byte], error) {
		target := *t
		target.Beta = beta
		return NewMoves(&target, &spins.TransitionConfig{Proposal: spins.Sweeping}, 1)
	}
}

// BlockSize implements sites.Kernel.
func (m *Moves) BlockSize() int { return block }

// Run implements sites.Kernel.
func (m *Moves) Run(halted func() bool, dst, src []byte, lo, hi, steps int, c *rng.Counter, first uint64, st *engine.Count) {
	n := m.law.target.N()
	m.runBlocks(halted, lo, hi, steps, c, first, st,
		func(state []byte, lo, hi int) { columns(state, src[lo*n:hi*n], n) },
		func(state []byte, lo, hi int) { rows(dst[lo*n:hi*n], state, n, 0) })
}

// runBlocks is Run where read gets the states of a block from configurations lo … hi−1, and write puts
// them back.
func (m *Moves) runBlocks(halted func() bool, lo, hi, steps int, c *rng.Counter, first uint64, st *engine.Count, read, write func(state []byte, lo, hi int)) {
	const stride = 256 // steps between calls of halted
	pooled := m.states.Get().(*[]byte)
	defer m.states.Put(pooled)
	state := *pooled
	for ; lo < hi; lo += block {
		read(state, lo, min(lo+block, hi))
		for done := 0; done < steps && (halted == nil || !halted()); done += stride {
			m.run(state, done, min(steps-done, stride), c, (first+uint64(lo))/block, st)
		}
		write(state, lo, min(lo+block, hi))
	}
}

// MaxSteps returns the number of steps of one call that have random numbers of their own.
func (m *Moves) MaxSteps() int {
	const streamBlocks = sites.MaxSamples / block // blocks that a stream has random words for
	return int(min(math.MaxUint64/(block/4)/streamBlocks/uint64(m.words), math.MaxInt32))
}

// run takes steps first, first+1, … with block number k of a stream, and counts proposals.
func (m *Moves) run(state []byte, first, steps int, stream *rng.Counter, k uint64, count *engine.Count) {
	var w hierarchy.RandomWords
	w.Start(stream, (k*uint64(m.MaxSteps())+uint64(first))*uint64(m.words), math.MaxInt)
	for range steps {
		if m.sweep {
			n := len(m.law.sites)
			for i := range n {
				m.law.draw(&m.law.sites[i], state, w.Next())
			}
			for i := n - 1; i >= 0; i-- {
				m.law.draw(&m.law.sites[i], state, w.Next())
			}
			count.Add(engine.Count{Proposed: block, Accepted: block})
			continue
		}
		m.propose(state, w.Next(), w.Next(), w.Next(), w.Next(), count)
	}
}

// propose takes a Metropolis step of each sample. The words choose the kind of step, the site, its
// new state, and whether that is accepted.
func (m *Moves) propose(state []byte, kind, where, which, accept *[block]uint32, count *engine.Count) {
	l := m.law
	n := uint64(len(l.sites))
	var w [MaxStates]float64
	count.Proposed += block
	for b := range block {
		if float64(kind[b])*0x1p-32 < m.relabel {
			m.relabelStates(state, b, where[b], which[b])
			count.Accepted++
			continue
		}
		c := &l.sites[uint64(where[b])*n>>32].centre
		x := &state[c.site*block+b]
		proposed := (uint64(*x) + 1 + uint64(which[b])*uint64(c.q-1)>>32) % uint64(c.q)
		c.weigh(&w, &l.factors, statesOf(state, b))
		if (float64(accept[b])+0.5)*0x1p-32*w[*x] < w[proposed] {
			*x = byte(proposed)
			count.Accepted++
		}
	}
}

// relabelStates relabels the states of a sample: two of them change places or, where energies
// depend on distances, the circle is rotated and reflected or not.
func (m *Moves) relabelStates(state []byte, b int, first, second uint32) {
	l := m.law
	q := uint64(l.target.MaxQ())
	i, j := byte(uint64(first)*q>>32), byte(uint64(second)*(2*q)>>32)
	for site := range l.sites {
		x := &state[site*block+b]
		if m.code == Distance {
			y := (*x + i) % byte(q)
			if j&1 != 0 {
				y = (byte(q) - y) % byte(q)
			}
			*x = y
			continue
		}
		switch *x {
		case i:
			*x = j / 2
		case j / 2:
			*x = i
		}
	}
}

var _ sites.Kernel[byte] = (*Moves)(nil)
