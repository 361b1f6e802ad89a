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

// Moves are a reversible step of a block's samples, in detailed balance with π.
type Moves struct {
	law *law
	// sweep redraws every site given the others, in order and back. Otherwise a step
	// proposes another state for a site, or with a probability to relabel all states.
	sweep   bool
	relabel float64
	code    Code // of what relabelling may do
	draws   int  // random words of a step
	rooms   sync.Pool
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
	code, even := l.target.Code()
	m := &Moves{law: l, code: code, draws: 4}
	m.rooms.New = func() any {
		state := make([]byte, l.target.N()*block)
		return &state
	}
	switch c.Proposal {
	case spins.Sweeping:
		m.sweep, m.draws = true, 2*l.target.N()
	case "single":
	case "mixture":
		if !even {
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

// MixingOf returns heat-bath sweeps of a target at any inverse temperature.
func MixingOf(t *Target) func(beta float64) (sites.Kernel[byte], error) {
	return func(beta float64) (sites.Kernel[byte], error) {
		at := *t
		at.Beta = beta
		return NewMoves(&at, &spins.TransitionConfig{Proposal: spins.Sweeping}, 1)
	}
}

// Together implements sites.Kernel.
func (m *Moves) Together() int { return block }

// Run implements sites.Kernel.
func (m *Moves) Run(halted func() bool, dst, src []byte, lo, hi, steps int, c *rng.Counter, first uint64, st *engine.Count) {
	n := m.law.target.N()
	m.blocks(halted, lo, hi, steps, c, first, st,
		func(state []byte, lo, hi int) { columns(state, src[lo*n:hi*n], n) },
		func(state []byte, lo, hi int) { rows(dst[lo*n:hi*n], state, n, 0) })
}

// blocks is Run of configurations that are read to the states of a block, and written.
func (m *Moves) blocks(halted func() bool, lo, hi, steps int, c *rng.Counter, first uint64, st *engine.Count, read, write func(state []byte, lo, hi int)) {
	const slice = 256 // steps between looks
	room := m.rooms.Get().(*[]byte)
	defer m.rooms.Put(room)
	state := *room
	for ; lo < hi; lo += block {
		read(state, lo, min(lo+block, hi))
		for left := steps; left > 0 && (halted == nil || !halted()); left -= slice {
			m.run(state, steps-left, min(left, slice), c, (first+uint64(lo))/block, st)
		}
		write(state, lo, min(lo+block, hi))
	}
}

// mostBlocks is how many blocks of samples a stream has random words for.
const mostBlocks = sites.MaxSamples / block

// MaxSteps returns the number of steps of one call that have random numbers of their own.
func (m *Moves) MaxSteps() int {
	return int(min(math.MaxUint64/(block/4)/mostBlocks/uint64(m.draws), math.MaxInt32))
}

// run takes steps first, first+1, … of a stream with its block number k and counts proposals.
func (m *Moves) run(state []byte, first, steps int, stream *rng.Counter, k uint64, count *engine.Count) {
	var w hierarchy.Words
	w.Start(stream, (k*uint64(m.MaxSteps())+uint64(first))*uint64(m.draws), math.MaxInt)
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

// propose takes a Metropolis step of each sample.
func (m *Moves) propose(state []byte, kind, where, which, accept *[block]uint32, count *engine.Count) {
	l := m.law
	n := uint64(len(l.sites))
	var w [MostStates]float64
	count.Proposed += block
	for b := range block {
		if float64(kind[b])*0x1p-32 < m.relabel {
			m.rename(state, b, where[b], which[b])
			count.Accepted++
			continue
		}
		c := &l.sites[uint64(where[b])*n>>32].centre
		x := &state[c.site*block+b]
		other := (uint64(*x) + 1 + uint64(which[b])*uint64(c.q-1)>>32) % uint64(c.q)
		c.weigh(&w, &l.factors, statesOf(state, b))
		if (float64(accept[b])+0.5)*0x1p-32*w[*x] < w[other] {
			*x = byte(other)
			count.Accepted++
		}
	}
}

// rename relabels the states of a sample: two of them change places or, where energies
// depend on distances, all go round or are reflected.
func (m *Moves) rename(state []byte, b int, first, second uint32) {
	l := m.law
	q := uint64(l.target.Most())
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
