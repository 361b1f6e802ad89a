// Package systemtest proves that a system keeps the contract of engine.System,
// as testing/fstest does for file systems: one call for a configuration of any
// system, built in or of one's own.
//
//	func TestContract(t *testing.T) {
//		for name, cfg := range configs {
//			t.Run(name, func(t *testing.T) { systemtest.Run(t, cfg) })
//		}
//	}
package systemtest

import (
	"bytes"
	"context"
	"encoding/json"
	"math"
	"slices"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/revgen/revgen/engine"
	"github.com/revgen/revgen/engine/chains"
	"github.com/revgen/revgen/engine/measure"
	"github.com/revgen/revgen/engine/run"
	"github.com/revgen/revgen/internal/alloctest"
	"github.com/revgen/revgen/internal/pool"
)

// steps is how many steps each part of the contract is tried for.
const steps = 3

// Run checks for the configuration, which should be small, that
//
//   - any number of threads, and of ranks that share the work of a step, gives the
//     same parameters, records and samples, bit for bit;
//   - a step allocates nothing;
//   - a run that is stopped and resumed after every step ends with the bits of
//     one that never was;
//   - any part of a stream of samples is a slice of the whole, in every format,
//     refined or not, and what is out of range is refused;
//   - samples have the same energies in every format, and Refine makes of them the samples
//     that Sample refines;
//   - evaluations of one generator agree to the last bit;
//   - walks begin with the generator's samples, and walks and chains have the same finite
//     observables with any number of threads.
//
// It trains for a few steps, whatever training.steps says, and leaves cfg as it
// was. With -short it leaves out ranks, resumption, evaluations and walks, which use no
// kernels but those of the other parts.
func Run(t *testing.T, cfg engine.Config) {
	t.Helper()
	shared := cfg.Shared()
	before := *shared
	defer func() { *shared = before }()
	shared.Training.Steps, shared.Training.LogEvery, shared.Training.CheckpointEvery = steps, 1, 0
	shared.Evaluation.Every = 0
	require.NoError(t, cfg.Validate())

	params, record := testThreads(t, cfg)
	system := newSystem(t, cfg, 3)
	if s, ok := system.(engine.Sampler); ok {
		testStream(t, cfg, s, params)
		testExact(t, cfg, s, params)
		testScorer(t, cfg, s, params)
	}
	if testing.Short() {
		return
	}
	testRanks(t, cfg, params, record)
	want := testResumption(t, cfg)
	if e, ok := system.(engine.Evaluator); ok { // after other work and on other threads, as at first
		got, err := e.Evaluate(context.Background(), want.Params, shared.Evaluation.Samples)
		require.NoError(t, err)
		got.Warn()
		require.Equal(t, evaluationJSON(t, want.Evaluation), evaluationJSON(t, got), "two evaluations of one generator")
	}
	if o, ok := system.(chains.Observer); ok {
		testWalks(t, cfg, o, params)
	}
}

// newSystem returns a system of the configuration with so many threads, which the test's end closes.
func newSystem(t *testing.T, cfg engine.Config, threads int) engine.System {
	t.Helper()
	workers := pool.New(threads)
	t.Cleanup(func() { workers.Close() })
	s, err := cfg.New(workers)
	require.NoError(t, err)
	t.Cleanup(func() { engine.Release(s) })
	return s
}

// A span is the samples first … first+n−1 of a stream, each after refine Metropolis steps.
type span struct {
	first     uint64
	n, refine int
}

// samplesOf returns the samples of a span in a format.
func samplesOf(t *testing.T, s engine.Sampler, f engine.Format, params []float32, x span) []byte {
	t.Helper()
	states := make([]byte, x.n*f.RowBytes)
	require.NoError(t, s.Sample(states, f.Name, params, x.first, x.n, x.refine))
	return states
}

// testThreads requires that training gives the same with any number of threads and allocates
// nothing in a step. It returns the parameters and the record of the last step.
func testThreads(t *testing.T, cfg engine.Config) (params []float32, record engine.Record) {
	t.Helper()
	for _, threads := range []int{1, 3} { // ranks have 1 and 2
		workers := pool.New(threads)
		trainer, err := trainerAfter(cfg, workers, steps)
		require.NoError(t, err)
		defer engine.Release(trainer.System())
		if params == nil {
			params, record = append(params, trainer.Params()...), trainer.Record()
			require.Equal(t, trainer.System().NumParams(), len(params))
			require.False(t, math.IsNaN(record.Loss), "the loss is not a number")
			require.True(t, record.Acceptance >= 0 && record.Acceptance <= 1, "acceptance %v", record.Acceptance)
		}
		require.Equal(t, params, trainer.Params(), "parameters with %d threads", threads)
		require.Equal(t, record, trainer.Record(), "record with %d threads", threads)
		require.Zero(t, alloctest.PerRun(3, func() {
			if err := trainer.Step(); err != nil {
				panic(err)
			}
		}), "allocations of a step with %d threads", threads)
		workers.Close()
	}
	return params, record
}

// testRanks trains on ranks that share no memory.
func testRanks(t *testing.T, cfg engine.Config, want []float32, record engine.Record) {
	t.Helper()
	const size = 3
	var trainers [size]*engine.Trainer
	var errs [size]error
	var ranks sync.WaitGroup
	for i, rank := range pool.Local(size) {
		workers := pool.New(1 + i%2)
		defer workers.Close()
		workers.Join(rank)
		ranks.Go(func() { trainers[i], errs[i] = trainerAfter(cfg, workers, steps) })
	}
	ranks.Wait()
	for i, trainer := range trainers {
		require.NoError(t, errs[i])
		defer engine.Release(trainer.System())
		require.Equal(t, want, trainer.Params(), "parameters on rank %d of %d", i, size)
		require.Equal(t, record, trainer.Record(), "record on rank %d of %d", i, size)
	}
}

// trainerAfter returns a trainer that has taken the given number of steps.
func trainerAfter(cfg engine.Config, workers *pool.Pool, steps int) (*engine.Trainer, error) {
	trainer, err := engine.NewTrainer(cfg, workers)
	for i := 0; i < steps && err == nil; i++ {
		err = trainer.Step()
	}
	return trainer, err
}

// testResumption stops a run after every step, and compares it with one on another number of
// threads that is never stopped, whose result it returns.
func testResumption(t *testing.T, cfg engine.Config) *run.Result {
	t.Helper()
	twoThreads, threeThreads := pool.New(2), pool.New(3)
	defer twoThreads.Close()
	defer threeThreads.Close()
	want, err := run.Train(context.Background(), cfg, twoThreads, run.Options{})
	require.NoError(t, err)
	dir := t.TempDir()
	for step := 1; step < steps; step++ {
		ctx, cancel := context.WithCancel(context.Background())
		_, err := run.Train(ctx, cfg, threeThreads, run.Options{Dir: dir, Progress: func(run.Progress) { cancel() }})
		cancel()
		require.ErrorIs(t, err, run.ErrStopped)
	}
	got, err := run.Train(context.Background(), cfg, threeThreads, run.Options{Dir: dir, Resume: "must"})
	require.NoError(t, err)
	require.Equal(t, want.Params, got.Params, "parameters of a run that was stopped after every step")
	require.Equal(t, evaluationJSON(t, want.Evaluation), evaluationJSON(t, got.Evaluation), "evaluation of a run that was stopped after every step")
	return want
}

// testStream requires that samples drawn in any parts, on any number of threads, are slices of
// one stream.
func testStream(t *testing.T, cfg engine.Config, s engine.Sampler, params []float32) {
	t.Helper()
	const n = 700
	byThreads := map[int]engine.Sampler{}
	for _, threads := range []int{1, 2} {
		byThreads[threads] = newSystem(t, cfg, threads).(engine.Sampler)
	}
	for _, f := range s.Formats() {
		for _, refine := range []int{0, 3} {
			if refine > 0 && f.Unrefined {
				require.ErrorContains(t, s.Sample(make([]byte, f.RowBytes), f.Name, params, 0, 1, refine), "refine")
				continue
			}
			whole := samplesOf(t, s, f, params, span{n: n, refine: refine})
			for threads, sampler := range byThreads {
				for _, part := range [][2]int{{0, 1}, {1, 255}, {255, 258}, {300, 700}, {699, 700}} {
					got := samplesOf(t, sampler, f, params, span{uint64(part[0]), part[1] - part[0], refine})
					want := whole[part[0]*f.RowBytes : part[1]*f.RowBytes]
					require.True(t, bytes.Equal(want, got), "samples %v as %s, refined by %d, with %d threads", part, f.Name, refine, threads)
				}
			}
		}
		buffer := make([]byte, f.RowBytes)
		require.Error(t, s.Sample(buffer, f.Name, params, 0, 1, -1), "a negative refinement")
		require.Error(t, s.Sample(buffer, f.Name+"?", params, 0, 1, 0), "an unknown format")
		for _, r := range []span{{1 << 62, 1, 0}, {math.MaxUint64, 1, 0}, {0, 1, math.MaxInt}} {
			require.Error(t, s.Reach(r.first, 1, r.refine), "out of the stream's reach: %+v", r)
			require.Error(t, s.Sample(buffer, f.Name, params, r.first, 1, r.refine), "out of the stream's reach: %+v", r)
		}
	}
}

// testExact requires of a generator with a density that weighted samples are its samples, and
// that exact draws are slices of one stream, on any number of threads.
func testExact(t *testing.T, cfg engine.Config, s engine.Sampler, params []float32) {
	t.Helper()
	formats := s.Formats()
	i := slices.IndexFunc(formats, func(f engine.Format) bool { return f.Name == engine.Weighted })
	if i < 0 {
		return
	}
	const n = 600
	plain, weighted := samplesOf(t, s, formats[0], params, span{n: n}), samplesOf(t, s, formats[i], params, span{n: n})
	for k := range n {
		row := plain[k*formats[0].RowBytes:][:formats[0].RowBytes]
		require.True(t, bytes.Equal(row, weighted[k*formats[i].RowBytes:][:len(row)]), "sample %d and what is written with its weight", k)
	}
	for _, f := range formats {
		if f.Unrefined {
			continue
		}
		var whole []byte
		for _, threads := range []int{1, 3} {
			workers := pool.New(threads)
			defer workers.Close()
			stream, err := engine.NewStream(cfg, params, workers)
			require.NoError(t, err)
			defer stream.Close()
			exact, err := stream.Exact(f)
			require.NoError(t, err)
			got := make([]byte, n*f.RowBytes)
			for _, part := range [][2]int{{0, 1}, {1, 256}, {256, 600}, {255, 258}} {
				require.NoError(t, exact.Fill(context.Background(), got[part[0]*f.RowBytes:part[1]*f.RowBytes], uint64(part[0])))
			}
			if whole == nil {
				whole = got
			}
			require.True(t, bytes.Equal(whole, got), "exact draws as %s with %d threads", f.Name, threads)
			x := exact.Exactness()
			require.True(t, x.Acceptance >= 0 && x.Acceptance <= 1 && x.Time >= 1, "%+v", x)
		}
	}
}

// evaluationJSON returns an evaluation as a file holds it, in which NaN equals NaN.
func evaluationJSON(t *testing.T, e *measure.Evaluation) string {
	t.Helper()
	text, err := json.Marshal(e)
	require.NoError(t, err)
	return string(text)
}

// testWalks requires that walks begin with the samples that they should, move, and have the same
// finite observables with 2 and with 3 threads; and so do chains.
func testWalks(t *testing.T, cfg engine.Config, o chains.Observer, params []float32) {
	t.Helper()
	const first, n, moves = 1 << 35, 600, 5
	names := o.Observables()
	distinct := map[string]bool{}
	for _, name := range names {
		require.False(t, distinct[name], "observable %s twice", name)
		distinct[name] = true
	}
	require.NotEmpty(t, names)
	paths := func(o chains.Observer, inChains bool) (path [][]float64) {
		w, err := o.Walk(params, first, n)
		if inChains {
			w, err = o.Chains(params, n)
		}
		require.NoError(t, err)
		for range 3 {
			values := make([]float64, n*len(names))
			w.Observe(values)
			path = append(path, values)
			const unset = -12345.5
			unweighted := slices.Repeat([]float64{unset}, len(values))
			w.ObserveUnweighted(unweighted)
			for i, v := range values {
				if names[i%len(names)] == engine.LogWeight {
					v = unset
				}
				require.True(t, v == unweighted[i], "%s unweighted", names[i%len(names)])
			}
			require.NoError(t, w.Advance(context.Background(), moves))
		}
		stopped, cancel := context.WithCancel(context.Background())
		cancel()
		require.ErrorIs(t, w.Advance(stopped, moves), context.Canceled)
		return path
	}
	twoThreads := newSystem(t, cfg, 2).(chains.Observer)
	var begin []float64
	for _, inChains := range []bool{true, false} {
		want := paths(o, inChains)
		begin = want[0]
		require.Equal(t, want, paths(twoThreads, inChains), "walks with 2 and with 3 threads; chains: %v", inChains)
		require.NotEqual(t, want[0], want[1], "states that do not move; chains: %v", inChains)
		for i, v := range want[2] {
			require.False(t, math.IsNaN(v) || math.IsInf(v, 1), "%s of state %d is %v; chains: %v", names[i%len(names)], i/len(names), v, inChains)
		}
	}
	part, err := o.Walk(params, first+200, 100)
	require.NoError(t, err)
	values := make([]float64, 100*len(names))
	part.Observe(values)
	require.Equal(t, begin[200*len(names):300*len(names)], values, "a walk begins with the samples that it is asked for")
	s := o.(engine.Sampler)
	for _, f := range s.Formats() {
		if f.Unrefined {
			continue
		}
		want, got := samplesOf(t, s, f, params, span{first: first + 200, n: 100}), make([]byte, 100*f.RowBytes)
		require.NoError(t, part.States(got, f.Name))
		require.True(t, bytes.Equal(want, got), "a walk begins with the samples that it is asked for, as %s", f.Name)
	}
	require.Error(t, part.States(nil, "nosuch"), "states in a format that there is not")
	_, err = o.Walk(params, math.MaxUint64-10, 20)
	require.Error(t, err, "samples beyond the stream")
}
