package chains

import (
	"slices"

	"github.com/revgen/revgen/engine"
	"github.com/revgen/revgen/internal/pool"
)

// Each of the ranks that share chains moves, observes and keeps its own. Before they gather the
// values of all, they agree whether one of them failed: the others would wait for it.

// shareChains finds which chains are this rank's, and where each rank's end.
func (r *run) shareChains() {
	r.result.Hi = r.Chains
	if r.Ranks == nil || r.Ranks.Size() == 1 {
		return
	}
	rank, size := r.Ranks.Rank(), r.Ranks.Size()
	lo, hi := r.states(0).Own()
	bounds := make([]struct{ lo, hi int }, size)
	bounds[rank].lo, bounds[rank].hi = lo, min(hi, r.Chains)
	r.Ranks.Gather(size, pool.SpanOf(bounds, 1))
	for i := 1; i < size; i++ {
		if bounds[i].lo != bounds[i-1].hi { // every rank moves all chains, and rank 0 alone keeps states
			if rank > 0 {
				r.result.Hi = 0
			}
			return
		}
	}
	r.result.Lo, r.result.Hi = bounds[rank].lo, bounds[rank].hi
	for _, b := range bounds {
		r.rankEnds = append(r.rankEnds, b.hi)
	}
}

// agree returns err, and engine.ErrElsewhere where another rank has one.
func (o *Options) agree(err error) error {
	if o.Ranks != nil && o.Ranks.Any(err != nil) && err == nil {
		return engine.ErrElsewhere
	}
	return err
}

// gather gives every rank the values of all chains, and the sums of their swaps.
func (r *run) gather() {
	if r.rankEnds == nil {
		return
	}
	counts := make([]engine.Count, r.Ranks.Size())
	for k := range r.result.Levels {
		l := &r.result.Levels[k]
		r.gatherValues(l.Values)
		counts[r.Ranks.Rank()] = engine.Count{Proposed: l.Proposed, Accepted: l.Accepted}
		r.Ranks.Gather(len(counts), pool.SpanOf(counts, 1))
		var sum engine.Count
		for _, c := range counts {
			sum.Add(c)
		}
		l.Accepted, l.Proposed = sum.Accepted, sum.Proposed
	}
}

// gatherValues fills in the values of the other ranks' chains, [draws][chains][indices].
func (r *run) gatherValues(values []float64) {
	if r.rankEnds == nil {
		return
	}
	width := len(r.indices)
	var spans []pool.Span
	for draw := range slices.Chunk(values, r.Chains*width) {
		spans = append(spans, pool.SpanOf(draw, width).Uneven(r.rankEnds))
	}
	r.Ranks.Gather(len(r.rankEnds), spans...)
}
