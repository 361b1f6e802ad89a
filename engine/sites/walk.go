package sites

import (
	"context"
	"fmt"

	"github.com/revgen/revgen/engine/chains"
	"github.com/revgen/revgen/engine/rng"
)

// Observed are configurations that are observed: all of a batch or, in a walk that ranks share,
// the rank's own.
type Observed[W uint64 | byte] struct {
	Batch    []W // of all ranks
	lo, hi   int // configurations lo … hi−1 are observed
	ensemble *Ensemble[W]
	weigh    func(r []float64, batch []W) // nil without a density
}

// Observed returns n configurations, all zero. If the generator has a density, they are weighed
// as its samples.
func (e *Ensemble[W]) Observed(params []float32, n int) Observed[W] {
	o := Observed[W]{Batch: make([]W, n*e.Words()), hi: n, ensemble: e}
	if e.Weigher != nil {
		o.weigh = e.Weigher(params)
	}
	return o
}

// Observe implements chains.Walk.
func (o *Observed[W]) Observe(values []float64) {
	o.ObserveUnweighted(values)
	if o.weigh == nil {
		return
	}
	stride, words := len(o.ensemble.Names)+1, o.ensemble.Words()
	weights := make([]float64, o.hi-o.lo)
	o.weigh(weights, o.Batch[o.lo*words:o.hi*words])
	for i, r := range weights {
		values[(o.lo+i+1)*stride-1] = -r
	}
}

// ObserveUnweighted implements chains.Walk.
func (o *Observed[W]) ObserveUnweighted(values []float64) {
	e := o.ensemble
	words, stride := e.Words(), len(e.Observables())
	own, seen := o.Batch[o.lo*words:o.hi*words], values[o.lo*stride:]
	e.byRows(o.hi-o.lo, 256, func(lo, hi int) { e.Observe(seen[lo*stride:], stride, own[lo*words:hi*words]) })
}

// States implements chains.Walk.
func (o *Observed[W]) States(dst []byte, format string) error {
	words := o.ensemble.Words()
	if o.hi == o.lo {
		return nil
	}
	row := len(dst) / (len(o.Batch) / words)
	return o.ensemble.write(dst[o.lo*row:o.hi*row], format, o.Batch[o.lo*words:o.hi*words])
}

// Own implements chains.Walk.
func (o *Observed[W]) Own() (lo, hi int) { return o.lo, o.hi }

// restrictToRank leaves a rank its own configurations, in whole pieces of so many rows.
func (o *Observed[W]) restrictToRank(rows int) {
	o.lo, o.hi = o.ensemble.Workers.Rows(len(o.Batch)/o.ensemble.Words(), rows)
}

// A Walk is a chains.Walk of configurations by the steps of a kernel.
type Walk[W uint64 | byte] struct {
	Observed[W]
	chains.Strides
	kernel Kernel[W]
	first  uint64 // sample of configuration 0 in the streams
	stirs  bool   // every Advance ends with States.Stir
}

// NewWalk returns n configurations, all zero, that walk with a kernel.
func (e *Ensemble[W]) NewWalk(params []float32, k Kernel[W], purpose rng.Purpose, n int) *Walk[W] {
	const flips = 1 << 26 // of a slice, after which the context is asked
	slice := min(k.MaxSteps(), max(1, flips/(max(n, 1)*e.States.Sites())))
	return &Walk[W]{Observed: e.Observed(params, n), kernel: k, Strides: chains.Strides{Seed: e.Seed, Purpose: purpose, Slice: slice}}
}

// Walk implements chains.Observer.
func (e *Ensemble[W]) Walk(params []float32, first uint64, n int) (chains.Walk, error) {
	if err := e.Reach(first, uint64(n), 0); err != nil {
		return nil, err
	}
	w := e.NewWalk(params, e.Kernel, rng.WalkTransition, n)
	w.first = e.firstOfBlock(first)
	e.Draw(w.Batch, params, first, 0)
	return w, nil
}

// Advance implements chains.Walk.
func (w *Walk[W]) Advance(ctx context.Context, steps int) error {
	err := w.Take(ctx, steps, func(stream rng.Counter, steps int) {
		w.ensemble.move(w.Batch, w.lo, w.hi, w.first, steps, w.kernel, stream)
	})
	if err == nil && w.stirs {
		w.ensemble.States.Stir(w.Batch, rng.Stream(w.Seed, rng.ChainStart, w.Calls), 0)
	}
	return err
}

// Chains implements chains.Observer: a walk by the Mixing kernel, or replica exchange, from
// configurations that are far apart.
func (e *Ensemble[W]) Chains(params []float32, n int) (chains.Walk, error) {
	if e.Tempered {
		return e.temperedChains(params, n), nil
	}
	kernel, err := e.Mixing(e.Beta)
	if err != nil {
		return nil, fmt.Errorf("target: %w", err)
	}
	w := e.NewWalk(params, kernel, rng.ChainTransition, n)
	w.stirs = true
	from := rng.Stream(e.Seed, rng.ChainStart, 0)
	e.States.Disperse(w.Batch, &from, 0)
	w.restrictToRank(PieceOf(kernel))
	return w, nil
}

var _ chains.Walk = (*Walk[byte])(nil)
