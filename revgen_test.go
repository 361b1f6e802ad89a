package revgen_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"sync"
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
	"github.com/revgen/revgen/internal/pool"
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

// swift is train of the recipe that does not look for modes first.
func swift(t *testing.T, kind string) *revgen.Model {
	t.Helper()
	cfg, err := revgen.Configure(kind, map[bool]string{true: "paper", false: "quick"}[kind == "hybrid"], small[kind][2:]...)
	require.NoError(t, err)
	model, err := revgen.Train(context.Background(), cfg, revgen.TrainOptions{Threads: 1})
	require.NoError(t, err)
	return model
}

// TestBytes: states in bytes are refined and have the energies that they have in slices.
func TestBytes(t *testing.T) {
	ctx := context.Background()
	for kind := range small {
		s := sampler(t, swift(t, kind), 5, 1)
		f, err := s.Format("")
		require.NoError(t, err)
		require.Equal(t, s.Formats()[0], f)
		last := s.Formats()[len(s.Formats())-1]
		named, err := s.Format(last.Name)
		require.NoError(t, err)
		require.Equal(t, last, named)
		_, err = s.Format("none")
		require.Error(t, err)

		const n = 70
		row := f.RowBytes
		data, states := make([]byte, n*row), room(kind, s, n)[0]
		require.NoError(t, s.SampleBytes(ctx, data, "", 3, 0))
		require.NoError(t, s.Sample(ctx, states, 3, 0))
		want, got := make([]float64, n), make([]float64, n)
		beta, err := s.Energies(want, states)
		require.NoError(t, err)
		same, err := s.EnergiesBytes(got, data, f.Name)
		require.NoError(t, err)
		require.Equal(t, beta, same)
		require.Equal(t, want, got)
		require.NoError(t, s.RefineBytes(ctx, data, "", 3, 4))
		refined := make([]byte, n*row)
		require.NoError(t, s.SampleBytes(ctx, refined, "", 3, 4))
		require.Equal(t, refined, data)

		_, err = s.EnergiesBytes(got[1:], data, "")
		require.EqualError(t, err, "states: there are 70 for 69 energies")
		text := fmt.Sprintf("states: %d bytes are not a number of states of %d bytes", n*row-1, row)
		_, err = s.EnergiesBytes(got, data[1:], "")
		require.EqualError(t, err, text)
		require.EqualError(t, s.SampleBytes(ctx, data[1:], "", 0, 0), text)
		require.EqualError(t, s.RefineBytes(ctx, data[1:], "", 0, 1), text)
		_, err = s.EnergiesBytes(got, data, "none")
		require.Error(t, err)
		require.Error(t, s.RefineBytes(ctx, data, "none", 0, 1))
		_, err = s.SampleExact(ctx, states, math.MaxUint64)
		require.Error(t, err)
		beta, err = s.Energies(nil, room(kind, s, 0)[0])
		require.NoError(t, err, "of no states")
		require.Equal(t, same, beta)
		cancelled, cancel := context.WithCancel(ctx)
		cancel()
		if kind != "hybrid" { // whose density is not known
			_, err = s.SampleExact(cancelled, states, 0)
			require.ErrorIs(t, err, context.Canceled)
		}
		s.Close()
		_, err = s.EnergiesBytes(got, data, "")
		require.EqualError(t, err, "the sampler is closed")
		_, err = s.Energies(got, states)
		require.EqualError(t, err, "the sampler is closed")
		require.EqualError(t, s.RefineBytes(ctx, data, "", 0, 1), "the sampler is closed")
		_, err = s.SampleExact(ctx, states, 0)
		require.EqualError(t, err, "the sampler is closed")
	}
}

// TestManyStates: more states than a part holds are one stream, and errors count from the part's.
func TestManyStates(t *testing.T) {
	ctx := context.Background()
	s := sampler(t, swift(t, "ising"), 5, 2)
	const part, first = 4 << 20 / 8, 5 // states of eight bytes
	const n = part + 10
	bits := make([]uint64, n)
	require.NoError(t, s.Sample(ctx, revgen.States{Bits: bits}, first, 0))
	for _, from := range []int{0, part - first - 1, part - first, n - 1} {
		one := make([]uint64, 1)
		require.NoError(t, s.Sample(ctx, revgen.States{Bits: one}, uint64(first+from), 0))
		require.Equal(t, one[0], bits[from], from)
	}
	plane := sampler(t, swift(t, "gmm"), 5, 2) // of two numbers of four bytes
	x := make([]float32, 2*n)
	require.NoError(t, plane.Sample(ctx, revgen.States{X: x}, first, 0))
	for _, from := range []int{0, part - first - 1, part - first, n - 1} {
		one := make([]float32, 2)
		require.NoError(t, plane.Sample(ctx, revgen.States{X: one}, uint64(first+from), 0))
		require.Equal(t, one, x[2*from:2*from+2], from)
	}
	energies := make([]float64, n)
	_, err := s.Energies(energies, revgen.States{Bits: bits})
	require.NoError(t, err)
	for _, at := range []int{part - 1, part, n - 1} {
		one := make([]float64, 1)
		_, err := s.Energies(one, revgen.States{Bits: bits[at : at+1]})
		require.NoError(t, err)
		require.Equal(t, one[0], energies[at])
	}
	bits[part+3] = 1 << 9
	const text = "states: bits beyond the last of 9 spins are set in configuration "
	require.EqualError(t, s.Refine(ctx, revgen.States{Bits: bits}, first, 0), fmt.Sprint(text, first+3, ", counted from state ", part-first))
	_, err = s.Energies(energies, revgen.States{Bits: bits})
	require.EqualError(t, err, fmt.Sprint(text, "3, counted from state ", part))
	bits[part+3], bits[2] = 0, 1<<9
	_, err = s.Energies(energies, revgen.States{Bits: bits})
	require.EqualError(t, err, text+"2")
}

// TestMarshalJSON holds a model's description to what the model says of itself.
func TestMarshalJSON(t *testing.T) {
	for kind := range small {
		model := swift(t, kind)
		text, err := model.MarshalJSON()
		require.NoError(t, err)
		var got struct {
			System                 string
			Dim, Parameters, Steps int
			Hash, Path             string
			Seed                   uint64
			Formats                []struct {
				Name, Dtype, Doc string
				Shape            []int
				RowBytes         int `json:"row_bytes"`
			}
			Config     map[string]any
			Evaluation map[string]any
			Warnings   []string
		}
		require.NoError(t, json.Unmarshal(text, &got))
		s := sampler(t, model, 1, 1)
		require.Equal(t, kind, got.System)
		require.Equal(t, []int{s.Dim(), len(model.Params()), 3}, []int{got.Dim, got.Parameters, got.Steps})
		require.Regexp(t, "^sha256:[0-9a-f]{64}$", got.Hash)
		require.Equal(t, model.Seed(), got.Seed)
		require.Equal(t, kind, got.Config["system"])
		require.NotEmpty(t, got.Evaluation)
		require.Len(t, got.Formats, len(s.Formats()))
		for i, f := range s.Formats() {
			require.Equal(t, []any{f.Name, f.Descr, f.Doc, f.RowBytes, append([]int{}, f.Shape...)}, []any{got.Formats[i].Name, got.Formats[i].Dtype, got.Formats[i].Doc, got.Formats[i].RowBytes, got.Formats[i].Shape})
			require.Equal(t, f, must(s.Format(f.Name)))
		}
		saved := filepath.Join(t.TempDir(), "model.rvg")
		require.NoError(t, model.Save(saved))
		loaded, err := revgen.Load(saved)
		require.NoError(t, err)
		text, err = loaded.MarshalJSON()
		require.NoError(t, err)
		var again map[string]json.RawMessage
		require.NoError(t, json.Unmarshal(text, &again))
		require.NotContains(t, again, "evaluation", "a model that is loaded has none")
		require.Contains(t, string(text), `"hash":"`+got.Hash+`"`)
	}
}

func must[T any](value T, err error) T {
	if err != nil {
		panic(err)
	}
	return value
}

// TestStatesThatDoNotMatch are refused with what they are and what would do.
func TestStatesThatDoNotMatch(t *testing.T) {
	ctx := context.Background()
	hybrid := sampler(t, swift(t, "hybrid"), 5, 1)
	d := hybrid.Dim()
	for want, states := range map[string]revgen.States{
		fmt.Sprintf("states: X has 0 numbers for 2 modes and %d coordinates each", d):     {X: []float32{}, Modes: []int32{0, 0}},
		fmt.Sprintf("states: X has %d numbers for 0 modes and %d coordinates each", d, d): {X: make([]float32, d), Modes: []int32{}},
		"states: X is of 2 and Modes of 1":                                                {X: make([]float32, 2*d), Modes: []int32{0}},
		"states: given as Bits; this model's are X or X and Modes":                        {Bits: []uint64{0}},
		"states: given as Spins and X and Modes; this model's are X or X and Modes":       {Spins: []int8{0}, X: make([]float32, d), Modes: []int32{0}},
	} {
		require.EqualError(t, hybrid.Sample(ctx, states, 0, 0), want)
	}
	require.NoError(t, hybrid.Sample(ctx, revgen.States{X: []float32{}, Modes: []int32{}}, 0, 0), "no states")
	ising := sampler(t, swift(t, "ising"), 5, 1)
	require.EqualError(t, ising.Sample(ctx, revgen.States{Spins: make([]int8, 10)}, 0, 0), "states: 10 numbers in Spins are not a number of states, which have 9 each")
	require.EqualError(t, ising.Sample(ctx, revgen.States{X: make([]float32, 9)}, 0, 0), "states: given as X; this model's are Spins or Bits")
}

// TestRanksTrainTogether: ranks have the model of one process, and rank 0 alone the evaluation,
// the directory and the progress; where one cannot begin, none trains.
func TestRanksTrainTogether(t *testing.T) {
	cfg, err := revgen.Configure("gmm", "quick", append(small["gmm"][2:], "training.log_every=1")...)
	require.NoError(t, err)
	want := swift(t, "gmm")
	dir := t.TempDir()
	models, errs, reports := make([]*revgen.Model, 2), make([]error, 2), make([]int, 2)
	var all sync.WaitGroup
	for rank, r := range pool.Local(2) {
		all.Go(func() {
			models[rank], errs[rank] = revgen.Train(context.Background(), cfg, revgen.TrainOptions{Threads: 1, Ranks: r, Dir: filepath.Join(dir, "run"), Progress: func(run.Progress) { reports[rank]++ }})
		})
	}
	all.Wait()
	for rank, m := range models {
		require.NoError(t, errs[rank])
		require.Equal(t, want.Params(), m.Params())
		require.Equal(t, rank == 0, m.Evaluation != nil)
		require.Equal(t, rank == 0, reports[rank] > 0)
	}
	require.FileExists(t, filepath.Join(dir, "run", "model.rvg"))
	require.Equal(t, want.Evaluation.Metrics, models[0].Evaluation.Metrics)
	for rank, r := range pool.Local(2) {
		all.Go(func() {
			path := filepath.Join(dir, "run", "model.rvg", "below")
			_, errs[rank] = revgen.Train(context.Background(), cfg, revgen.TrainOptions{Threads: 1, Ranks: r, Dir: path})
		})
	}
	all.Wait()
	require.ErrorContains(t, errs[0], "not a directory")
	require.ErrorIs(t, errs[1], engine.ErrElsewhere)
	_, err = revgen.Train(context.Background(), cfg, revgen.TrainOptions{Threads: 1, Dir: filepath.Join(dir, "short"), MaxTime: 1})
	require.ErrorIs(t, err, run.ErrStopped)
}
