package reproduce

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/revgen/revgen/engine"
	"github.com/revgen/revgen/engine/run"
	"github.com/revgen/revgen/hybrid"
	"github.com/revgen/revgen/internal/long"
	"github.com/revgen/revgen/internal/pool"
	"github.com/revgen/revgen/ising"
)

var systems = []engine.Definition{ising.Definition, hybrid.Definition}

// tiny is a plan of fractions of a second.
func tiny(dir string) *Plan {
	p := tinyHierarchy(dir)
	p.Assignments = append(p.Assignments, "generator.hidden=8", "generator.latent=4")
	return p
}

// tinyHierarchy is for presets that do not train perceptrons.
func tinyHierarchy(dir string) *Plan {
	return &Plan{
		Dir: dir, Presets: []string{"paper"}, Only: []string{"ising-0.5", "hybrid"}, Seed: 3, Seeds: 2, Program: "test",
		Assignments: []string{"training.steps=20", "training.batch=64", "evaluation.samples=2000",
			"training.checkpoint_every=5", "training.log_every=5"},
	}
}

func execute(t *testing.T, ctx context.Context, p *Plan, watch Observer) (*Results, error) {
	t.Helper()
	workers := pool.New(1)
	defer workers.Close()
	return p.Execute(ctx, systems, workers, watch)
}

// withoutTimes removes what differs from run to run.
func withoutTimes(r *Results) *Results {
	for i := range r.Outcomes {
		r.Outcomes[i].Seconds, r.Outcomes[i].Processors = 0, 0
	}
	return r
}

// TestResultsHaveOneOwner begins a second reproduction, and tables, while a first
// is under way: each would write the results that it knows of over the other's.
func TestResultsHaveOneOwner(t *testing.T) {
	long.SkipShort(t)
	plan := tiny(t.TempDir())
	plan.Only, plan.Seeds = []string{"hybrid"}, 1
	tried := false
	_, err := execute(t, context.Background(), plan, Observer{Outcome: func(*Outcome) error {
		tried = true
		other := *plan
		other.Seed++
		_, err := execute(t, context.Background(), &other, Observer{})
		require.ErrorContains(t, err, fmt.Sprintf("%s: in use by process %d", plan.Dir, os.Getpid()))
		return nil
	}})
	require.NoError(t, err)
	require.True(t, tried)
	require.NoFileExists(t, filepath.Join(plan.Dir, "lock"))
}

// uninterrupted are the results of tiny, of whichever test has them first.
var uninterrupted *Results

func TestExecute(t *testing.T) {
	if testing.Short() {
		t.Skip("runs settings")
	}
	dir := t.TempDir()
	var began []string
	var done []string
	results, err := execute(t, context.Background(), tiny(dir), Observer{
		Begin:   func(r Run) { began = append(began, r.Dir[len(dir)+1:]); require.Equal(t, 4, r.Count) },
		Outcome: func(o *Outcome) error { done = append(done, o.Setting); return nil },
	})
	require.NoError(t, err)
	uninterrupted = results
	require.Equal(t, []string{"paper/hybrid/seed3", "paper/hybrid/seed4", "paper/ising-0.5/seed3", "paper/ising-0.5/seed4"}, began)
	require.Equal(t, []string{"hybrid", "ising-0.5"}, done)
	for _, name := range []string{"results.json", "results.md", "paper/ising-0.5/seed4/model.rvg",
		"figures/paper-ising-0.5-distributions.svg", "figures/paper-ising-0.5-training.png", "figures/paper-hybrid-distributions.png"} {
		require.FileExists(t, filepath.Join(dir, name))
	}
	o := results.Outcomes[1]
	require.Equal(t, []uint64{3, 4}, o.Seeds)
	require.Equal(t, []int{20, 64, 2000}, []int{o.Steps, o.Batch, o.Samples})
	require.Len(t, o.Metrics, 6)
	require.NotNil(t, o.Metrics[0].Paper)
	require.Equal(t, "test", o.Machine.Program)
	records, err := run.ReadRecords(filepath.Join(dir, "paper", "ising-0.5", "seed3"))
	require.NoError(t, err)
	require.Len(t, records, 20, "errors at every step of so few, for the curves")
	records, err = run.ReadRecords(filepath.Join(dir, "paper", "ising-0.5", "seed4"))
	require.NoError(t, err)
	require.Len(t, records, 4, "no curves of further seeds")

	// A second time nothing is trained, and the results are the same, those of
	// the program that trained.
	later := tiny(dir)
	later.Program = "later"
	again, err := execute(t, context.Background(), later, Observer{Progress: func(run.Progress) { t.Error("trained again") }})
	require.NoError(t, err)
	require.Equal(t, results, again)
}

// Whenever it is interrupted, the same plan continues, and ends with the
// results of an uninterrupted one.
func TestInterrupted(t *testing.T) {
	if testing.Short() {
		t.Skip("runs settings")
	}
	want := uninterrupted
	if want == nil {
		var err error
		want, err = execute(t, context.Background(), tiny(t.TempDir()), Observer{})
		require.NoError(t, err)
	}
	dir := t.TempDir()
	steps, outcomes, stops := 0, 0, 0
	for {
		ctx, cancel := context.WithCancel(context.Background())
		got, err := execute(t, ctx, tiny(dir), Observer{
			Progress: func(run.Progress) {
				if steps++; steps%17 == 0 {
					cancel()
				}
			},
			Outcome: func(*Outcome) error { outcomes++; return nil },
		})
		cancel()
		if err == nil {
			require.Equal(t, withoutTimes(want), withoutTimes(got))
			break
		}
		require.ErrorIs(t, err, run.ErrStopped)
		stops++
		require.Less(t, stops, 20)
		_, err = os.Stat(resultsFile(dir))
		require.Equal(t, outcomes > 0, err == nil, "results are there as soon as a setting is complete")
	}
	require.Greater(t, stops, 1)
}

// TestMillion: the preset best of the paper's settings is measured by more samples, too,
// whose floors are lower.
func TestMillion(t *testing.T) {
	if testing.Short() {
		t.Skip("runs settings")
	}
	p := tinyHierarchy(t.TempDir())
	p.Presets, p.Only, p.Seeds = []string{"best"}, []string{"ising-0.2"}, 1
	results, err := execute(t, context.Background(), p, Observer{})
	require.NoError(t, err)
	o := results.Outcomes[0]
	require.Len(t, o.Million, len(o.Metrics))
	for i := range o.Million {
		require.Equal(t, o.Metrics[i].Name, o.Million[i].Name)
		if o.Metrics[i].Floor > 0 { // the effective sample size has none
			require.Less(t, o.Million[i].Floor, o.Metrics[i].Floor/10)
		}
	}
	require.Positive(t, o.Processors)
}

// TestFewerSeeds: large lattices are trained for fewer seeds, unless they are asked for;
// and a preset that only some systems have leaves the others out.
func TestFewerSeeds(t *testing.T) {
	seeds := func(p *Plan) map[string]int {
		all, err := p.trials(context.Background(), systems)
		require.NoError(t, err)
		count := map[string]int{}
		for _, trial := range all {
			count[trial.Dir] = len(trial.Configs)
		}
		return count
	}
	p := &Plan{Presets: []string{"best", "quick"}, Seed: 11, Seeds: 5}
	all := seeds(p)
	require.Equal(t, []int{5, 3, 1, 5}, []int{all["best/ising-l16-0.28"], all["best/ising-l32-0.28"], all["best/ising-l64-0.4407"], all["best/hybrid"]})
	require.NotContains(t, all, "quick/ising-l16-0.28")
	p.Only = []string{"ising-l64-0.4407"}
	require.Equal(t, map[string]int{"best/ising-l64-0.4407": 5}, seeds(p))
}

func TestTimeLimit(t *testing.T) {
	p := tiny(t.TempDir())
	ctx, cancel := context.WithTimeout(context.Background(), time.Nanosecond)
	defer cancel()
	_, err := execute(t, ctx, p, Observer{})
	require.ErrorIs(t, err, run.ErrStopped)
}

// Outcomes of other presets stay.
func TestPresetsBesideEachOther(t *testing.T) {
	long.SkipShort(t)
	p := tinyHierarchy(t.TempDir())
	p.Only, p.Seeds = []string{"ising-0.2"}, 1
	_, err := execute(t, context.Background(), p, Observer{})
	require.NoError(t, err)
	p.Presets = []string{"quick"}
	results, err := execute(t, context.Background(), p, Observer{})
	require.NoError(t, err)
	require.Len(t, results.Outcomes, 2)
	document, err := os.ReadFile(filepath.Join(p.Dir, "results.md"))
	require.NoError(t, err)
	require.Equal(t, results.Markdown(), string(document))
	require.True(t, bytes.Contains(document, []byte("| setting | metric | paper's error | paper | quick | sampling floor |")))
	require.True(t, bytes.Contains(document, []byte("| metric | exact | paper's error | sampling floor | paper | quick |")))
}

func TestCheck(t *testing.T) {
	for want, change := range map[string]func(*Plan){
		"unknown setting":                        func(p *Plan) { p.Only = []string{"ising"} },
		"preset:":                                func(p *Plan) { p.Presets = []string{"worst"} },
		"gmm: not a setting of the preset paper": func(p *Plan) { p.Only = []string{"gmm"} }, // nor of these systems
		"ising-l4-0.28-field: not a setting of the preset": func(p *Plan) { p.Only = []string{"ising-l4-0.28-field"} },
		"seeds: 0": func(p *Plan) { p.Seeds = 0 },
		`ising-0.5: "training.stpes=1": training.stpes:`: func(p *Plan) { p.Assignments, p.Only = []string{"training.stpes=1"}, p.Only[:1] },
		"training.batch: 1 is not":                       func(p *Plan) { p.Assignments = []string{"training.batch=1"} },
	} {
		p := tiny(t.TempDir())
		require.NoError(t, p.Check(systems))
		change(p)
		require.ErrorContains(t, p.Check(systems), want)
		_, err := execute(t, context.Background(), p, Observer{})
		require.ErrorContains(t, err, want)
	}
	p := tiny(t.TempDir())
	p.Only, p.Assignments = nil, nil
	require.NoError(t, p.Check(systems), "settings of systems that are not there are left out")
	p.Presets = []string{"quick", "best"}
	p.Only = []string{"ising-l4-0.28-field"}
	require.NoError(t, p.Check(systems), "one preset has it")
}
