package spins

import (
	"context"
	"fmt"

	"github.com/revgen/revgen/asm"
	"github.com/revgen/revgen/engine/chains"
	"github.com/revgen/revgen/engine/rng"
)

// Observed are configurations that are observed. Of a walk that ranks share they are
// those of the rank.
type Observed struct {
	Packed   []uint64 // states, of all ranks
	lo, hi   int      // which are observed
	ensemble *Ensemble
	weigh    func(dst []float64, batch []uint64) // nil without a density
}

// Observed returns n configurations, all spins down. Those of a generator with a
// density are weighed as samples of it.
func (e *Ensemble) Observed(params []float32, n int) Observed {
	o := Observed{Packed: make([]uint64, n*e.Words()), hi: n, ensemble: e}
	if e.Weigher != nil {
		o.weigh = e.Weigher(params)
	}
	return o
}

// Observe implements chains.Walk.
func (o *Observed) Observe(values []float64) {
	o.ObserveUnweighted(values)
	if o.weigh == nil {
		return
	}
	stride, words := len(o.ensemble.Names)+1, o.ensemble.Words()
	weights := make([]float64, o.hi-o.lo)
	o.weigh(weights, o.Packed[o.lo*words:o.hi*words])
	for i, v := range weights {
		values[(o.lo+i+1)*stride-1] = v
	}
}

// ObserveUnweighted implements chains.Walk.
func (o *Observed) ObserveUnweighted(values []float64) {
	e := o.ensemble
	words, stride := e.Words(), len(e.Observables())
	own, seen := o.Packed[o.lo*words:o.hi*words], values[o.lo*stride:]
	e.byRows(o.hi-o.lo, 256, func(lo, hi int) { e.Observe(seen[lo*stride:], stride, own[lo*words:hi*words]) })
}

// States implements chains.Walk.
func (o *Observed) States(dst []byte, format string) error {
	words := o.ensemble.Words()
	if o.hi == o.lo {
		return nil
	}
	row := len(dst) / (len(o.Packed) / words)
	return o.ensemble.write(dst[o.lo*row:o.hi*row], format, o.Packed[o.lo*words:o.hi*words])
}

// Own implements chains.Walk.
func (o *Observed) Own() (lo, hi int) { return o.lo, o.hi }

// share leaves a rank those of its own, of whole pieces of a kernel's rows.
func (o *Observed) share(rows int) {
	o.lo, o.hi = o.ensemble.Workers.Rows(len(o.Packed)/o.ensemble.Words(), rows)
}

// A Walk is a chains.Walk of configurations by the steps of a kernel.
type Walk struct {
	Observed
	chains.Strides
	kernel Kernel
	first  uint64
}

// NewWalk returns n configurations, all spins down, that walk with a kernel.
func (e *Ensemble) NewWalk(params []float32, k Kernel, purpose rng.Purpose, n int) *Walk {
	const flips = 1 << 26
	slice := min(k.MaxSteps(), max(1, flips/(max(n, 1)*e.Spins)))
	return &Walk{Observed: e.Observed(params, n), kernel: k, Strides: chains.Strides{Seed: e.Seed, Purpose: purpose, Slice: slice}}
}

// Walk implements chains.Observer.
func (e *Ensemble) Walk(params []float32, first uint64, n int) (chains.Walk, error) {
	if err := e.Reach(first, uint64(n), 0); err != nil {
		return nil, err
	}
	w := e.NewWalk(params, e.Kernel, rng.WalkTransition, n)
	w.first = e.together(first)
	e.Drawing(params).Draw(w.Packed, first, 0)
	return w, nil
}

// Advance implements chains.Walk.
func (w *Walk) Advance(ctx context.Context, steps int) error {
	return w.Take(ctx, steps, func(stream rng.Counter, steps int) {
		w.ensemble.move(w.Packed, w.lo, w.hi, w.first, steps, w.kernel, stream)
	})
}

// dispersed is a walk by what mixes best, whose configurations begin far apart. Where the
// law is even, each call also flips all spins of a configuration with probability ½, which
// costs no energy.
type dispersed struct{ *Walk }

// Chains implements chains.Observer: of configurations of which a third each begin with
// all spins up, with all down, and at random.
func (e *Ensemble) Chains(params []float32, n int) (chains.Walk, error) {
	kernel, err := e.Mixing(e.Beta)
	if err != nil {
		return nil, fmt.Errorf("target: %w", err)
	}
	w := dispersed{e.NewWalk(params, kernel, rng.ChainTransition, n)}
	from := rng.Stream(e.Seed, rng.ChainStart, 0)
	e.disperse(w.Packed, &from, 0)
	w.share(PieceOf(kernel))
	return w, nil
}

// Advance implements chains.Walk.
func (w dispersed) Advance(ctx context.Context, steps int) error {
	err := w.Walk.Advance(ctx, steps)
	if err == nil && w.ensemble.Even {
		w.ensemble.flip(w.Packed, w.Calls, 0)
	}
	return err
}

// disperse sets configurations of which a third each have all spins up, all down, and
// each by chance.
func (e *Ensemble) disperse(batch []uint64, from *rng.Counter, first uint64) {
	words := e.Words()
	for i := range len(batch) / words {
		switch config := batch[i*words:][:words]; i % 3 {
		case 0:
			clear(config)
			Invert(config, e.Spins)
		case 1:
			clear(config)
		case 2:
			Randomize(config, e.Spins, from, first+uint64(i*words))
		}
	}
}

// flip inverts configurations by chance, with the numbers first, first+1, … of a call.
func (e *Ensemble) flip(batch []uint64, call uint32, first uint64) {
	words := e.Words()
	c := rng.Stream(e.Seed, rng.ChainStart, call)
	var draw [4]uint32
	for i := range len(batch) / words {
		if i%128 == 0 {
			asm.PhiloxBlocks(draw[:], &c, first+uint64(i/128))
		}
		if draw[i/32%4]>>(i%32)&1 != 0 {
			Invert(batch[i*words:][:words], e.Spins)
		}
	}
}

var _ chains.Walk = (*Walk)(nil)
