package engine

import (
	"fmt"

	"github.com/revgen/revgen/engine/nn"
	"github.com/revgen/revgen/internal/memory"
)

// A Demand is memory that a configuration asks for, and the key of the value
// that decides how much it is.
type Demand struct {
	Key   string
	Bytes float64
}

// A Demander is a configuration that says what memory a run of it needs.
type Demander interface{ Demands() []Demand }

// Afford reports that the demands of a configuration exceed the machine's memory
// together, by the key of the largest. It is what keeps a run from being killed
// after hours: every system's Validate ends with it.
func Afford(demands ...Demand) error {
	limit, sum := memory.Limit(), 0.0
	var largest Demand
	for _, d := range demands {
		sum += d.Bytes
		if d.Bytes > largest.Bytes {
			largest = d
		}
	}
	if sum <= limit {
		return nil
	}
	return fmt.Errorf("%s: the run needs about %.3g GiB, most of them for this, and the machine has %.3g GiB", largest.Key, sum/(1<<30), limit/(1<<30))
}

// Demands are those of every system with a generator of the given number of
// parameters, of which method, optimiser, backward pass and checkpoints keep
// copies, for what every system needs besides.
func (t *Training) Demands(params int) []Demand {
	const (
		float       = 4
		copies      = 5   // θ, its gradient, AdamW's two moments, the average
		packed      = 3   // for products forward and backward, with padding
		checkpoints = 2.5 // of a section, while its file is made
	)
	kept := copies + packed + float64(nn.LanesOf(t.Batch)) + 4*checkpoints
	all := []Demand{{"generator.hidden", float * kept * float64(params)}}
	if t.Method == "consensus" {
		all = append(all, Demand{"training.consensus.particles", float * (1 + checkpoints) * float64(t.Consensus.Particles) * float64(params)})
	}
	return all
}
