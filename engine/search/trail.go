package search

import (
	"slices"

	"github.com/revgen/revgen/internal/state"
)

// A Trail is θ of each step since one at which all that a search carries was kept. From
// there a Replayer computes what it carries now without a loss. A nil Trail keeps
// nothing.
type Trail struct {
	Points []float32 // θ of the step that it begins with and of each since
	Rates  []float64 // of each step since

	search Replayer
	params []float32
}

// NewTrail returns a trail that begins with the present θ, with room for so many steps.
func NewTrail(s Replayer, params []float32, steps int) *Trail {
	t := &Trail{Rates: make([]float64, 0, steps), search: s, params: params}
	t.Points = append(make([]float32, 0, (steps+1)*len(params)), params...)
	return t
}

// Add enters the step that was taken last.
func (t *Trail) Add(rate float64) {
	if t != nil {
		t.Points, t.Rates = append(t.Points, t.params...), append(t.Rates, rate)
	}
}

// Forget lets the trail begin so many steps later.
func (t *Trail) Forget(steps int) {
	t.Points = slices.Delete(t.Points, 0, steps*len(t.params))
	t.Rates = slices.Delete(t.Rates, 0, steps)
}

// State lists what a checkpoint holds in place of the search's bulk: θ, the rest, and the
// trail, whose sections have the names that files gave them first.
func (t *Trail) State() []state.Section {
	all := append([]state.Section{{Name: "params", Float32: t.params}}, t.search.Rest()...)
	return append(all, state.Section{Name: "journal.points", Float32: t.Points}, state.Section{Name: "journal.rates", Float64: t.Rates})
}

// Stretch gives the trail so many steps, whose θ and rates are still to be set.
func (t *Trail) Stretch(steps int) {
	n := len(t.params)
	t.Points = slices.Grow(t.Points[:0], (steps+2)*n)[:(steps+1)*n]
	t.Rates = slices.Grow(t.Rates[:0], steps+2)[:steps]
}

// Set sets the search's θ to that after so many steps of the trail.
func (t *Trail) Set(steps int) {
	n := len(t.params)
	copy(t.params, t.Points[steps*n:][:n])
}
