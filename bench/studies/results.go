package main

import (
	"cmp"
	"fmt"
	"path/filepath"
	"slices"

	"github.com/revgen/revgen/bench/reproduce"
)

// SchemaVersion is the version of studies.json.
const SchemaVersion = 1

// Results are what the studies gave.
type Results struct {
	Schema     int            `json:"schema"`
	Studies    []StudyOutcome `json:"studies,omitempty"`    // of variants, in the order of Studies
	Neighbours Neighbours     `json:"neighbours,omitempty"` // targets that were drawn
	Verdicts   Verdicts       `json:"verdicts,omitempty"`
	Field      []FieldRow     `json:"field,omitempty"`
	Protocol   []ProtocolRow  `json:"protocol,omitempty"`
}

// empty reports that there are none.
func (r *Results) empty() bool {
	return len(r.Studies)+len(r.Field)+len(r.Neighbours)+len(r.Verdicts)+len(r.Protocol) == 0
}

// replaced returns rows with one more, in place of an earlier one of the same name, ordered by
// rank.
func replaced[T any, N comparable, R cmp.Ordered](rows []T, row T, name func(*T) N, rank func(N) R) []T {
	rows = slices.DeleteFunc(rows, func(old T) bool { return name(&old) == name(&row) })
	rows = append(rows, row)
	slices.SortStableFunc(rows, func(a, b T) int { return cmp.Compare(rank(name(&a)), rank(name(&b))) })
	return rows
}

// ranks returns the order of targets by their names.
func ranks(targets []FieldTarget) func(name string) int {
	return func(name string) int {
		return slices.IndexFunc(targets, func(t FieldTarget) bool { return t.Name == name })
	}
}

// bySeed is the order of what belongs to seeds.
func bySeed(seed uint64) uint64 { return seed }

// A StudyOutcome is what the variants of a study gave.
type StudyOutcome struct {
	Name        string              `json:"study"`
	Title       string              `json:"title"`
	Preset      string              `json:"preset"`
	Assignments []string            `json:"assignments"` // of every variant
	Variants    []reproduce.Outcome `json:"variants"`    // Setting and Title are the label, Changed what the variant assigns
}

func resultsFile(dir string) string { return filepath.Join(dir, "studies.json") }

// Document returns the path of that which Write writes.
func Document(dir string) string { return filepath.Join(dir, "studies.md") }

// Read returns the results in dir, none if it has none.
func Read(dir string) (*Results, error) {
	r := &Results{Schema: SchemaVersion}
	return reproduce.Load(resultsFile(dir), r, r.check)
}

// check reports what results lack that tables take for granted.
func (r *Results) check() error {
	if err := reproduce.CheckSchema(r.Schema, SchemaVersion); err != nil {
		return err
	}
	for i := range r.Studies {
		variants := r.Studies[i].Variants
		if len(variants) == 0 {
			return fmt.Errorf("studies[%d].variants: the list is empty", i)
		}
		for j := range variants {
			if err := variants[j].Check(); err != nil {
				return fmt.Errorf("studies[%d].variants[%d].%w", i, j, err)
			}
		}
	}
	for i := range r.Protocol {
		if len(r.Protocol[i].Runs) == 0 {
			return fmt.Errorf("protocol[%d].runs: the list is empty", i)
		}
	}
	return nil
}

// study returns what is known of a study, which is none of its variants at
// first.
func (r *Results) study(s *Study) *StudyOutcome {
	if known := reproduce.Find(r.Studies, func(o StudyOutcome) bool { return o.Name == s.Name }); known != nil {
		return known
	}
	r.Studies = append(r.Studies, StudyOutcome{Name: s.Name})
	slices.SortStableFunc(r.Studies, func(a, b StudyOutcome) int {
		return slices.Index(StudyNames(), a.Name) - slices.Index(StudyNames(), b.Name)
	})
	return r.study(s)
}

// put replaces a variant or adds it in its place. Variants that the study no
// longer has go.
func (o *StudyOutcome) put(s *Study, v reproduce.Outcome) {
	o.Title, o.Preset, o.Assignments = s.Title, s.Preset, s.Assignments
	rank := func(label string) int {
		return slices.IndexFunc(s.Variants, func(d Variant) bool { return d.Label == label })
	}
	o.Variants = replaced(o.Variants, v, func(v *reproduce.Outcome) string { return v.Setting }, rank)
	o.Variants = slices.DeleteFunc(o.Variants, func(v reproduce.Outcome) bool { return rank(v.Setting) < 0 })
}

// Write writes studies.json and studies.md.
func (r *Results) Write(dir string) error {
	return reproduce.Store(resultsFile(dir), r, Document(dir), r.Markdown())
}
