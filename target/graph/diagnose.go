package graph

import (
	"context"
	"fmt"
	"math"

	"github.com/revgen/revgen/asm"
	"github.com/revgen/revgen/engine"
	"github.com/revgen/revgen/engine/rng"
	"github.com/revgen/revgen/engine/spins"
	"github.com/revgen/revgen/engine/spins/hierarchy"
)

// Observables returns energy E, E², m, |m|, m² and the weight.
func (s *system) Observables() []string {
	return []string{"energy", "energy_squared", "magnetisation", "abs_magnetisation", "magnetisation_squared", engine.LogWeight}
}

// states are configurations that are measured.
type states struct {
	s       *system
	sampler *hierarchy.Sampler
	batch   []uint64
}

// Observe implements engine.Walk.
func (w *states) Observe(values []float64) {
	w.ObserveUnweighted(values)
	n, of := len(w.batch)/w.s.graph.Words(), len(w.s.Observables())
	r := make([]float64, n)
	w.sampler.R(r, w.batch)
	for i, v := range r {
		values[i*of+of-1] = -v
	}
}

// ObserveUnweighted implements engine.UnweightedWalk.
func (w *states) ObserveUnweighted(values []float64) {
	g := w.s.graph
	words, of := g.Words(), len(w.s.Observables())
	n := len(w.batch) / words
	const rows = 256
	w.s.workers.Run((n+rows-1)/rows, func(piece int) {
		for i := piece * rows; i < min(n, (piece+1)*rows); i++ {
			config := w.batch[i*words:][:words]
			e, m := g.Energy(config), float64(g.Magnetisation(config))/float64(g.N())
			copy(values[i*of:], []float64{e, e * e, m, math.Abs(m), m * m})
		}
	})
}

// walk is an engine.Walk of samples by sweeps.
type walk struct {
	states
	first uint64 // the first of a block of sweeps
	calls uint32
}

// Walk implements engine.Observer.
func (s *system) Walk(params []float32, first uint64, n int) (engine.Walk, error) {
	if err := s.Reach(first, uint64(n), 0); err != nil {
		return nil, err
	}
	w := &walk{s.observed(params, n), first / spins.Lanes * spins.Lanes, 0}
	s.NewDraws(params).Generate(w.batch, first)
	return w, nil
}

func (s *system) observed(params []float32, n int) states {
	return states{s, s.Model().NewSampler(params, s.workers), make([]uint64, n*s.graph.Words())}
}

// Advance implements engine.Walk.
func (w *walk) Advance(ctx context.Context, steps int) error {
	const flips = 1 << 26
	n := len(w.batch) / w.s.graph.Words()
	slice := min(w.s.mostSweeps(), max(1, flips/(2*(n+1)*w.s.graph.N())))
	for ; steps > 0; steps -= slice {
		if err := ctx.Err(); err != nil {
			return err
		}
		if w.calls == math.MaxUint32 {
			return fmt.Errorf("the walk's random numbers have come to their end")
		}
		w.s.sweep(w.batch, w.first, min(slice, steps), rng.Stream(w.s.config.Training.Seed, rng.WalkTransition, w.calls))
		w.calls++
	}
	return nil
}

// chainsWalk is an engine.Walk of the coldest chains of parallel tempering, a round
// a step.
type chainsWalk struct {
	states
	exchange *spins.Exchange // nil before the first step
	whole    []uint64        // of sets of chains, of which some may not be asked for
}

// Chains returns configurations that begin at random and are those of parallel
// tempering from the first step on.
func (s *system) Chains(params []float32, n int) (engine.Walk, error) {
	w := &chainsWalk{states: s.observed(params, n)}
	from := rng.Stream(s.config.Training.Seed, rng.ChainStart, 0)
	words, top := s.graph.Words(), uint64(math.MaxUint64)>>(-s.graph.N()&63)
	var draw [4]uint32
	for i := range w.batch {
		asm.PhiloxBlocks(draw[:], &from, uint64(i))
		w.batch[i] = uint64(draw[1])<<32 | uint64(draw[0])
		if i%words == words-1 {
			w.batch[i] &= top
		}
	}
	return w, nil
}

// Advance implements engine.Walk.
func (w *chainsWalk) Advance(ctx context.Context, steps int) error {
	s, words := w.s, w.s.graph.Words()
	if w.exchange == nil {
		sets := (len(w.batch)/words + spins.Lanes - 1) / spins.Lanes
		var err error
		w.exchange, err = spins.Tempering{
			Beta: s.config.Target.Beta, Ladder: spins.ByVariance, Sets: max(1, sets), BurnIn: 256,
			Stream: rng.Stream(s.config.Training.Seed, rng.ChainTransition, 0),
		}.Start(ctx, s.graph, s.workers)
		if err != nil {
			w.exchange = nil
			return err
		}
		w.whole = make([]uint64, max(1, sets)*spins.Lanes*words)
	}
	if err := w.exchange.Advance(ctx, steps); err != nil {
		return err
	}
	w.exchange.Configurations(w.whole)
	copy(w.batch, w.whole)
	return nil
}

var _ engine.Observer = (*system)(nil)
