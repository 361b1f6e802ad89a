package run_test

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/revgen/revgen/engine"
	"github.com/revgen/revgen/engine/catalogue"
	"github.com/revgen/revgen/engine/run"
	"github.com/revgen/revgen/internal/figure"
	"github.com/revgen/revgen/internal/notes"
	"github.com/revgen/revgen/internal/pool"
)

// TestSetUp: what a directory holds while its run is set up, and after each way in which that
// may end.
func TestSetUp(t *testing.T) {
	silent := func(string) {}
	stateOf := func(dir string) (s run.Status) {
		require.NoError(t, json.Unmarshal([]byte(status(t, dir)), &s))
		return s
	}
	broken := errors.New("broken")
	for _, c := range []struct {
		name   string
		before bool // a setup was stopped there
		reason error
		want   string
		state  string // "" where nothing is left
	}{
		{"new, stopped", false, context.Canceled, "stopped before the first step; the same command continues from ", "stopped"},
		{"new, broken", false, broken, "broken", ""},
		{"again, stopped", true, context.Canceled, "stopped before the first step; the same command continues from ", "stopped"},
		{"again, broken", true, broken, "broken", "failed"},
	} {
		dir := filepath.Join(t.TempDir(), "run")
		if c.before {
			s, err := run.SetUp(dir, "never", newToy(), silent)
			require.NoError(t, err)
			require.ErrorIs(t, s.End(context.Canceled), run.ErrStopped)
		}
		toy := newToy()
		toy.Training.Steps = 33
		s, err := run.SetUp(dir, "auto", toy, silent)
		require.NoError(t, err)
		now := stateOf(dir)
		require.Equal(t, []any{"setting up", 33, -1, 0, ""}, []any{now.State, now.Steps, now.Checkpoint, now.Step, now.Error})
		require.Equal(t, os.Getpid(), now.Process)
		config, err := os.ReadFile(filepath.Join(dir, "config.json"))
		require.NoError(t, err)
		require.Contains(t, string(config), `"steps": 33`)
		_, err = run.SetUp(dir, "auto", toy, silent)
		require.ErrorContains(t, err, "in use by process")

		err = s.End(c.reason)
		require.ErrorContains(t, err, c.want, c.name)
		require.Equal(t, c.reason == context.Canceled, errors.Is(err, run.ErrStopped), c.name)
		if c.state == "" {
			require.NoDirExists(t, dir, c.name)
			continue
		}
		require.Equal(t, c.state, stateOf(dir).State, c.name)
		if c.state == "failed" {
			require.Equal(t, "broken", stateOf(dir).Error)
		}
	}

	// A directory that holds a run keeps it, whatever becomes of the setup.
	dir := t.TempDir()
	stoppedAt(t, newToy(), dir, 10)
	before := files(t, dir)
	for _, reason := range []error{context.Canceled, broken} {
		s, err := run.SetUp(dir, "must", newToy(), silent)
		require.NoError(t, err)
		ctx := context.Background()
		require.Equal(t, ctx, s.Noting(ctx))
		require.Error(t, s.End(reason))
		require.Equal(t, before, files(t, dir))
	}
	_, err := run.SetUp(dir, "never", newToy(), silent)
	require.EqualError(t, err, dir+": holds a run already; choose another directory, or resume it")
	_, err = run.SetUp(t.TempDir(), "must", newToy(), silent)
	require.ErrorContains(t, err, "holds no run to resume")
	file := filepath.Join(dir, "config.json")
	_, err = run.SetUp(filepath.Join(file, "run"), "", newToy(), silent)
	require.ErrorContains(t, err, "run directory "+file+"/run: ")

	// What Train has taken is its own to end.
	dir = t.TempDir()
	s, err := run.SetUp(dir, "", newToy(), silent)
	require.NoError(t, err)
	_, err = train(t, context.Background(), newToy(), 1, run.Options{Dir: dir, Resume: "never", Setup: s})
	require.NoError(t, err)
	require.Equal(t, broken, s.End(broken))
	require.Equal(t, "done", stateOf(dir).State)
}

// TestLooksAreKept: what a recipe has made of its target is read again, unless it is damaged, and
// counts what it has spent.
func TestLooksAreKept(t *testing.T) {
	dir := t.TempDir()
	s, err := run.SetUp(dir, "", newToy(), func(string) {})
	require.NoError(t, err)
	require.Equal(t, &catalogue.Look{}, run.ReadLook(dir))
	tally := new(engine.Tally)
	ctx := s.Noting(engine.WithTally(context.Background(), tally))
	require.NotEqual(t, context.Background(), ctx)
	tally.Add(5)
	look := &catalogue.Look{Of: json.RawMessage(`{"a":1}`), Recipe: json.RawMessage(`{"a":2}`), Why: "because", Evaluations: 5}
	for range 2 {
		require.NoError(t, s.Keep(look))
		require.Equal(t, look, run.ReadLook(dir))
	}
	path := filepath.Join(dir, "recipe.json")
	kept, err := os.ReadFile(path)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(path, kept[:len(kept)-1], 0o600))
	require.Equal(t, &catalogue.Look{}, run.ReadLook(dir))
	require.ErrorContains(t, s.Keep(&catalogue.Look{Of: json.RawMessage("{")}), "unexpected end of JSON input")
	require.NoError(t, os.Remove(path))
	require.NoError(t, os.MkdirAll(filepath.Join(path, "in the way"), 0o700))
	require.ErrorContains(t, s.Keep(look), "recipe.json: ")
	require.NoError(t, os.RemoveAll(path))
	require.ErrorIs(t, s.End(context.Canceled), run.ErrStopped)
	var told run.Status
	require.NoError(t, json.Unmarshal([]byte(status(t, dir)), &told))
	require.Equal(t, &engine.Evaluations{Look: 5}, told.Evaluations)

	// The next setup goes on counting from there.
	s, err = run.SetUp(dir, "", newToy(), func(string) {})
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal([]byte(status(t, dir)), &told))
	require.Equal(t, &engine.Evaluations{Look: 5}, told.Evaluations)
	tally = new(engine.Tally)
	s.Noting(engine.WithTally(context.Background(), tally))
	require.Equal(t, engine.Evaluations{Look: 5}, tally.Evaluations())
	require.ErrorIs(t, s.End(context.Canceled), run.ErrStopped)
}

// TestNotesOfLooks: what a look has noted stays until the generator is placed, and goes where it is
// broken.
func TestNotesOfLooks(t *testing.T) {
	dir := t.TempDir()
	noted := func() int {
		entries, _ := os.ReadDir(filepath.Join(dir, "notes"))
		return len(entries)
	}
	for _, c := range []struct {
		keep   bool
		reason error
		left   int
	}{{false, context.Canceled, 1}, {true, context.Canceled, 1}, {false, errors.New("broken"), 0}, {false, context.Canceled, 1}} {
		s, err := run.SetUp(dir, "", newToy(), func(string) {})
		require.NoError(t, err)
		page := notes.PageOf(s.Noting(context.Background()), "look")
		time.Sleep(6 * time.Millisecond) // less is not worth a note
		page.Done(17)
		require.Equal(t, 1, noted())
		if c.keep {
			require.NoError(t, s.Keep(&catalogue.Look{Of: json.RawMessage("1"), Recipe: json.RawMessage("2")}))
		}
		require.Error(t, s.End(c.reason))
		require.Equal(t, c.left, noted(), "%v", c)
	}
	_, err := train(t, context.Background(), newToy(), 1, run.Options{Dir: dir})
	require.NoError(t, err)
	require.Zero(t, noted())
}

// countedToy counts an evaluation for each loss.
type countedToy struct{ *toy }

func (c countedToy) New(workers *pool.Pool) (engine.System, error) {
	s, err := c.toy.New(workers)
	return &countedSystem{toySystem: s.(*toySystem)}, err
}

type countedSystem struct {
	*toySystem
	tally *engine.Tally
}

func (s *countedSystem) Count(t *engine.Tally) { s.tally = t }
func (s *countedSystem) Operations() int       { return 1 }

func (s *countedSystem) Loss(p []float32, step uint32) (float64, error) {
	s.tally.Add(1)
	return s.toySystem.Loss(p, step)
}

// TestEvaluationsAreCounted: they are told of at each step, kept, and end a run at their limit,
// which one that is resumed goes on from.
func TestEvaluationsAreCounted(t *testing.T) {
	dir := t.TempDir()
	var told []int64
	_, err := train(t, context.Background(), countedToy{newToy()}, 1, run.Options{Dir: dir, MaxEvaluations: 20, Progress: func(p run.Progress) {
		told = append(told, p.Evaluations)
	}})
	require.ErrorIs(t, err, run.ErrStopped)
	for i, n := range told {
		require.EqualValues(t, i+1, n)
	}
	require.GreaterOrEqual(t, len(told), 19)
	require.Contains(t, status(t, dir), `"training": 20`)
	r, err := train(t, context.Background(), countedToy{newToy()}, 1, run.Options{
		Dir: dir,
		Diagnose: func(_ context.Context, trained engine.System, _ *run.Result) (any, error) {
			trained.(*countedSystem).tally.Add(5)
			return nil, nil
		},
		Leave: func(_ context.Context, trained engine.System, _ *run.Result) error {
			trained.(*countedSystem).tally.Add(7)
			return nil
		},
	})
	require.NoError(t, err)
	require.Equal(t, &engine.Evaluations{Training: 60, Diagnosis: 5}, r.Evaluations)
	require.Contains(t, status(t, dir), `"output": 7`)
	summary, err := os.ReadFile(filepath.Join(dir, "summary.json"))
	require.NoError(t, err)
	require.Contains(t, string(summary), `"training": 60`)
	_, err = train(t, context.Background(), newToy(), 1, run.Options{MaxEvaluations: 20})
	require.EqualError(t, err, "max-evaluations: evaluations of toy are not counted; those of reals, mixed and targets in Go are")
	limited := new(engine.Tally)
	_, err = train(t, engine.WithTally(limited.Limit(context.Background(), 5), limited), newToy(), 1, run.Options{})
	require.ErrorContains(t, err, "max-evaluations: ")
	_, err = train(t, engine.WithTally(context.Background(), new(engine.Tally)), newToy(), 1, run.Options{})
	require.NoError(t, err)
}

// TestEndsOfRuns: errors of what a run does last, and of where it cannot begin.
func TestEndsOfRuns(t *testing.T) {
	broken := errors.New("broken")
	for _, opt := range []run.Options{
		{Diagnose: func(context.Context, engine.System, *run.Result) (any, error) { return nil, broken }},
		{Leave: func(context.Context, engine.System, *run.Result) error { return broken }},
	} {
		for _, dir := range []string{"", t.TempDir()} {
			opt.Dir = dir
			_, err := train(t, context.Background(), newToy(), 1, opt)
			require.Equal(t, broken, err)
			if dir != "" {
				require.Contains(t, status(t, dir), `"failed"`)
				require.FileExists(t, filepath.Join(dir, "model.rvg"))
			}
		}
	}
	for _, name := range []string{"model.rvg", "summary.json"} { // which cannot be written at last
		dir := t.TempDir()
		_, err := train(t, context.Background(), newToy(), 1, run.Options{Dir: dir, Progress: func(p run.Progress) {
			if p.Step == 60 {
				require.NoError(t, os.MkdirAll(filepath.Join(dir, name, "in the way"), 0o700))
			}
		}})
		require.ErrorContains(t, err, name)
		require.Contains(t, status(t, dir), `"failed"`)
	}
	from := &painted{toy: newToy(), err: broken} // a model to start from, whose system cannot be made
	from.Training.Seed = 7
	start := &run.Start{Config: from, Params: []float32{1}}
	c := newToy()
	c.Training.Start = start.Hash()
	_, err := train(t, context.Background(), c, 1, run.Options{Start: start})
	require.Equal(t, broken, err)
	_, err = train(t, context.Background(), newToy(), 1, run.Options{Resume: "must"})
	require.EqualError(t, err, "resume: there is no run directory to resume from")
	_, err = train(t, context.Background(), newToy(), 1, run.Options{Resume: "maybe"})
	require.EqualError(t, err, `resume: "maybe" is not auto, never or must`)
	invalid := newToy()
	invalid.Training.LogEvery = 0
	for _, dir := range []string{"", t.TempDir()} {
		_, err = train(t, context.Background(), invalidToy{invalid}, 1, run.Options{Dir: dir})
		require.ErrorContains(t, err, "training.log_every: ")
	}

	// What is written beside the first step, and cannot be, ends the run in the second.
	for _, name := range []string{"metrics.jsonl", "status.json", "config.json"} {
		dir := t.TempDir()
		require.NoError(t, os.MkdirAll(filepath.Join(dir, name, "in the way"), 0o700))
		c := newToy()
		c.look = func(step int) { require.Less(t, step, 2) }
		_, err = train(t, context.Background(), c, 1, run.Options{Dir: dir})
		require.ErrorContains(t, err, name)
		require.NotErrorIs(t, err, run.ErrStopped)
	}
}

// invalidToy says what is wrong with it.
type invalidToy struct{ *toy }

func (c invalidToy) Validate() error { return c.Common.Validate() }

// TestOtherKernels: a run that goes on with other kernels than it began with says so once.
func TestOtherKernels(t *testing.T) {
	dir := t.TempDir()
	stoppedAt(t, newToy(), dir, 10)
	require.NoError(t, run.SetPath(filepath.Join(dir, "checkpoint.rvg"), "abacus"))
	want := "resumed on kernel path " + run.ActivePath() + " a run that began on abacus: its numbers will differ in their last bits from those of an uninterrupted run"
	var told []string
	r, err := train(t, context.Background(), newToy(), 1, run.Options{Dir: dir, Warning: func(s string) { told = append(told, s) }})
	require.NoError(t, err)
	require.Equal(t, []string{want}, r.Warnings)
	require.Equal(t, []string{want}, told)
}

// painted is a toy with pictures.
type painted struct {
	*toy
	Transition engine.Annealing `json:"transition"`
	err        error
}

func (c *painted) New(workers *pool.Pool) (engine.System, error) {
	if c.err != nil && c.Training.Seed == 7 {
		return nil, c.err
	}
	s, err := c.toy.New(workers)
	return &paintedSystem{s.(*toySystem), c.err}, err
}

type paintedSystem struct {
	*toySystem
	err error
}

func (s *paintedSystem) Figures(_ context.Context, _ []float32, samples int) ([]figure.Figure, error) {
	return []figure.Figure{{Name: "one"}}, s.err
}

// TestPictures: those of a system come before the curves of its training, which say until when
// its target was annealed; whose errors are said.
func TestPictures(t *testing.T) {
	workers := pool.New(1)
	defer workers.Close()
	dir := t.TempDir()
	c := &painted{toy: newToy(), Transition: engine.Annealing{Anneal: 0.26, AnnealFrom: 0.5}}
	_, err := train(t, context.Background(), c, 1, run.Options{Dir: dir})
	require.NoError(t, err)
	ctx := context.Background()
	figures, err := pictures(ctx, c, nil, workers, dir)
	require.NoError(t, err)
	require.Len(t, figures, 2)
	require.Equal(t, "one", figures[0].Name)
	rows := figures[1].Rows
	require.Equal(t, "β rises until step 16, and the loss may rise with it", rows[len(rows)-1].Panels[0].Title)
	figures, err = pictures(ctx, newToy(), nil, workers, dir)
	require.NoError(t, err)
	require.Len(t, figures, 1)
	require.Empty(t, figures[0].Rows[len(figures[0].Rows)-1].Panels[0].Title)
	metrics := filepath.Join(dir, "metrics.jsonl")
	require.NoError(t, os.WriteFile(metrics, []byte("x\n"), 0o600))
	_, err = pictures(ctx, c, nil, workers, dir)
	require.ErrorContains(t, err, metrics+": line 1: ")
	require.NoError(t, os.WriteFile(metrics, nil, 0o600))
	figures, err = pictures(ctx, c, nil, workers, dir)
	require.NoError(t, err)
	require.Len(t, figures, 1)
	c.err = errors.New("no paint")
	_, err = pictures(ctx, c, nil, workers, dir)
	require.EqualError(t, err, "no paint")
	c.Training.Seed = 7
	_, err = pictures(ctx, c, nil, workers, dir)
	require.EqualError(t, err, "no paint")
}

// TestWarningsAreToldOnce however often they come.
func TestWarningsAreToldOnce(t *testing.T) {
	told, kept := run.Reports([]string{"one", "two", "one", "two"})
	require.Equal(t, []string{"one", "two"}, told)
	require.Equal(t, told, kept)
}
