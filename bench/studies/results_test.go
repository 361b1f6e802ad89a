package main

import (
	"context"
	"encoding/json"
	"flag"
	"io"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/revgen/revgen"
	"github.com/revgen/revgen/bench/reproduce"
	"github.com/revgen/revgen/engine"
	"github.com/revgen/revgen/engine/configtest"
	"github.com/revgen/revgen/hybrid"
	"github.com/revgen/revgen/internal/pool"
	"github.com/revgen/revgen/ising"
)

var systems = []engine.Definition{ising.Definition, hybrid.Definition}

var update = flag.Bool("update", false, "rewrite the golden files")

func golden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		require.NoError(t, os.WriteFile(path, []byte(got), 0o644))
	}
	want, err := os.ReadFile(path)
	require.NoError(t, err)
	require.Equal(t, string(want), got)
}

// tiny is a plan of fractions of a second, of the study of tinyStudy.
func tiny(dir string) *Plan {
	return &Plan{Dir: dir, Studies: []string{"moves"}, Seed: 3, Seeds: 2, Program: "test", Assignments: []string{
		"training.batch=64", "evaluation.samples=2000", "training.checkpoint_every=5", "generator.hidden=8", "generator.latent=4"}}
}

func execute(t *testing.T, ctx context.Context, p *Plan, watch Observer) (*Results, error) {
	t.Helper()
	workers := pool.New(1)
	defer workers.Close()
	return p.Execute(ctx, systems, workers, watch)
}

// fixed is a study that no run has to be made for.
func fixed() StudyOutcome {
	paper := func(x float64) *float64 { return &x }
	o := StudyOutcome{Name: "moves", Title: "Which moves", Preset: "best", Assignments: []string{"target.beta=0.5"}}
	for i, label := range []string{"as it is", "single moves"} {
		o.Variants = append(o.Variants, reproduce.Outcome{
			Setting: label, Title: label, System: "ising", Preset: "best", Changed: []string{"a.b=1", "c=2"}[:2*i], Warned: i,
			Seeds: []uint64{1, 2, 3}, Steps: 400, Batch: 2048, Samples: 200_000, Seconds: 9.87,
			Machine: reproduce.Machine{CPU: "Some CPU", Platform: "linux/amd64", Threads: 2, Path: "avx2", Program: "v1.2.0"},
			Metrics: []reproduce.Metric{
				{Name: "energy", Error: 0.004, Range: [2]float64{0.002, 0.005}, Relative: true, Floor: 0.0021, Paper: paper(0.0045)},
				{Name: "abs_magnetisation", Error: 0.004, Range: [2]float64{0.002, 0.005}, Floor: 5.1e-4, Paper: paper(0.0028)},
				{Name: "total_variation", Error: 0.018, Range: [2]float64{0.009, 0.0225}, Floor: 0.0179, Paper: paper(0.0331)},
				{Name: "joint_mmd2", Error: 1.5e-6, Range: [2]float64{7.5e-7, 1.875e-6}},
				{Name: "effective_sample_size", Error: 1.3e-4, Range: [2]float64{1.3e-4, 1.3e-4}},
				{Name: "log_z", Error: 1e-4, Range: [2]float64{1e-4, 1e-4}, Floor: 8e-5},
			},
		})
	}
	return o
}

// TestEditedResults takes results that somebody has edited: they are refused or
// become tables.
func TestEditedResults(t *testing.T) {
	study := fixed()
	study.Variants = study.Variants[:1]
	study.Variants[0].Metrics = study.Variants[0].Metrics[:1]
	document, err := json.Marshal(&Results{Schema: SchemaVersion, Studies: []StudyOutcome{study}})
	require.NoError(t, err)
	dir := t.TempDir()
	refused := 0
	configtest.Edited(t, document, func(edited []byte) {
		require.NoError(t, os.WriteFile(resultsFile(dir), edited, 0o644))
		require.NotPanics(t, func() {
			r, err := Read(dir)
			if err != nil {
				refused++
				return
			}
			_ = r.Markdown()
			for i := range r.Studies {
				require.NoError(t, r.Studies[i].Table().WriteText(io.Discard))
			}
		}, "%s", edited)
	})
	require.Greater(t, refused, 50)
	for edit, want := range map[string]string{
		`{"schema":1,"protocol":[{"target":"x"}]}`:                  "protocol[0].runs: ",
		`{"schema":1,"studies":[{"study":"moves"}]}`:                "studies[0].variants: ",
		`{"schema":1,"studies":[{"variants":[{"preset":"best"}]}]}`: "studies[0].variants[0].seeds: ",
		`{"schema":1,"outcomes":[]}`:                                "unknown field",
	} {
		require.NoError(t, os.WriteFile(resultsFile(dir), []byte(edit), 0o644))
		_, err := Read(dir)
		require.ErrorContains(t, err, want)
	}
}

// Every study is of a system that the program has, and its variants are valid.
func TestStudies(t *testing.T) {
	p := Plan{Studies: []string{"all"}, Seeds: 1}
	require.NoError(t, p.Check(revgen.Systems()))
	for _, s := range Studies {
		p.Studies = []string{s.Name}
		require.NoError(t, p.Check(revgen.Systems()), s.Name)
	}
}

// The command trains a study, prints its tables again, and says what it does not know.
func TestCommand(t *testing.T) {
	tinyStudy(t)
	dir := t.TempDir()
	var wrong *usageError
	for want, args := range map[string][]string{
		`unknown study "x"; the studies are moves`: {"x"},
		"seeds: -1 is not between":                 {"-seeds", "-1", "moves"},
		"only: it names targets":                   {"-only", "gmm", "moves"},
		"unknown key":                              {"-s", "training.stpes=1", "moves"},
		"-study":                                   {"-study", "moves"},
	} {
		err := command(context.Background(), append([]string{"-o", dir}, args...))
		require.ErrorContains(t, err, want)
		require.ErrorAs(t, err, &wrong)
	}
	require.ErrorContains(t, command(context.Background(), []string{"-o", dir, "tables"}), "holds no results")
	args := []string{"-o", dir, "-seeds", "1", "-threads", "1"}
	for _, a := range append(tiny(dir).Assignments, "training.steps=10") {
		args = append(args, "-s", a)
	}
	require.NoError(t, command(context.Background(), append(args, "moves")))
	require.NoError(t, os.Remove(Document(dir)))
	require.NoError(t, command(context.Background(), []string{"-o", dir, "tables"}))
	require.FileExists(t, Document(dir))
}
