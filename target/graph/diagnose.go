package graph

import (
	"context"

	"github.com/revgen/revgen/engine/chains"
	"github.com/revgen/revgen/engine/rng"
	"github.com/revgen/revgen/engine/sites"
	"github.com/revgen/revgen/engine/spins"
)

// chainsWalk is a chains.Walk of the coldest chains of parallel tempering, a round
// a step.
type chainsWalk struct {
	sites.Observed[uint64]
	s        *measured
	exchange *spins.Exchange // nil before the first step
	whole    []uint64        // of sets of chains, of which some may not be asked for
}

// Chains implements chains.Observer: of configurations that begin at random and are
// those of parallel tempering from the first step on.
func (s *measured) Chains(params []float32, n int) (chains.Walk, error) {
	w := &chainsWalk{Observed: s.Observed(params, n), s: s}
	from := rng.Stream(s.config.Training.Seed, rng.ChainStart, 0)
	for words, i := s.Words(), 0; i < len(w.Batch); i += words {
		spins.Randomize(w.Batch[i:][:words], s.graph.N(), &from, uint64(i))
	}
	return w, nil
}

// Levels implements chains.LevelledWalk.
func (w *chainsWalk) Levels() int {
	if w.exchange == nil {
		return 1
	}
	return w.exchange.Levels()
}

// Advance implements chains.Walk.
func (w *chainsWalk) Advance(ctx context.Context, steps int) error {
	s, words := w.s, w.s.Words()
	if w.exchange == nil {
		sets := (len(w.Batch)/words + spins.Lanes - 1) / spins.Lanes
		var err error
		w.exchange, err = spins.Tempering{
			Beta: s.config.Target.Beta, Sets: max(1, sets), BurnIn: 256,
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
	copy(w.Batch, w.whole)
	return nil
}

var _ chains.Tempered = (*measured)(nil)
