package optim

import (
	"fmt"
	"math"
)

// A Schedule gives the learning rate of each step as a multiple of the
// optimiser's.
type Schedule struct {
	// Kind is "constant", "step" or "cosine".
	Kind string `json:"kind" enum:"constant,step,cosine"`
	// Milestones are the steps after which a step decay multiplies the rate
	// by Factor once more.
	Milestones []int   `json:"milestones" when:"kind=step"`
	Factor     float64 `json:"factor" when:"kind=step" is:"slope"` // of the rate at each milestone
	// Final is the fraction of the initial rate that a cosine schedule ends at.
	Final float64 `json:"final" when:"kind=cosine" is:"fraction"`
	// Warmup is the number of first steps over which the rate rises linearly.
	Warmup int `json:"warmup" is:"0.."`
}

// Validate reports the first milestone that cannot be used, by its key. Tags say what the other
// values may be.
func (s *Schedule) Validate() error {
	for i, m := range s.Milestones {
		if s.Kind == "step" && (m < 1 || i > 0 && m <= s.Milestones[i-1]) {
			return fmt.Errorf("milestones[%d]: %d; milestones are positive and increase", i, m)
		}
	}
	return nil
}

// At returns the multiple of the learning rate at a step, counted from 1, of a
// training of the given number of steps.
func (s *Schedule) At(step, steps int) float64 {
	rate := 1.0
	switch s.Kind {
	case "step":
		for _, m := range s.Milestones {
			if step > m {
				rate *= s.Factor
			}
		}
	case "cosine":
		rate = s.Final + (1-s.Final)*0.5*(1+math.Cos(math.Pi*float64(step-1)/float64(max(steps, 1))))
	}
	if s.Warmup > 0 {
		rate *= min(1, float64(step)/float64(s.Warmup))
	}
	return rate
}
