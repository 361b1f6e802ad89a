package categories

import (
	"context"
	"errors"
	"fmt"
	"math"

	"github.com/revgen/revgen/asm"
	"github.com/revgen/revgen/engine"
	"github.com/revgen/revgen/engine/chains"
	"github.com/revgen/revgen/engine/rng"
	"github.com/revgen/revgen/engine/spins"
)

// A Walk is a chains.Walk of configurations by the steps of a kernel.
type Walk struct {
	chains.Strides
	ensemble *Ensemble
	batch    []byte // states, of all ranks
	lo, hi   int    // which are this rank's
	params   []float32
	moves    *Moves
	first    uint64
	relabel  bool // after every call, by chance
}

func (e *Ensemble) newWalk(params []float32, m *Moves, purpose rng.Purpose, n int) *Walk {
	const redraws = 1 << 24
	return &Walk{
		ensemble: e, batch: make([]byte, n*e.Target.N()), hi: n, params: params, moves: m,
		Strides: chains.Strides{Seed: e.Seed, Purpose: purpose, Slice: min(m.MaxSteps(), max(1, redraws/(max(n, 1)*e.Target.N())))},
	}
}

// Walk implements chains.Observer.
func (e *Ensemble) Walk(params []float32, first uint64, n int) (chains.Walk, error) {
	if err := e.Reach(first, uint64(n), 0); err != nil {
		return nil, err
	}
	w := e.newWalk(params, e.Moves, rng.WalkTransition, n)
	w.first = first
	e.draw(params, e.Draws(params), w.batch, first, 0)
	return w, nil
}

// Chains implements chains.Observer: of configurations of which every other one has all sites
// in one state, each of the states in turns, and the rest are drawn by chance.
func (e *Ensemble) Chains(params []float32, n int) (chains.Walk, error) {
	m, err := e.Mixing(e.Target.Beta)
	if err != nil {
		return nil, fmt.Errorf("target: %w", err)
	}
	w := e.newWalk(params, m, rng.ChainTransition, n)
	from := rng.Stream(e.Seed, rng.ChainStart, 0)
	e.disperse(w.batch, &from, 0)
	w.lo, w.hi = e.Workers.Rows(n, block)
	_, w.relabel = e.Target.Code()
	return w, nil
}

func (e *Ensemble) disperse(batch []byte, from *rng.Counter, first uint64) {
	n := e.Target.N()
	draw := make([]uint32, (n+3)/4*4)
	for i := range len(batch) / n {
		asm.PhiloxBlocks(draw, from, (first+uint64(i))*uint64(len(draw)/4))
		for k := range n {
			q := e.Target.States[k]
			x := byte(uint64(draw[k]) * uint64(q) >> 32)
			if i%2 == 0 {
				x = byte(i / 2 % q)
			}
			batch[i*n+k] = x
		}
	}
}

// Advance implements chains.Walk.
func (w *Walk) Advance(ctx context.Context, steps int) error {
	e, n := w.ensemble, w.ensemble.Target.N()
	err := w.Take(ctx, steps, func(stream rng.Counter, steps int) {
		e.move(w.batch[w.lo*n:w.hi*n], w.first+uint64(w.lo), steps, w.moves, stream)
	})
	if err == nil && w.relabel {
		e.relabel(w.batch, w.Calls)
	}
	return err
}

// relabel renames the states of every configuration by chance, which costs no energy.
func (e *Ensemble) relabel(batch []byte, call uint32) {
	c := rng.Stream(e.Seed, rng.ChainStart, call)
	n, q := e.Target.N(), e.Target.Most()
	code, _ := e.Target.Code()
	draw := make([]uint32, 16)
	for i := range len(batch) / n {
		asm.PhiloxBlocks(draw, &c, uint64(i)*4)
		var to [MostStates]byte
		for s := range q {
			to[s] = byte(s)
		}
		shift, reflect := int(uint64(draw[0])*uint64(q)>>32), draw[1]>>31 == 1
		for s := q - 1; s >= 0; s-- {
			if code == Same {
				k := int(uint64(draw[s]) * uint64(s+1) >> 32)
				to[s], to[k] = to[k], to[s]
				continue
			}
			to[s] = byte((s + shift) % q)
			if reflect {
				to[s] = byte((q - s + shift) % q)
			}
		}
		for k, s := range batch[i*n:][:n] {
			batch[i*n+k] = to[s]
		}
	}
}

// Observe implements chains.Walk.
func (w *Walk) Observe(values []float64) {
	w.ObserveUnweighted(values)
	n, stride := w.ensemble.Target.N(), len(w.ensemble.Observables())
	w.ensemble.weigh(values[w.lo*stride:w.hi*stride], w.params, w.batch[w.lo*n:w.hi*n])
}

// ObserveUnweighted implements chains.Walk.
func (w *Walk) ObserveUnweighted(values []float64) {
	n, stride := w.ensemble.Target.N(), len(w.ensemble.Observables())
	w.ensemble.observe(values[w.lo*stride:w.hi*stride], w.batch[w.lo*n:w.hi*n])
}

// States implements chains.Walk.
func (w *Walk) States(dst []byte, format string) error {
	n := w.ensemble.Target.N()
	row := len(dst) / max(1, len(w.batch)/n)
	return w.ensemble.write(dst[w.lo*row:w.hi*row], format, w.batch[w.lo*n:w.hi*n])
}

// Own implements chains.Walk.
func (w *Walk) Own() (lo, hi int) { return w.lo, w.hi }

// A Ladder is replica exchange of an Ensemble, by heat-bath sweeps at each inverse
// temperature.
type Ladder struct {
	levels             []*Walk
	betas              []float64
	energies           [][]float64
	draws              []uint32
	accepted, proposed []uint64
}

// Ladder implements chains.Tempered.
func (e *Ensemble) Ladder(betas []float64, n int) (chains.Ladder, error) {
	l := &Ladder{betas: betas, draws: make([]uint32, 4*rng.Blocks(n)), accepted: make([]uint64, len(betas)), proposed: make([]uint64, len(betas))}
	from := rng.Stream(e.Seed, rng.ChainStart, 0)
	for k, beta := range betas {
		if k > 0 && !(betas[k-1] < beta) {
			return nil, fmt.Errorf("inverse temperature %v comes after %v; they must ascend", beta, betas[k-1])
		}
		m, err := e.Mixing(beta)
		if err != nil {
			return nil, fmt.Errorf("inverse temperature %v: %w", beta, err)
		}
		w := e.newWalk(nil, m, rng.ChainTransition, n)
		w.first = uint64(k) * uint64((n+block-1)/block*block)
		e.disperse(w.batch, &from, uint64(k*n))
		w.lo, w.hi = e.Workers.Rows(n, block)
		l.levels, l.energies = append(l.levels, w), append(l.energies, make([]float64, n))
	}
	return l, nil
}

// Advance implements chains.Ladder.
func (l *Ladder) Advance(ctx context.Context, steps int) error {
	for range steps {
		if err := ctx.Err(); err != nil {
			return err
		}
		calls := l.levels[0].Calls
		if calls == math.MaxUint32 {
			return errors.New("the chains' random numbers have come to their end")
		}
		for k, w := range l.levels {
			e, n := w.ensemble, w.ensemble.Target.N()
			e.move(w.batch[w.lo*n:w.hi*n], w.first+uint64(w.lo), 1, w.moves, rng.Stream(e.Seed, w.Purpose, calls))
			e.Target.Energies(l.energies[k][w.lo:w.hi], w.batch[w.lo*n:w.hi*n])
			w.Calls++
		}
		for level := int(calls & 1); level+1 < len(l.levels); level += 2 {
			l.swap(level, calls)
		}
	}
	return nil
}

// swap swaps states of a level with those of the next, each with probability
// min{1, exp((β − β′)(E − E′))}.
func (l *Ladder) swap(level int, calls uint32) {
	a, b := l.levels[level], l.levels[level+1]
	n, difference := a.ensemble.Target.N(), l.betas[level]-l.betas[level+1]
	c := rng.Stream(a.Seed, rng.LadderSwap, calls)
	asm.PhiloxBlocks(l.draws, &c, uint64(level)*uint64(len(l.draws)/4))
	x, y := l.energies[level], l.energies[level+1]
	for i := a.lo; i < a.hi; i++ {
		if float64(l.draws[i])+0.5 < math.Exp(difference*(x[i]-y[i]))*(1<<32) {
			l.accepted[level]++
			x[i], y[i] = y[i], x[i]
			for k := i * n; k < (i+1)*n; k++ {
				a.batch[k], b.batch[k] = b.batch[k], a.batch[k]
			}
		}
	}
	l.proposed[level] += uint64(a.hi - a.lo)
}

// Own returns the chains of each level that are a rank's, as a chains.Walk does.
func (l *Ladder) Own() (lo, hi int) { return l.levels[0].Own() }

// Observe implements chains.Ladder.
func (l *Ladder) Observe(level int, values []float64) { l.levels[level].ObserveUnweighted(values) }

// States implements chains.Ladder.
func (l *Ladder) States(level int, dst []byte, format string) error {
	return l.levels[level].States(dst, format)
}

// Swaps implements chains.Ladder.
func (l *Ladder) Swaps(level int) (accepted, proposed uint64) {
	return l.accepted[level], l.proposed[level]
}

// MixingOf returns heat-bath sweeps of a target at any inverse temperature.
func MixingOf(t *Target) func(beta float64) (*Moves, error) {
	return func(beta float64) (*Moves, error) {
		at := *t
		at.Beta = beta
		return NewMoves(&at, &spins.TransitionConfig{Proposal: spins.Sweeping}, 1)
	}
}

var (
	_ chains.Tempered = (*Ensemble)(nil)
	_ chains.Walk     = (*Walk)(nil)
	_ chains.Ladder   = (*Ladder)(nil)
	_ engine.Scorer   = (*Ensemble)(nil)
)
