package chains

import (
	"slices"

	"github.com/revgen/revgen/engine"
	"github.com/revgen/revgen/internal/pool"
)

// Ranks that share chains each move, observe and keep their own. They agree whether one of
// them failed before they collect what all have seen, where others would wait for it.

// own finds which chains are this rank's, and where those of each end.
func (r *run) own() {
	r.result.Hi = r.Chains
	if r.Ranks == nil || r.Ranks.Size() == 1 {
		return
	}
	rank, size := r.Ranks.Rank(), r.Ranks.Size()
	lo, hi := r.level(0).Own()
	bounds := make([]struct{ lo, hi int }, size)
	bounds[rank].lo, bounds[rank].hi = lo, min(hi, r.Chains)
	r.Ranks.Gather(size, pool.SpanOf(bounds, 1))
	for i := 1; i < size; i++ {
		if bounds[i].lo != bounds[i-1].hi { // each has all, and rank 0 leaves them
			if rank > 0 {
				r.result.Hi = 0
			}
			return
		}
	}
	r.result.Lo, r.result.Hi = bounds[rank].lo, bounds[rank].hi
	for _, b := range bounds {
		r.ends = append(r.ends, b.hi)
	}
}

// agree returns err, and engine.ErrElsewhere where another rank has one.
func (o *Options) agree(err error) error {
	if o.Ranks != nil && o.Ranks.Any(err != nil) && err == nil {
		return engine.ErrElsewhere
	}
	return err
}

// collect gives all ranks what the others' chains were seen to do.
func (r *run) collect() {
	if r.ends == nil {
		return
	}
	all := make([]engine.Count, r.Ranks.Size())
	for k := range r.result.Levels {
		l := &r.result.Levels[k]
		r.collectValues(l.Values)
		all[r.Ranks.Rank()] = engine.Count{Proposed: l.Proposed, Accepted: l.Accepted}
		r.Ranks.Gather(len(all), pool.SpanOf(all, 1))
		var sum engine.Count
		for _, c := range all {
			sum.Add(c)
		}
		l.Accepted, l.Proposed = sum.Accepted, sum.Proposed
	}
}

// collectValues fills in the others' columns of values, [draws][chains][columns].
func (r *run) collectValues(values []float64) {
	if r.ends == nil {
		return
	}
	width := len(r.columns)
	var spans []pool.Span
	for draw := range slices.Chunk(values, r.Chains*width) {
		spans = append(spans, pool.SpanOf(draw, width).Uneven(r.ends))
	}
	r.Ranks.Gather(len(r.ends), spans...)
}
