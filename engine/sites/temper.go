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
	maxLevels = 256
	stages    = 4   // how often a ladder's levels are chosen anew
	spacing   = 1.2 // Δβ·σ(E) between neighbouring levels
)

// Temper returns replica exchange, also called parallel tempering: n chains at each of a
// ladder of inverse temperatures, from 0, where sites are independent, to the target's. Levels
// are spaced by the energy's standard deviation, so that swaps of all neighbours succeed equally
// often, about half of the time. Half of the steps find the levels, the others bring the chains
// nearer to their law. Every rank has all of the chains. purpose is 0, or rng.OfReference for
// draws that no other chains have.
func (e *Ensemble[W]) Temper(ctx context.Context, purpose rng.Purpose, n, steps int) (*Ladder[W], error) {
	betas := []float64{0}
	if e.Beta > 0 {
		betas = make([]float64, min(max(4, int(math.Sqrt(float64(e.States.Sites())))), 32))
		for k := range betas {
			betas[k] = e.Beta * float64(k) / float64(len(betas)-1)
		}
	}
	start := rng.Stream(e.Seed, rng.ChainStart|purpose, 0)
	l, err := e.newLadder(betas, n, purpose, func(level int, batch []W) { e.States.Disperse(batch, &start, uint64(level*n)) })
	if err != nil {
		return nil, err
	}
	for range stages {
		if l, err = l.respaced(ctx, steps/(2*stages)); err != nil {
			return nil, err
		}
	}
	return l, l.Advance(ctx, steps-int(l.steps))
}

// respaced takes steps, measures the energy's standard deviation in the second half of them, and
// returns a ladder whose levels are spaced by it.
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
	betas := equidistant(l.betas, length, min(max(2, 1+int(math.Ceil(length[len(length)-1]/spacing))), maxLevels))
	from := nearestLevels(l.betas, betas)
	next, err := l.ensemble.newLadder(betas, len(l.energies[0]), l.purpose, func(level int, batch []W) { l.levels[from[level]].Read(batch) })
	if err != nil {
		return nil, err
	}
	next.steps = l.steps
	return next, nil
}

// nearestLevels returns for each of betas the index of the nearest one in old.
func nearestLevels(old, betas []float64) []int {
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

// equidistant returns inverse temperatures from the first to the last of betas whose lengths are
// equally far apart, so that neighbours swap equally often. It interpolates the lengths of betas.
func equidistant(betas, length []float64, levels int) []float64 {
	last := len(betas) - 1
	ladder := make([]float64, levels)
	i := 0
	for k := range ladder {
		position := length[last] * float64(k) / float64(levels-1)
		for i < last-1 && length[i+1] < position {
			i++
		}
		ladder[k] = betas[i] + (betas[i+1]-betas[i])*min(1, (position-length[i])/(length[i+1]-length[i]))
	}
	ladder[0], ladder[levels-1] = betas[0], betas[last]
	return ladder
}

// ladderLength returns ∫ σ(E) dβ from the first of betas to each, given the standard
// deviations of the energy there. Deviations count as at least a fiftieth of the largest, so that
// levels are not too far apart where the energy hardly varies.
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
	last := len(l.observed) - 1
	l.Level(last) // reads the configurations
	return l.observed[last].Batch, l.energies[last]
}

// A temperedWalk is the chains of replica exchange at the target's temperature. Its steps are
// those of the ladder.
type temperedWalk[W uint64 | byte] struct {
	Observed[W]
	ladder *Ladder[W] // nil before the first step
}

// temperedChains returns a walk whose configurations begin far apart. The first step chooses the
// levels of the ladder, whose chains they are from then on.
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
