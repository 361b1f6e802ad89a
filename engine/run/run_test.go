package run_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/revgen/revgen/engine"
	"github.com/revgen/revgen/engine/measure"
	"github.com/revgen/revgen/engine/run"
	"github.com/revgen/revgen/engine/systemtest"
	"github.com/revgen/revgen/internal/long"
	"github.com/revgen/revgen/internal/pool"
	"github.com/revgen/revgen/ising"
)

func config(t *testing.T) *ising.Config {
	t.Helper()
	c, err := ising.Preset("paper")
	require.NoError(t, err)
	c.Training.Steps, c.Training.Batch, c.Training.EMA = 12, 300, 0.998
	c.Training.Schedule.Kind, c.Transition.Anneal = "cosine", 0.3
	c.Target.L = 2
	c.Loss.Kind = "discriminator" // which has state beyond the parameters
	c.Loss.Discriminator.Hidden, c.Loss.Discriminator.Steps = []int{8}, 1
	c.Training.LogEvery, c.Training.CheckpointEvery = 1, 5
	c.Generator.Hidden = []int{16}
	c.Evaluation.Samples, c.Evaluation.Every = 1000, 4
	return c
}

// methodConfig is a small run by the given method, with a discriminator for the gradient
// and a loss without memory for the others.
func methodConfig(t *testing.T, method string) *ising.Config {
	c := config(t)
	c.Training.Method = method
	c.Training.Evolution.Pairs, c.Training.Consensus.Particles = 3, 5
	if method != "gradient" {
		c.Loss.Kind = "mmd"
	}
	return c
}

func train(t *testing.T, ctx context.Context, c engine.Config, threads int, opt run.Options) (*run.Result, error) {
	t.Helper()
	workers := pool.New(threads)
	defer workers.Close()
	return run.Train(ctx, c, workers, opt)
}

// withoutSeconds returns metrics.jsonl less the one figure that is not
// determined by the seed.
func withoutSeconds(t *testing.T, dir string) []engine.Record {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(dir, "metrics.jsonl"))
	require.NoError(t, err)
	var all []engine.Record
	for line := range bytes.Lines(data) {
		var r engine.Record
		require.NoError(t, json.Unmarshal(line, &r))
		r.Seconds = 0
		all = append(all, r)
	}
	return all
}

// TestResumedRunsEqualUninterruptedOnes stops a run after every step in turn,
// by cancellation, and continues it on another number of threads.
func TestResumedRunsEqualUninterruptedOnes(t *testing.T) {
	long.SkipShort(t)
	for _, method := range []string{"gradient", "evolution", "consensus"} {
		t.Run(method, func(t *testing.T) { testResumption(t, func() *ising.Config { return methodConfig(t, method) }) })
	}
}

func testResumption(t *testing.T, config func() *ising.Config) {
	whole := t.TempDir()
	want, err := train(t, context.Background(), config(), 1, run.Options{Dir: whole})
	require.NoError(t, err)
	for stop := 1; stop < 12; stop++ {
		dir := t.TempDir()
		ctx, cancel := context.WithCancel(context.Background())
		_, err := train(t, ctx, config(), 1+stop%3, run.Options{Dir: dir, Progress: func(p run.Progress) {
			if p.Step == stop {
				cancel()
			}
		}})
		require.ErrorIs(t, err, run.ErrStopped)
		require.Contains(t, status(t, dir), `"stopped"`)
		// What was logged after the checkpoint must not appear twice.
		appendTo(t, filepath.Join(dir, "metrics.jsonl"), `{"step":99}`)
		got, err := train(t, context.Background(), config(), 1+(stop+1)%3, run.Options{Dir: dir, Resume: "must"})
		require.NoError(t, err)
		require.Equal(t, want.Params, got.Params, "stopped at step %d", stop)
		require.Equal(t, want.Evaluation, got.Evaluation)
		require.Equal(t, withoutSeconds(t, whole), withoutSeconds(t, dir))
		m, err := run.ReadModel(dir)
		require.NoError(t, err)
		require.Equal(t, want.Params, m.Params)
		require.Equal(t, 12, m.Step)
	}
	again, err := train(t, context.Background(), config(), 2, run.Options{Dir: whole})
	require.NoError(t, err, "a completed run is evaluated again")
	require.Equal(t, want.Evaluation, again.Evaluation)
	_, err = train(t, context.Background(), config(), 2, run.Options{Dir: whole, Resume: "never"})
	require.ErrorContains(t, err, "holds a run already")
	_, err = train(t, context.Background(), config(), 2, run.Options{Dir: t.TempDir(), Resume: "must"})
	require.ErrorContains(t, err, "no run to resume")
}

// TestModelsOfARunAreTheSameBytes wants a model file to hold nothing but what
// the configuration determines.
func TestModelsOfARunAreTheSameBytes(t *testing.T) {
	var models [2][]byte
	for i := range models {
		dir := t.TempDir()
		_, err := train(t, context.Background(), config(t), 1+i, run.Options{Dir: dir})
		require.NoError(t, err)
		models[i], err = os.ReadFile(filepath.Join(dir, "model.rvg"))
		require.NoError(t, err)
	}
	require.Equal(t, models[0], models[1])
}

func TestMaxTimeStops(t *testing.T) {
	dir := t.TempDir()
	_, err := train(t, context.Background(), config(t), 1, run.Options{Dir: dir, MaxTime: 1})
	require.ErrorIs(t, err, run.ErrStopped)
	_, err = os.Stat(filepath.Join(dir, "checkpoint.rvg"))
	require.NoError(t, err)
}

// Evaluations during training are logged and change nothing else.
func TestEvaluationDuringTraining(t *testing.T) {
	dir := t.TempDir()
	with, err := train(t, context.Background(), config(t), 1, run.Options{Dir: dir})
	require.NoError(t, err)
	records, err := run.ReadRecords(dir)
	require.NoError(t, err)
	require.Len(t, records, 12)
	for _, r := range records {
		require.Equal(t, r.Step%4 == 0, r.Errors != nil, "step %d", r.Step)
	}
	last := records[11].Errors
	require.Len(t, last, len(with.Evaluation.Metrics))
	for i, m := range with.Evaluation.Metrics {
		require.Equal(t, engine.Error{Name: m.Name, Error: m.Error, Floor: m.Floor}, last[i])
	}

	c := config(t)
	c.Evaluation.Every, c.Training.LogEvery = 0, 100
	without, err := train(t, context.Background(), c, 1, run.Options{})
	require.NoError(t, err)
	require.Equal(t, with.Params, without.Params)
	c = config(t)
	c.Training.LogEvery = 100
	sparse := t.TempDir()
	_, err = train(t, context.Background(), c, 1, run.Options{Dir: sparse})
	require.NoError(t, err)
	records, err = run.ReadRecords(sparse)
	require.NoError(t, err)
	require.Len(t, records, 3, "an evaluation is logged whether its step would be or not")
}

// TestStatus: a run can be watched from elsewhere.
func TestStatus(t *testing.T) {
	defer run.SetStatusEvery(0)()
	dir, began := t.TempDir(), time.Now().Truncate(0)
	host, err := os.Hostname()
	require.NoError(t, err)
	read := func() (s run.Status) {
		require.NoError(t, json.Unmarshal([]byte(status(t, dir)), &s))
		require.Equal(t, []any{host, os.Getpid(), 12}, []any{s.Host, s.Process, s.Steps})
		require.False(t, s.Updated.Before(began), "%v after %v", s.Updated, began)
		return s
	}
	steps := 0
	_, err = train(t, context.Background(), config(t), 1, run.Options{Dir: dir, Progress: func(p run.Progress) {
		steps++
		s := read()
		require.Equal(t, "running", s.State)
		require.Equal(t, []any{p.Step, p.Loss, p.Acceptance}, []any{s.Step, *s.Loss, *s.Acceptance})
		require.Positive(t, s.StepsPerSecond)
		require.Positive(t, s.Seconds)
		require.Less(t, s.Checkpoint, s.Step)
		require.NoFileExists(t, filepath.Join(dir, "summary.json"))
	}})
	require.NoError(t, err)
	require.Greater(t, steps, 5)
	s := read()
	require.Equal(t, []any{"done", 12, 12}, []any{s.State, s.Step, s.Checkpoint})

	// Not more often than is of use.
	run.SetStatusEvery(time.Hour)
	dir = t.TempDir()
	_, err = train(t, context.Background(), config(t), 1, run.Options{Dir: dir, Progress: func(p run.Progress) {
		if p.Step == 3 {
			require.Zero(t, read().Step)
		}
	}})
	require.NoError(t, err)
}

func status(t *testing.T, dir string) string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(dir, "status.json"))
	require.NoError(t, err)
	return string(data)
}

func appendTo(t *testing.T, path, text string) {
	t.Helper()
	f, err := os.OpenFile(path, os.O_APPEND|os.O_WRONLY, 0)
	require.NoError(t, err)
	_, err = f.WriteString(text)
	require.NoError(t, err)
	require.NoError(t, f.Close())
}

// TestDamagedFilesAreRefused flips a bit in every part of a checkpoint and of
// a model, and cuts them at every part.
func TestDamagedFilesAreRefused(t *testing.T) {
	long.SkipShort(t)
	dir := t.TempDir()
	_, err := train(t, context.Background(), config(t), 1, run.Options{Dir: dir})
	require.NoError(t, err)
	previous, err := os.ReadFile(filepath.Join(dir, "checkpoint.prev.rvg"))
	require.NoError(t, err)
	for _, name := range []string{"checkpoint.rvg", "model.rvg"} {
		path := filepath.Join(dir, name)
		good, err := os.ReadFile(path)
		require.NoError(t, err)
		read := func(data []byte) error {
			require.NoError(t, os.WriteFile(path, data, 0o644))
			if name == "model.rvg" {
				_, err := run.ReadModel(dir)
				return err
			}
			_, err := train(t, context.Background(), config(t), 1, run.Options{Dir: dir, Resume: "must"})
			return err
		}
		for i := 0; i < len(good); i += 1 + len(good)/97 {
			bad := bytes.Clone(good)
			bad[i] ^= 1 << (i % 8)
			var file *run.FileError
			require.ErrorAs(t, read(bad), &file, "%s, byte %d", name, i)
			require.ErrorAs(t, read(good[:i]), &file, "%s, cut at %d", name, i)
			if name == "checkpoint.rvg" {
				require.Contains(t, file.Reason, "checkpoint.prev.rvg, of step 10, is intact")
			}
		}
		require.NoError(t, read(good))
		require.Error(t, read(nil))
		require.NoError(t, os.WriteFile(path, good, 0o644))
	}
	kept, err := os.ReadFile(filepath.Join(dir, "checkpoint.prev.rvg"))
	require.NoError(t, err)
	require.Equal(t, previous, kept, "the earlier checkpoint is untouched")
	_, err = run.ReadModel(filepath.Join(dir, "checkpoint.rvg"))
	require.ErrorContains(t, err, "holds a checkpoint, not a model")
}

func TestCheckpointOfAnotherConfiguration(t *testing.T) {
	dir := t.TempDir()
	config := func(t *testing.T) *ising.Config {
		c := config(t)
		c.Training.Seed = 1 << 60
		return c
	}
	_, err := train(t, context.Background(), config(t), 1, run.Options{Dir: dir})
	require.NoError(t, err)
	for key, change := range map[string]func(*ising.Config){
		"target.beta":                      func(c *ising.Config) { c.Target.Beta = 0.3 },
		"training.seed":                    func(c *ising.Config) { c.Training.Seed++ }, // no float64 tells it from its neighbour
		"training.steps":                   func(c *ising.Config) { c.Training.Steps++ },
		"generator.hidden":                 func(c *ising.Config) { c.Generator.Hidden = []int{17} },
		"training.optimizer.learning_rate": func(c *ising.Config) { c.Training.Optimizer.LearningRate *= 2 },
	} {
		c := config(t)
		change(c)
		_, err := train(t, context.Background(), c, 1, run.Options{Dir: dir})
		var mismatch *run.MismatchError
		require.ErrorAs(t, err, &mismatch, key)
		require.Equal(t, key, mismatch.Key)
	}
	c := config(t)
	c.Evaluation.Samples, c.Training.LogEvery, c.Training.CheckpointEvery = 50, 3, 0
	_, err = train(t, context.Background(), c, 1, run.Options{Dir: dir})
	require.NoError(t, err, "what does not change the numbers may differ")
}

// A toy system has one parameter per entry and goes wrong on demand.
type toy struct {
	engine.Common
	lossAt, gradAt, paramAt int
	lowest                  float32 // of the first parameter, below which the loss is another
	beyond                  float64 // that loss
	acceptance              float64
	look                    func(step int) // called for each loss
}

func newToy() *toy {
	return &toy{Common: systemtest.Common(), acceptance: 0.5}
}

func (c *toy) New(*pool.Pool) (engine.System, error) { return &toySystem{c: c}, nil }

type toySystem struct {
	c    *toy
	step int
}

func (s *toySystem) NumParams() int          { return 10 }
func (s *toySystem) Initialize(p []float32)  { clear(p); p[0] = 1 }
func (s *toySystem) Acceptance() float64     { return s.c.acceptance }
func (s *toySystem) TensorName(i int) string { return []string{"front", "back"}[i/5] }
func (s *toySystem) Loss(p []float32, step uint32) (float64, error) {
	s.step = int(step)
	low := s.c.lowest != 0 && p[0] < s.c.lowest
	if s.c.look != nil {
		s.c.look(s.step)
	}
	switch {
	case low:
		return s.c.beyond, nil
	case s.step == s.c.lossAt:
		return math.Inf(1), nil
	}
	return 1, nil
}
func (s *toySystem) Backward(_, g []float32) {
	for i := range g {
		g[i] = 1
	}
	if s.step == s.c.gradAt {
		g[7] = float32(math.NaN())
	}
	if s.step == s.c.paramAt {
		s.c.Training.Optimizer.LearningRate = math.MaxFloat32
	}
}

func TestNonFiniteValuesStopTheRun(t *testing.T) {
	for want, c := range map[string]*toy{
		"step 7: the loss is not finite":                             {lossAt: 7},
		"step 8: the gradient of the generator's back is not finite": {gradAt: 8},
	} {
		full := newToy()
		full.lossAt, full.gradAt = c.lossAt, c.gradAt
		dir := t.TempDir()
		_, err := train(t, context.Background(), full, 1, run.Options{Dir: dir})
		var bad *engine.NonFiniteError
		require.ErrorAs(t, err, &bad)
		require.True(t, strings.HasPrefix(err.Error(), want), err.Error())
		require.Contains(t, status(t, dir), `"failed"`)
		require.Contains(t, status(t, dir), `"checkpoint": 6`)
		_, err = os.Stat(filepath.Join(dir, "checkpoint.rvg"))
		require.NoError(t, err, "the last good checkpoint stays")
	}
	c := newToy()
	c.Training.Optimizer.LearningRate = 3e38
	c.Training.Optimizer.WeightDecay = 2
	_, err := train(t, context.Background(), c, 1, run.Options{})
	require.ErrorContains(t, err, "the parameter of the generator's front is not finite")
}

func TestLowAcceptanceIsReported(t *testing.T) {
	for acceptance, warnings := range map[float64]int{0.5: 0, 0.02: 0, 0.005: 1, 0: 1} {
		c := newToy()
		c.acceptance = acceptance
		var told []string
		r, err := train(t, context.Background(), c, 1, run.Options{Warning: func(s string) { told = append(told, s) }})
		require.NoError(t, err)
		require.Len(t, told, warnings)
		require.Equal(t, told, r.Warnings)
	}
}

func TestUnusableDirectory(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	require.NoError(t, os.WriteFile(file, nil, 0o644))
	_, err := train(t, context.Background(), newToy(), 1, run.Options{Dir: filepath.Join(file, "run")})
	require.ErrorContains(t, err, "not a directory")
	_, err = train(t, context.Background(), newToy(), 1, run.Options{Dir: t.TempDir(), Resume: "maybe"})
	require.ErrorContains(t, err, "auto, never or must")
	_, err = run.ReadModel(filepath.Join(t.TempDir(), "nothing"))
	require.True(t, errors.Is(err, os.ErrNotExist))
}

// An unmeasured configuration has a system that does something instead of measuring.
type unmeasured struct {
	ising.Config
	instead func()
}

func (c *unmeasured) New(workers *pool.Pool) (engine.System, error) {
	s, err := c.Config.New(workers)
	return struct {
		engine.System
		evaluator
	}{s, evaluator(c.instead)}, err
}

type evaluator func()

func (e evaluator) Evaluate(ctx context.Context, _ []float32, _ int) (*measure.Evaluation, error) {
	e()
	return nil, ctx.Err()
}

// A stop is one only if all of it is on the disk: the checkpoint, and the status that
// says so, which may be all that a stop after the last step has to write.
func TestAStopThatCannotBeWritten(t *testing.T) {
	for _, c := range []struct {
		name  string
		early bool // before the last step
	}{{"checkpoint.rvg", true}, {"status.json", true}, {"status.json", false}} {
		dir := t.TempDir()
		ctx, cancel := context.WithCancel(context.Background())
		stop := func() {
			path := filepath.Join(dir, c.name)
			require.NoError(t, os.RemoveAll(path))
			require.NoError(t, os.MkdirAll(filepath.Join(path, "occupied"), 0o700))
			cancel()
		}
		workers := pool.New(1)
		defer workers.Close()
		cfg := &unmeasured{*methodConfig(t, "gradient"), stop}
		cfg.Evaluation.Every = 0
		_, err := run.Train(ctx, cfg, workers, run.Options{Dir: dir, Progress: func(p run.Progress) {
			if c.early && p.Step == 1 {
				stop()
			}
		}})
		require.ErrorContains(t, err, c.name)
		require.NotErrorIs(t, err, run.ErrStopped, "%+v", c)
	}
}

// A judgedBowl keeps the parameters that it was evaluated with.
type judgedBowl struct {
	*systemtest.Bowl
	judged [][]float32
}

func (b *judgedBowl) New(*pool.Pool) (engine.System, error) { return b, nil }
func (b *judgedBowl) Evaluate(_ context.Context, params []float32, _ int) (*measure.Evaluation, error) {
	b.judged = append(b.judged, slices.Clone(params))
	return &measure.Evaluation{}, nil
}

// TestTheAverageIsWhatARunLeaves: evaluations during training and after it, the
// result and the model's file hold the weight average.
func TestTheAverageIsWhatARunLeaves(t *testing.T) {
	for _, method := range []string{"gradient", "evolution", "consensus"} {
		b := &judgedBowl{Bowl: systemtest.NewBowl(5, method)}
		b.Training.Steps, b.Training.EMA, b.Evaluation.Every = 12, 0.6, 5
		b.Training.Evolution.Pairs, b.Training.Consensus.Particles = 4, 6
		workers := pool.New(1)
		defer workers.Close()
		trainer, err := engine.NewTrainer(b, workers)
		require.NoError(t, err)
		var want [][]float32
		for step := 1; step <= 12; step++ {
			require.NoError(t, trainer.Step())
			if step%5 == 0 || step == 12 {
				want = append(want, slices.Clone(trainer.Params()))
			}
		}

		dir := t.TempDir()
		r, err := train(t, context.Background(), b, 1, run.Options{Dir: dir})
		require.NoError(t, err)
		require.Equal(t, want, b.judged, method)
		require.Equal(t, want[2], r.Params, method)
		m, err := run.ReadModel(dir)
		require.NoError(t, err)
		require.Equal(t, want[2], m.Params, method)
	}
}

// TestARunWithoutADirectoryWritesNothing, not even its checkpoints.
func TestARunWithoutADirectoryWritesNothing(t *testing.T) {
	t.Chdir(t.TempDir())
	_, err := train(t, context.Background(), newToy(), 1, run.Options{})
	require.NoError(t, err)
	left, err := os.ReadDir(".")
	require.NoError(t, err)
	require.Empty(t, left)
}

// TestAcceptanceIsWatchedAllAlong: a kernel that accepts at first, as an annealed one
// does, and rejects from then on.
func TestAcceptanceIsWatchedAllAlong(t *testing.T) {
	c := newToy()
	c.Training.Steps, c.Training.LogEvery = 160, 1
	c.acceptance = 0.5
	r, err := train(t, context.Background(), c, 1, run.Options{Progress: func(p run.Progress) {
		if p.Step == 60 {
			c.acceptance = 0.001
		}
	}})
	require.NoError(t, err)
	require.Len(t, r.Warnings, 1)
	require.Equal(t, "only 0.1 % of the proposals of steps 101 to 150 were accepted: a pair whose move is rejected teaches nothing; propose smaller or more varied moves (transition)", r.Warnings[0])
}

// TestProvenance: a summary names the program and holds what a hook says of the
// trained system.
func TestProvenance(t *testing.T) {
	c, dir := newToy(), t.TempDir()
	r, err := train(t, context.Background(), c, 1, run.Options{Dir: dir, Program: "test 1.0",
		Diagnose: func(_ context.Context, trained engine.System, r *run.Result) (any, error) {
			require.Equal(t, trained.NumParams(), len(r.Params))
			return map[string]string{"verdict": "fine"}, nil
		}})
	require.NoError(t, err)
	require.NotNil(t, r.Diagnosis)
	data, err := os.ReadFile(filepath.Join(dir, "summary.json"))
	require.NoError(t, err)
	var summary struct {
		Program, Machine, Date, Platform string
		Diagnosis                        struct{ Verdict string }
	}
	require.NoError(t, json.Unmarshal(data, &summary))
	require.Equal(t, "test 1.0", summary.Program)
	require.Equal(t, "fine", summary.Diagnosis.Verdict)
	require.Regexp(t, `^\d{4}-\d\d-\d\dT`, summary.Date)
	require.NotEmpty(t, summary.Machine+summary.Platform)
}
