package spins

import (
	"github.com/revgen/revgen/engine"
	"github.com/revgen/revgen/internal/pool"
)

// A Kind is the kind of generator that a configuration chooses, with its settings. A
// system that has several asks for it in one place.
type Kind interface {
	// ValidateChoices reports the first value that cannot be used for the target, by its
	// key, of those that are not the same for all kinds.
	ValidateChoices(t Target) error
	// Demands bounds the memory of a run on n spins with a configuration that is valid
	// otherwise, but for what samples are measured with.
	Demands(n int) []engine.Demand
	// Explain says how the generator is trained, as engine.Explainer does.
	Explain() string
	// Build returns the system that trains it, and tells the ensemble how its samples are
	// drawn and, of a density, weighed.
	Build(t Target, e *Ensemble, workers *pool.Pool) (engine.System, error)
}
