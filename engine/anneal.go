package engine

import (
	"fmt"

	"github.com/revgen/revgen/internal/conf"
)

// An Annealing raises the inverse temperature of a target while a generator is
// trained. A generator that meets a cold target at once may lose a mode of it, which
// its own samples do not show.
type Annealing struct {
	// Anneal is the fraction of the training over which π^β rises from
	// AnnealFrom to β = 1; 0 is without annealing.
	Anneal     float64 `json:"anneal"`
	AnnealFrom float64 `json:"anneal_from"` // β that annealing begins with
}

// Validate reports the first value that cannot be used, by its key.
func (a *Annealing) Validate() error {
	if err := conf.Fraction("anneal", a.Anneal); err != nil || a.Anneal == 0 {
		return err
	}
	if !(a.AnnealFrom <= 1) {
		return fmt.Errorf("anneal_from: %v is more than 1, the target itself", a.AnnealFrom)
	}
	return conf.Positive("anneal_from", a.AnnealFrom)
}

// At returns β of one of a number of steps.
func (a *Annealing) At(step, steps int) float64 {
	end := a.Anneal * float64(steps)
	if float64(step) >= end {
		return 1
	}
	return a.AnnealFrom + (1-a.AnnealFrom)*float64(step)/end
}
