package main

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/revgen/revgen/bench/reproduce"
	"github.com/revgen/revgen/engine/run"
)

// tinyStudy replaces the studies by one of fractions of a second.
func tinyStudy(t *testing.T) *Study {
	old := Studies
	t.Cleanup(func() { Studies = old })
	Studies = []Study{{
		Name: "moves", Title: "Which moves", System: "ising", Preset: "paper", Assignments: []string{"target.beta=0.5"},
		Variants: []Variant{
			{Label: "as it is"},
			{Label: "one spin, half as long", Assignments: []string{"transition.proposal=single", "training.steps=10"}},
		},
	}}
	return &Studies[0]
}

func TestStudy(t *testing.T) {
	study := tinyStudy(t)
	dir := t.TempDir()
	p := tiny(dir)
	p.Assignments = append(p.Assignments, "training.log_every=1")
	study.Assignments = append(study.Assignments, "training.steps=20")

	var began []string
	var done []string
	watch := Observer{
		Observer: reproduce.Observer{Begin: func(r reproduce.Run) {
			began = append(began, r.Dir[len(dir)+1:])
			require.Equal(t, []any{"moves", 4}, []any{r.Study, r.Count})
		}},
		Done: func(r *Results) error {
			for i := range r.Studies {
				done = append(done, r.Studies[i].Name)
			}
			return nil
		},
	}
	// Interrupted in the second variant, with the first in the results.
	ctx, cancel := context.WithCancel(context.Background())
	watch.Progress = func(now run.Progress) {
		if len(began) == 3 && now.Step == 5 {
			cancel()
		}
	}
	_, err := execute(t, ctx, p, watch)
	require.ErrorIs(t, err, run.ErrStopped)
	partial, err := Read(dir)
	require.NoError(t, err)
	require.Len(t, partial.Studies[0].Variants, 1)
	require.Empty(t, done)

	began, watch.Progress = nil, nil
	results, err := execute(t, context.Background(), p, watch)
	require.NoError(t, err)
	require.Equal(t, []string{"moves"}, done)
	require.Equal(t, []string{"studies/moves/as-it-is/seed3", "studies/moves/as-it-is/seed4",
		"studies/moves/one-spin-half-as-long/seed3", "studies/moves/one-spin-half-as-long/seed4"}, began)
	require.NoDirExists(t, filepath.Join(dir, "figures"))
	variants := results.Studies[0].Variants
	require.Len(t, variants, 2)
	require.Equal(t, []int{20, 10}, []int{variants[0].Steps, variants[1].Steps})
	require.Equal(t, []uint64{3, 4}, variants[1].Seeds)
	require.Equal(t, study.Variants[1].Assignments, variants[1].Changed[:2])
	require.LessOrEqual(t, variants[0].Warned, 2)
	require.Equal(t, variants[0].Warned > 0, len(variants[0].Warnings) > 0)

	document, err := os.ReadFile(Document(dir))
	require.NoError(t, err)
	require.Equal(t, results.Markdown(), string(document))
	require.Contains(t, results.Markdown(), "\n## Which moves\n")
}

func TestStudyTable(t *testing.T) {
	o := fixed()
	var b strings.Builder
	require.NoError(t, o.Table().WriteText(&b))
	r := &Results{Studies: []StudyOutcome{o}}
	golden(t, "study.md", r.Markdown()+"\n"+b.String())

	// Floors that are not those of all variants are not shown.
	o.Variants[1].Metrics = append([]reproduce.Metric(nil), o.Variants[1].Metrics...)
	o.Variants[1].Metrics[0].Floor *= 2
	require.Len(t, o.Table().Rows, 3)
	require.Equal(t, "paper", o.Table().Rows[2][0])
}

// Variants are in the study's order, and those that it has no longer are gone.
func TestPutVariant(t *testing.T) {
	study := &Study{Name: "x", Title: "X", Preset: "best", Variants: []Variant{{Label: "a"}, {Label: "b"}}}
	o := &StudyOutcome{Variants: []reproduce.Outcome{{Setting: "old"}, {Setting: "b", Steps: 1}}}
	o.put(study, reproduce.Outcome{Setting: "b", Steps: 2})
	o.put(study, reproduce.Outcome{Setting: "a"})
	require.Equal(t, []reproduce.Outcome{{Setting: "a"}, {Setting: "b", Steps: 2}}, o.Variants)
	require.Equal(t, "X", o.Title)
}

func TestStudiesAreDistinct(t *testing.T) {
	seen := map[string]bool{}
	for _, s := range Studies {
		require.False(t, seen[s.Name], s.Name)
		seen[s.Name] = true
		require.NotEmpty(t, s.Title)
		require.GreaterOrEqual(t, len(s.Variants), 2, s.Name)
		for _, v := range s.Variants {
			dir := s.Name + "/" + v.directory()
			require.False(t, seen[dir], dir)
			seen[dir] = true
			require.NotEmpty(t, v.directory())
		}
	}
}

func TestCheckStudies(t *testing.T) {
	tinyStudy(t)
	p := tiny(t.TempDir())
	p.Studies = []string{"moves"}
	require.NoError(t, p.Check(systems))
	p.Studies = []string{"all"}
	require.NoError(t, p.Check(systems))
	p.Studies = []string{"move"}
	require.ErrorContains(t, p.Check(systems), `unknown study "move"; the studies are moves, `)
	p.Studies = []string{"moves"}
	Studies[0].System = "gmm"
	require.ErrorContains(t, p.Check(systems), "moves: there is no system gmm")
	Studies[0].System, Studies[0].Variants[1].Assignments = "ising", []string{"transition.stpes=1"}
	require.ErrorContains(t, p.Check(systems), `moves: one spin, half as long: "transition.stpes=1"`)
}
