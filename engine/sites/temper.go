package sites

import (
	"cmp"
	"context"
	"math"
	"slices"

	"github.com/revgen/revgen/engine/chains"
	"github.com/revgen/revgen/engine/rng"
	"github.com/revgen/revgen/internal/stat"
)

const (
	mostRungs = 256
	stages    = 4   // of the adaptation of a ladder
	spacing   = 1.2 // Δβ·σ(E) of neighbouring levels that are chosen
)

// Temper returns replica exchange, also called parallel tempering: n chains at each of a
// ladder of inverse temperatures, from 0, where sites are independent, to the target's. Levels
// are so far apart, by the energy's variance, that swaps of all neighbours succeed equally
// often, about half of the time. Of the steps half are spent to find them, the others to bring
// the chains nearer to their law. Every rank has all of the chains. of is 0, or
// rng.OfReference for draws that no other chains have.
func (e *Ensemble[W]) Temper(ctx context.Context, of rng.Purpose, n, steps int) (*Ladder[W], error) {
	betas := []float64{0}
	if e.Beta > 0 {
		betas = make([]float64, min(max(4, int(math.Sqrt(float64(e.States.Sites())))), 32))
		for k := range betas {
			betas[k] = e.Beta * float64(k) / float64(len(betas)-1)
		}
	}
	start := rng.Stream(e.Seed, rng.ChainStart|of, 0)
	l, err := e.newLadder(betas, n, of, func(level int, batch []W) { e.States.Disperse(batch, &start, uint64(level*n)) })
	if err != nil {
		return nil, err
	}
	for range stages {
		if l, err = l.respaced(ctx, steps/(2*stages)); err != nil {
			return nil, err
		}
	}
	return l, l.Advance(ctx, steps-int(l.calls))
}

// respaced takes steps, measures the energy's variance in the second half of them, and returns
// the chains at levels that are chosen by it.
func (l *Ladder[W]) respaced(ctx context.Context, steps int) (*Ladder[W], error) {
	moments := make([]stat.Mean, len(l.betas))
	for k := range steps {
		if err := l.Advance(ctx, 1); err != nil {
			return nil, err
		}
		if k < steps/2 {
			continue
		}
		for level, energies := range l.energies {
			for _, x := range energies {
				moments[level].Add(x)
			}
		}
	}
	if len(l.betas) == 1 {
		return l, nil
	}
	deviations := make([]float64, len(l.betas))
	for k := range deviations {
		deviations[k] = moments[k].Deviation()
	}
	length := ladderLength(l.betas, deviations)
	betas := ladder(l.betas, length, min(max(2, 1+int(math.Ceil(length[len(length)-1]/spacing))), mostRungs))
	from := nearest(l.betas, betas)
	next, err := l.ensemble.newLadder(betas, len(l.energies[0]), l.of, func(level int, batch []W) { l.held[from[level]].Read(batch) })
	if err != nil {
		return nil, err
	}
	next.calls = l.calls
	return next, nil
}

// nearest returns the level of the old ladder that is nearest to each of the new
// one.
func nearest(old, betas []float64) []int {
	from := make([]int, len(betas))
	for k, beta := range betas {
		for i, b := range old {
			if math.Abs(b-beta) < math.Abs(old[from[k]]-beta) {
				from[k] = i
			}
		}
	}
	return from
}

// ladder returns inverse temperatures between the first and the last of betas,
// ascending, that are equally far apart in the length to each of betas: so neighbours
// swap equally often.
func ladder(betas, length []float64, levels int) []float64 {
	last := len(betas) - 1
	ladder := make([]float64, levels)
	i := 0
	for k := range ladder {
		at := length[last] * float64(k) / float64(levels-1)
		for i < last-1 && length[i+1] < at {
			i++
		}
		ladder[k] = betas[i] + (betas[i+1]-betas[i])*min(1, (at-length[i])/(length[i+1]-length[i]))
	}
	ladder[0], ladder[levels-1] = betas[0], betas[last]
	return ladder
}

// ladderLength returns ∫ σ(E) dβ from the first of betas to each, given the standard
// deviations of the energy there. Where the energy hardly varies levels are still not
// further apart than a fiftieth of the largest deviation makes them.
func ladderLength(betas, deviations []float64) []float64 {
	largest := cmp.Or(slices.Max(deviations), 1)
	length := make([]float64, len(betas))
	for k := 1; k < len(betas); k++ {
		mean := (max(deviations[k-1], largest/50) + max(deviations[k], largest/50)) / 2
		length[k] = length[k-1] + mean*(betas[k]-betas[k-1])
	}
	return length
}

// Betas returns the inverse temperatures.
func (l *Ladder[W]) Betas() []float64 { return l.betas }

// Coldest returns the configurations of the last level, and their energies.
func (l *Ladder[W]) Coldest() (batch []W, energies []float64) {
	last := len(l.levels) - 1
	l.Level(last) // which reads them
	return l.levels[last].Batch, l.energies[last]
}

// A temperedWalk is of the chains at the target of replica exchange, a step of all levels a
// step.
type temperedWalk[W uint64 | byte] struct {
	Observed[W]
	ladder *Ladder[W] // nil before the first step
}

// temperedChains returns configurations that begin far apart, and from the first step on are
// those of replica exchange that has chosen its levels.
func (e *Ensemble[W]) temperedChains(params []float32, n int) chains.Walk {
	w := &temperedWalk[W]{Observed: e.Observed(params, n)}
	from := rng.Stream(e.Seed, rng.ChainStart, 0)
	e.States.Disperse(w.Batch, &from, 0)
	return w
}

// Levels implements chains.LevelledWalk.
func (w *temperedWalk[W]) Levels() int {
	if w.ladder == nil {
		return 1
	}
	return len(w.ladder.betas)
}

// Advance implements chains.Walk.
func (w *temperedWalk[W]) Advance(ctx context.Context, steps int) error {
	const choice = 256 // steps that choose the levels
	if w.ladder == nil {
		l, err := w.ensemble.Temper(ctx, 0, len(w.Batch)/w.ensemble.Words(), choice)
		if err != nil {
			return err
		}
		w.ladder = l
	}
	if err := w.ladder.Advance(ctx, steps); err != nil {
		return err
	}
	w.Batch, _ = w.ladder.Coldest()
	return nil
}

var _ chains.LevelledWalk = (*temperedWalk[byte])(nil)
