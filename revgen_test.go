package revgen_test

import (
	"bytes"
	"context"
	"errors"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/revgen/revgen"
	"github.com/revgen/revgen/engine"
	"github.com/revgen/revgen/engine/catalogue"
	"github.com/revgen/revgen/engine/diagnose"
	"github.com/revgen/revgen/engine/run"
	"github.com/revgen/revgen/internal/cli"
	"github.com/revgen/revgen/internal/long"
)

// small are short runs of each kind of state.
var small = map[string][]string{
	"ising":  {"ising", "quick", "transition.proposal=multi-spin", "training.steps=3", "training.batch=64", "evaluation.samples=500"},
	"gmm":    {"gmm", "quick", "training.steps=3", "training.batch=64", "evaluation.samples=500"},
	"hybrid": {"hybrid", "quick", "training.steps=3", "training.batch=64", "evaluation.samples=500"},
}

func train(t *testing.T, kind string, opt revgen.TrainOptions, set ...string) *revgen.Model {
	t.Helper()
	args := small[kind]
	cfg, err := revgen.Configure(args[0], args[1], slices.Concat(args[2:], set)...)
	require.NoError(t, err)
	model, err := revgen.Train(context.Background(), cfg, opt)
	require.NoError(t, err)
	return model
}

func sampler(t *testing.T, m *revgen.Model, seed uint64, threads int) *revgen.Sampler {
	t.Helper()
	s, err := m.NewSampler(seed, threads)
	require.NoError(t, err)
	t.Cleanup(s.Close)
	return s
}

// room has room for n states in each way that a model's samples can be had.
func room(kind string, s *revgen.Sampler, n int) []revgen.States {
	switch d := s.Dim(); kind {
	case "ising":
		return []revgen.States{{Spins: make([]int8, n*d)}, {Bits: make([]uint64, n*((d+63)/64))}}
	case "gmm":
		return []revgen.States{{X: make([]float32, n*d)}}
	default:
		return []revgen.States{{X: make([]float32, n*d), Modes: make([]int32, n)}}
	}
}

// What the command line writes, the library gives, in memory, read again from a
// directory, and from a file.
func TestModelsAreThoseOfTheCommandLine(t *testing.T) {
	long.SkipShort(t)
	ctx := context.Background()
	for kind, args := range small {
		dir := t.TempDir()
		trained := train(t, kind, revgen.TrainOptions{Dir: filepath.Join(dir, "run"), Threads: 2})
		require.NotNil(t, trained.Evaluation)
		loaded, err := revgen.Load(filepath.Join(dir, "run"))
		require.NoError(t, err)
		require.NoError(t, trained.Save(filepath.Join(dir, "saved.rvg")))
		left, err := os.ReadFile(filepath.Join(dir, "run", "model.rvg"))
		require.NoError(t, err)
		saved, err := os.ReadFile(filepath.Join(dir, "saved.rvg"))
		require.NoError(t, err)
		require.True(t, bytes.Equal(left, saved), "the file that a run leaves and the one that is saved")

		out := filepath.Join(dir, "out.npy")
		require.Zero(t, cli.Run([]string{"sample", filepath.Join(dir, "run"), "-n", "300", "--seed", "9", "--refine", "2", "-o", out, "--quiet"},
			&bytes.Buffer{}, os.Stderr, revgen.Systems()...), "%s", args)
		file, err := os.ReadFile(out)
		require.NoError(t, err)
		for _, model := range []*revgen.Model{trained, loaded} {
			s := sampler(t, model, 9, 3)
			data := make([]byte, 300*s.Formats()[0].RowBytes)
			require.NoError(t, s.SampleBytes(ctx, data, "", 0, 2))
			require.True(t, bytes.HasSuffix(file, data), "samples of %s", kind)
		}
	}
}

// Any part of the stream, in any slices, by any number of threads, refined then or
// later, is the same.
func TestSamplesAreOneStream(t *testing.T) {
	long.SkipShort(t)
	ctx := context.Background()
	const n, cut, refine = 200, 77, 3
	for kind := range small {
		model := train(t, kind, revgen.TrainOptions{Threads: 1})
		one, three := sampler(t, model, 5, 1), sampler(t, model, 5, 3)
		other := sampler(t, model, 6, 1)
		for way, whole := range room(kind, one, n) {
			require.NoError(t, one.Sample(ctx, whole, 0, refine))
			later := room(kind, three, n-cut)[way]
			require.NoError(t, three.Sample(ctx, later, cut, 0))
			require.NotEqual(t, tail(whole, cut, n), later, "%s: refinement does nothing", kind)
			require.NoError(t, three.Refine(ctx, later, cut, refine))
			require.Equal(t, tail(whole, cut, n), later, kind)
			require.NoError(t, other.Sample(ctx, later, cut, refine))
			require.NotEqual(t, tail(whole, cut, n), later, "%s: another seed gives the same", kind)
		}
	}
}

// Exact draws are a stream, too.
func TestExactDrawsAreOneStream(t *testing.T) {
	long.SkipShort(t)
	ctx := context.Background()
	const n, cut = 200, 77
	for kind := range small {
		model := train(t, kind, revgen.TrainOptions{Threads: 1})
		one, three := sampler(t, model, 5, 1), sampler(t, model, 5, 3)
		for way, whole := range room(kind, one, n) {
			x, err := one.SampleExact(ctx, whole, 0)
			require.NoError(t, err, kind)
			require.True(t, x.Acceptance > 0 && x.Acceptance <= 1 && x.Time >= 1, "%s: %+v", kind, x)
			later := room(kind, three, n-cut)[way]
			_, err = three.SampleExact(ctx, later, cut)
			require.NoError(t, err)
			require.Equal(t, tail(whole, cut, n), later, kind)
		}
	}
	cfg, err := revgen.Configure("ising", "paper", "training.steps=1", "evaluation.samples=500")
	require.NoError(t, err)
	model, err := revgen.Train(ctx, cfg, revgen.TrainOptions{})
	require.NoError(t, err)
	_, err = sampler(t, model, 5, 1).SampleExact(ctx, revgen.States{Spins: make([]int8, 9)}, 0)
	require.ErrorContains(t, err, "density")
}

// tail returns states cut … n−1 of n.
func tail(s revgen.States, cut, n int) revgen.States {
	if s.Spins != nil {
		s.Spins = s.Spins[len(s.Spins)/n*cut:]
	}
	if s.Bits != nil {
		s.Bits = s.Bits[len(s.Bits)/n*cut:]
	}
	if s.X != nil {
		s.X = s.X[len(s.X)/n*cut:]
	}
	if s.Modes != nil {
		s.Modes = s.Modes[cut:]
	}
	return s
}

func TestEnergies(t *testing.T) {
	long.SkipShort(t)
	ctx := context.Background()
	ising := sampler(t, train(t, "ising", revgen.TrainOptions{}, "target.j=0.5", "target.h=0.25"), 1, 1)
	up := revgen.States{Spins: bytes9(1)}
	e := make([]float64, 1)
	beta, err := ising.Energies(e, up)
	require.NoError(t, err)
	require.Equal(t, 0.2, beta)
	require.Equal(t, -0.5*18-0.25*9, e[0], "nine spins up, with 18 bonds")
	_, err = ising.Energies(e, revgen.States{Bits: []uint64{0}})
	require.NoError(t, err)
	require.Equal(t, -0.5*18+0.25*9, e[0], "nine spins down")

	hybrid := sampler(t, train(t, "hybrid", revgen.TrainOptions{}), 1, 1)
	states := room("hybrid", hybrid, 2)[0]
	states.X[0], states.X[1] = 1, 1.5
	e = make([]float64, 2)
	beta, err = hybrid.Energies(e, states)
	require.NoError(t, err)
	require.Equal(t, 1.0, beta)
	mu := modeZero(t, hybrid)
	require.InDelta(t, sq(1.5*1.5-mu)-sq(1-mu), e[1]-e[0], 1e-12, "(x² − μ)² up to a constant")

	gmm := sampler(t, train(t, "gmm", revgen.TrainOptions{}), 1, 1)
	far := revgen.States{X: slices.Repeat([]float32{1e20}, gmm.Dim())}
	_, err = gmm.Energies(e[:1], far)
	require.NoError(t, err)
	require.True(t, math.IsInf(e[0], 1), "far away the density is 0: %v", e[0])
	require.NoError(t, gmm.Refine(ctx, far, 0, 1))
}

func bytes9(v int8) []int8 { return slices.Repeat([]int8{v}, 9) }
func sq(x float64) float64 { return x * x }
func modeZero(t *testing.T, s *revgen.Sampler) float64 {
	// E(x, 0) − E(0, 0) = x⁴ − 2μx² at x = 1 gives μ.
	e := make([]float64, 2)
	_, err := s.Energies(e, revgen.States{X: []float32{0, 1}, Modes: []int32{0, 0}})
	require.NoError(t, err)
	return (1 - (e[1] - e[0])) / 2
}

// Every configuration says what memory it needs, and more for more of everything.
func TestDemands(t *testing.T) {
	sum := func(cfg engine.Config) (bytes float64) {
		d, ok := cfg.(engine.Explainer)
		require.True(t, ok, "%T", cfg)
		for _, demand := range d.Demands() {
			require.Positive(t, demand.Bytes, demand.Key)
			bytes += demand.Bytes
		}
		return bytes
	}
	for _, set := range [][]string{
		{"ising", "paper"}, {"ising", "best"}, {"gmm", "paper"}, {"gmm", "best"}, {"hybrid", "paper"}, {"hybrid", "best"},
		{"spins", "quick", "target.spins=5", "target.edges=[[0,1,1],[1,2,-1],[3,4,1]]"},
		{"reals", "paper", "target.dim=3", "target.expression=-sum(x^2)"},
		{"mixed", "paper", "target.dim=1", "target.modes=2", "target.expression=-x[0]^2 - k"},
	} {
		t.Run(set[0]+" "+set[1], func(t *testing.T) {
			some, err := revgen.Configure(set[0], set[1], append(set[2:], "training.batch=1024")...)
			require.NoError(t, err)
			more, err := revgen.Configure(set[0], set[1], append(set[2:], "training.batch=2048")...)
			require.NoError(t, err)
			require.Greater(t, sum(more), sum(some)+1024*8)
		})
	}
}

func TestMistakes(t *testing.T) {
	long.SkipShort(t)
	ctx := context.Background()
	samplers := map[string]*revgen.Sampler{}
	for kind := range small {
		samplers[kind] = sampler(t, train(t, kind, revgen.TrainOptions{}), 1, 1)
	}
	x := make([]float32, 4)
	for want, c := range map[string]struct {
		kind   string
		states revgen.States
	}{
		"states: given as nothing; this model's are Spins or Bits":                 {"ising", revgen.States{}},
		"states: given as X; this model's are Spins or Bits":                       {"ising", revgen.States{X: x}},
		"states: given as Spins and Bits; this model's are Spins or Bits":          {"ising", revgen.States{Spins: bytes9(1), Bits: []uint64{0}}},
		"states: 8 numbers in Spins are not a number of states, which have 9 each": {"ising", revgen.States{Spins: bytes9(1)[:8]}},
		"states: spin 0 of configuration 0 is 0 and neither −1 nor 1":              {"ising", revgen.States{Spins: bytes9(0)}},
		"states: bits beyond the last of 9 spins are set in configuration 0":       {"ising", revgen.States{Bits: []uint64{512}}},
		"states: given as X and Modes; this model's are X":                         {"gmm", revgen.States{X: x, Modes: []int32{0}}},
		"states: given as X; this model's are X and Modes":                         {"hybrid", revgen.States{X: x}},
		"states: X is of 4 and Modes of 1":                                         {"hybrid", revgen.States{X: x, Modes: []int32{0}}},
		"states: coordinate 0 of state 0 is NaN":                                   {"hybrid", revgen.States{X: []float32{float32(math.NaN())}, Modes: []int32{0}}},
	} {
		require.EqualError(t, samplers[c.kind].Refine(ctx, c.states, 0, 1), want)
	}
	require.ErrorContains(t, samplers["hybrid"].Refine(ctx, revgen.States{X: x[:1], Modes: []int32{-1}}, 0, 1), "the mode of state 0 is -1")
	require.NoError(t, samplers["hybrid"].Sample(ctx, revgen.States{X: x}, 0, 0), "the coordinates alone")
	require.ErrorContains(t, samplers["gmm"].Sample(ctx, revgen.States{X: make([]float32, 8)}, math.MaxUint64, 0), "not all among")
	_, err := samplers["gmm"].Energies(make([]float64, 2), revgen.States{X: make([]float32, samplers["gmm"].Dim())})
	require.EqualError(t, err, "states: there are 1 for 2 energies")
	require.Error(t, samplers["gmm"].SampleBytes(ctx, make([]byte, 3), "", 0, 0))
	require.Error(t, samplers["gmm"].SampleBytes(ctx, make([]byte, 8), "csv", 0, 0))

	cancelled, cancel := context.WithCancel(ctx)
	cancel()
	s := samplers["ising"]
	require.ErrorIs(t, s.Sample(cancelled, revgen.States{Spins: bytes9(1)}, 0, 0), context.Canceled)
	s.Close()
	s.Close()
	for _, err := range []error{
		s.Sample(ctx, revgen.States{Spins: bytes9(1)}, 0, 0), s.SampleBytes(ctx, make([]byte, 9), "", 0, 0), s.Refine(ctx, revgen.States{Spins: bytes9(1)}, 0, 1),
	} {
		require.EqualError(t, err, "the sampler is closed")
	}

	_, err = revgen.Configure("ising", "", "target.l=1")
	var wrong *catalogue.ConfigError
	require.ErrorAs(t, err, &wrong)
	require.Equal(t, "target.l", wrong.Path)
	for _, text := range [][]byte{nil, []byte(`{"system": "isling"}`)} {
		_, err = revgen.ParseConfig(text)
		require.ErrorAs(t, err, &wrong)
	}
	path := filepath.Join(t.TempDir(), "model.rvg")
	require.NoError(t, os.WriteFile(path, []byte("RevGen"), 0o600))
	_, err = revgen.Load(path)
	var damaged *run.FileError
	require.ErrorAs(t, err, &damaged)
	_, err = revgen.Load(path + "?")
	require.ErrorIs(t, err, os.ErrNotExist)
}

// A run that is stopped says so, and continues to the same bits.
func TestTrainStopsAndContinues(t *testing.T) {
	long.SkipShort(t)
	want := train(t, "gmm", revgen.TrainOptions{Threads: 1})
	cfg, err := revgen.Configure("gmm", "quick", append(small["gmm"][2:], "training.log_every=1")...)
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(context.Background())
	opt := revgen.TrainOptions{Dir: t.TempDir(), Progress: func(run.Progress) { cancel() }}
	_, err = revgen.Train(ctx, cfg, opt)
	require.ErrorIs(t, err, run.ErrStopped)
	var stop *run.StopError
	require.True(t, errors.As(err, &stop) && stop.Step == 1, "%v", err)
	opt.Progress = nil
	got, err := revgen.Train(context.Background(), cfg, opt)
	require.NoError(t, err)
	require.Equal(t, want.Params(), got.Params())

	next, err := revgen.Configure("gmm", "quick", small["gmm"][2:]...)
	require.NoError(t, err)
	later, err := revgen.Train(context.Background(), next, revgen.TrainOptions{Start: got})
	require.NoError(t, err)
	require.NotEqual(t, got.Params(), later.Params())
	require.NotEmpty(t, later.Config().Shared().Training.Start)
	require.Empty(t, next.Shared().Training.Start, "the caller's configuration stays as it was")
}

// A generator that has hardly learned is not trusted, and the verdict is the same for
// any number of threads.
func TestDiagnose(t *testing.T) {
	model := train(t, "ising", revgen.TrainOptions{}, "target.beta=0.5")
	opt := diagnose.Brief(0)
	opt.Samples, opt.Refine, opt.Draws = 2000, 16, 64
	one, err := model.Diagnose(context.Background(), opt, 1)
	require.NoError(t, err)
	require.NotEqual(t, diagnose.Trustworthy, one.Verdict, one.Sentence)
	three, err := model.Diagnose(context.Background(), opt, 3)
	require.NoError(t, err)
	require.Equal(t, one.Observables, three.Observables)
	cancelled, cancel := context.WithCancel(context.Background())
	cancel()
	_, err = model.Diagnose(cancelled, opt, 1)
	require.ErrorIs(t, err, context.Canceled)
}

func TestNoGoroutineIsLeft(t *testing.T) {
	before := runtime.NumGoroutine()
	model := train(t, "ising", revgen.TrainOptions{Threads: 5, Dir: t.TempDir()})
	s, err := model.NewSampler(1, 5)
	require.NoError(t, err)
	require.NoError(t, s.Sample(context.Background(), revgen.States{Spins: make([]int8, 9*5000)}, 0, 1))
	require.Greater(t, runtime.NumGoroutine(), before, "threads of the sampler")
	s.Close()
	// A goroutine that has signalled its end may still be counted for a moment.
	for range 1000 {
		if runtime.NumGoroutine() <= before {
			return
		}
		time.Sleep(time.Millisecond)
	}
	t.Fatalf("%d goroutines where there were %d", runtime.NumGoroutine(), before)
}
