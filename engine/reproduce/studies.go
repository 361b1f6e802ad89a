package reproduce

import (
	"fmt"
	"slices"
	"strings"
)

// A Study compares variants of one experiment, all trained alike but for what
// their assignments change. Where that tells the same, its runs are shorter than
// the preset's.
type Study struct {
	Name        string // as --study takes it
	Title       string
	System      string
	Preset      string
	Assignments []string // key.path=value, of every variant, after the preset's values
	Variants    []Variant
}

// A Variant is one row of a study.
type Variant struct {
	Label       string
	Assignments []string // after the study's
}

// Studies are the comparisons that can be run.
var Studies = []Study{
	{
		Name: "ablations-ising", Title: "Ising model, L = 3, β = 0.5: what the least-squares witness needs",
		System: "ising", Preset: "best",
		Assignments: []string{"target.beta=0.5", "training.steps=2000"},
		Variants: []Variant{
			{Label: "as it is"},
			{Label: "matrix of one batch", Assignments: []string{"loss.witness.memory=0"}},
			{Label: "ridge 1e-3", Assignments: []string{"loss.witness.ridge=1e-3"}},
			{Label: "ridge 1e-7", Assignments: []string{"loss.witness.ridge=1e-7"}},
			{Label: "m = 1", Assignments: []string{"transition.steps=1"}},
			{Label: "mixture of moves", Assignments: []string{"transition.proposal=mixture"}},
			{Label: "spins drawn", Assignments: []string{"loss.rao_blackwell=false"}},
		},
	},
}

// StudyNames lists the studies.
func StudyNames() []string {
	var names []string
	for _, s := range Studies {
		names = append(names, s.Name)
	}
	return names
}

// chooseStudies returns the studies of the given names, in their own order.
func chooseStudies(names []string) ([]Study, error) {
	if slices.Equal(names, []string{"all"}) {
		return Studies, nil
	}
	for _, name := range names {
		if !slices.Contains(StudyNames(), name) {
			return nil, fmt.Errorf("unknown study %q; the studies are %s, or all", name, strings.Join(StudyNames(), ", "))
		}
	}
	var chosen []Study
	for _, s := range Studies {
		if slices.Contains(names, s.Name) {
			chosen = append(chosen, s)
		}
	}
	return chosen, nil
}

// setting returns a variant as the experiment that it is.
func (s *Study) setting(v *Variant) Setting {
	return Setting{Name: v.Label, Title: v.Label, System: s.System, Assignments: slices.Concat(s.Assignments, v.Assignments)}
}

// directory returns the name of a variant's directory: its label in letters and
// digits.
func (v *Variant) directory() string {
	words := strings.FieldsFunc(v.Label, func(r rune) bool { return !isPlain(r) })
	return strings.ToLower(strings.Join(words, "-"))
}

func isPlain(r rune) bool {
	return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '.'
}
