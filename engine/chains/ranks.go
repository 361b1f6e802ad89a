package chains

import (
	"github.com/revgen/revgen/asm"
	"github.com/revgen/revgen/engine"
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
	bounds, each := make([]int64, 2*size), make([]int, size)
	for i := range each {
		each[i] = 16 * (i + 1)
	}
	lo, hi := r.walk.Own()
	bounds[2*rank], bounds[2*rank+1] = int64(lo), int64(min(hi, r.Chains))
	r.Ranks.Collect(asm.Bytes(bounds), each)
	for i := 1; i < size; i++ {
		if bounds[2*i] != bounds[2*i-1] { // each has all, and rank 0 leaves them
			if rank > 0 {
				r.result.Hi = 0
			}
			return
		}
	}
	r.result.Lo, r.result.Hi = int(bounds[2*rank]), int(bounds[2*rank+1])
	for i := range size {
		r.ends = append(r.ends, int(bounds[2*i+1]))
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
	size := r.Ranks.Size()
	all, each := make([]uint64, 2*size), make([]int, size)
	for i := range each {
		each[i] = 16 * (i + 1)
	}
	for k := range r.result.Levels {
		l := &r.result.Levels[k]
		r.collectValues(l.Values)
		clear(all)
		all[2*r.Ranks.Rank()], all[2*r.Ranks.Rank()+1] = l.Accepted, l.Proposed
		r.Ranks.Collect(asm.Bytes(all), each)
		l.Accepted, l.Proposed = 0, 0
		for i := range size {
			l.Accepted, l.Proposed = l.Accepted+all[2*i], l.Proposed+all[2*i+1]
		}
	}
}

// collectValues fills in the others' columns of values, [draws][chains][columns].
func (r *run) collectValues(values []float64) {
	if r.ends == nil {
		return
	}
	width := len(r.columns)
	draws := len(values) / (r.Chains * width)
	byChain, ends := make([]float64, len(values)), make([]int, len(r.ends)) // [chains][draws][columns]
	for i, end := range r.ends {
		ends[i] = 8 * end * draws * width
	}
	at := func(c, t int) (chain, value []float64) {
		return byChain[(c*draws+t)*width:][:width], values[(t*r.Chains+c)*width:][:width]
	}
	for c := r.result.Lo; c < r.result.Hi; c++ {
		for t := range draws {
			chain, value := at(c, t)
			copy(chain, value)
		}
	}
	r.Ranks.Collect(asm.Bytes(byChain), ends)
	for c := range r.Chains {
		for t := range draws {
			chain, value := at(c, t)
			copy(value, chain)
		}
	}
}
