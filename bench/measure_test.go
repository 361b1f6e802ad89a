package bench

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/revgen/revgen/asm"
	"github.com/revgen/revgen/bench/peers"
	"github.com/revgen/revgen/engine"
	"github.com/revgen/revgen/gmm"
	"github.com/revgen/revgen/internal/pool"
	"github.com/revgen/revgen/internal/stat"
)

// TestMeasure has an operation take turns with rivals that agree, differ by as much as they
// may and by more, and fail sooner or later.
func TestMeasure(t *testing.T) {
	o := quick("rng")
	o.Repetitions, o.Time = 3, 0
	r, _, err := newRunner(t.Context(), o)
	require.NoError(t, err)
	defer r.close()
	r.Time = 1 // ns: a repetition is a call
	var turns strings.Builder
	call := func(name string) func() { return func() { turns.WriteString(name) } }
	agreed := func(a agreement, err error) func(*peers.Process) (agreement, error) {
		return func(p *peers.Process) (agreement, error) {
			require.Nil(t, p)
			turns.WriteString("?")
			return a, err
		}
	}
	broken := errors.New("broken")
	failing := 0
	op := &operation{
		name: "name", amount: 12, unit: "thing", note: "a note", call: call("o"), need: need{{counts: work{FMA: 1 << 20}}},
		rivals: []rival{
			{name: "a", call: call("a"), amount: 3, perThread: true, prepare: agreed(agreement{0.5, 0.5, "distance"}, nil), caveat: "half"},
			{name: "b", call: call("b"), prepare: agreed(agreement{0.1, 0.5, "distance"}, nil)},
			{name: "c", call: call("c"), prepare: agreed(agreement{0.6, 0.5, "distance"}, nil)},
			{name: "d", call: call("d"), prepare: agreed(agreement{math.NaN(), 0.5, "distance"}, nil)},
			{name: "e", call: call("e"), prepare: agreed(agreement{}, broken)},
			{name: "f", prepare: agreed(agreement{}, nil)}, // a peer
			{name: "g", prepare: agreed(agreement{}, nil), call: func() {
				if failing++; failing == 2 {
					panic(callError{broken})
				}
			}},
		},
	}
	e := testEnvironment(t)
	limits := &peaks{path: e.path, workers: e.workers}
	row, err := r.measure(op, limits, 4)
	require.NoError(t, err)
	require.Equal(t, "o?????"+"?"+"oab"+"oaboaboab", turns.String(), "results, comparisons, calibration, and three turns")
	require.Equal(t, []any{"name", 12.0, "thing", "a note"}, []any{row.Name, row.Amount, row.Unit, row.Note})
	require.Len(t, row.Control, 3)
	require.Len(t, row.Nanoseconds, 3)
	require.Equal(t, stat.Median(row.Nanoseconds), row.Median)
	require.Equal(t, 12/row.Median, row.Rate)
	require.Len(t, limits.rates[0].Rates, 2, "sampled before and after")
	require.Equal(t, row.Floor.Nanoseconds/row.Median, row.Fraction)
	require.Equal(t, (1<<20)/limits.rates[0].Rate, row.Floor.Nanoseconds)
	require.Len(t, row.Rivals, 6, "no peers were asked for")
	for i, want := range []struct {
		name, status, detail string
		amount               float64
	}{
		{"a", Measured, "half; distance", 12}, {"b", Measured, "distance", 12}, {"c", Disagrees, "distance 0.6 exceeds 0.5", 12}, {"d", Disagrees, "distance NaN exceeds 0.5", 12},
		{"e", Failed, "broken", 12}, {"g", Failed, "broken", 12},
	} {
		v := row.Rivals[i]
		require.Equal(t, want.name, v.Name)
		require.Equal(t, want.name, v.Program)
		require.Equal(t, 4, v.Threads)
		require.Equal(t, want.status, v.Status, v.Name)
		require.Equal(t, want.detail, v.Detail)
		require.Equal(t, want.amount, v.Amount, "of four threads")
		if v.Status != Measured {
			require.Nil(t, v.Times)
			continue
		}
		require.True(t, v.Best)
		require.Len(t, v.Nanoseconds, 3)
		require.InEpsilon(t, v.Median/row.Median, v.Ratio, 1e-12)
	}
	require.Equal(t, 0.5, row.Rivals[0].Difference)

	// A rival that does a quarter of the work in a call takes four.
	op.rivals = []rival{{name: "a", call: call("a"), amount: 3, prepare: agreed(agreement{}, nil)}}
	row, err = r.measure(op, limits, 4)
	require.NoError(t, err)
	v := row.Rivals[0]
	require.Equal(t, 3.0, v.Amount)
	require.InEpsilon(t, 4*v.Median/row.Median, v.Ratio, 1e-12)
	interval, _ := ratioInterval(row.Nanoseconds, v.Nanoseconds)
	require.Equal(t, [2]float64{4 * interval[0], 4 * interval[1]}, v.RatioInterval)

	// An operation that fails is no row, whenever it does.
	for fails := 1; fails <= 5; fails++ {
		calls := 0
		op.call = func() {
			if calls++; calls == fails {
				panic(callError{broken})
			}
		}
		_, err = r.measure(op, limits, 1)
		require.ErrorIs(t, err, broken, fails)
	}
}

// TestSuiteOfRows: rows of more threads are held against the one of one, and floors are those
// by the peaks of the whole run.
func TestSuiteOfRows(t *testing.T) {
	o := quick("gemm")
	o.Sizes, o.Paths, o.Repetitions = []string{"8x8x8", "4x8x16", "16x4x8"}, o.Paths[len(o.Paths)-1:], 1
	var said []string
	o.Log = func(format string, args ...any) { said = append(said, fmt.Sprintf(format, args...)) }
	start := time.Now()
	report, err := Run(t.Context(), o)
	require.NoError(t, err)
	m := &report.Machine
	require.Equal(t, SchemaVersion, report.Schema)
	require.Equal(t, []any{asm.CPUName(), runtime.GOMAXPROCS(0), runtime.GOOS + "/" + runtime.GOARCH, runtime.Version(), o.Time.Seconds()},
		[]any{m.CPU, m.Processors, m.Platform, m.Go, m.Seconds})
	require.WithinDuration(t, start, m.Time, time.Minute)
	require.Zero(t, m.Time.Nanosecond())
	require.Equal(t, time.UTC, m.Time.Location())
	require.Len(t, report.Rows, 3+3)
	rates := map[string]float64{}
	for i := range report.Rows {
		row := &report.Rows[i]
		require.Equal(t, "gemm", row.Suite)
		require.Equal(t, o.Paths[0].String(), row.Path)
		require.True(t, strings.HasPrefix(said[i], fmt.Sprintf("%s: %s, ", row.ID(), formatTime(row.Median))), said[i])
		if row.Threads == 1 {
			rates[row.Name] = row.Rate
			continue
		}
		require.InEpsilon(t, row.Rate/rates[row.Name], row.Scaling, 1e-12)
	}
	require.Len(t, m.Peaks, 2)
	for i, p := range m.Peaks {
		require.Equal(t, []any{o.Paths[0].String(), i + 1, FMA, 0}, []any{p.Path, p.Threads, p.Resource, p.Bytes})
		require.Len(t, p.Rates, 2*3)
	}
	for i := range report.Rows {
		row := &report.Rows[i]
		require.InEpsilon(t, 8*8*8/m.Peaks[row.Threads-1].Rate, row.Floor.Nanoseconds, 1e-12)
		require.InEpsilon(t, row.Floor.Nanoseconds/row.Median, row.Fraction, 1e-12)
	}
	row := Row{Times: Times{Median: 1 << 13, Fastest: []float64{1 << 11, 1 << 12, 1 << 10}}}
	row.setFloor(knownPeaks(), need{{counts: work{FMA: 51200}}})
	require.Equal(t, []float64{512, 1. / 16, 1. / 4}, []float64{row.Floor.Nanoseconds, row.Fraction, row.Undisturbed})
	if text, err := os.ReadFile("/proc/loadavg"); err == nil {
		var x float64
		_, err := fmt.Sscan(string(text), &x)
		require.NoError(t, err)
		require.InDelta(t, x, loadAverage(), 5)
		require.Positive(t, loadAverage())
	}
}

// TestDefaultOptions fills in what is not asked for.
func TestDefaultOptions(t *testing.T) {
	o := Options{Suites: []string{"rng", "gemm"}}
	suites, err := o.resolve()
	require.NoError(t, err)
	require.Equal(t, []string{"gemm", "rng"}, []string{suites[0].Name, suites[1].Name}, "in their own order")
	require.Equal(t, gemmSuite.Sizes, suites[0].Sizes)
	path, _, _ := asm.Active()
	require.Equal(t, []asm.Path{path}, o.Paths)
	threads := []int{1, min(runtime.NumCPU(), runtime.GOMAXPROCS(0))}
	require.Equal(t, slices.Compact(threads), o.Threads)
	require.Equal(t, []any{7, 60 * time.Millisecond}, []any{o.Repetitions, o.Time})
	require.NotPanics(t, func() { o.Log("said") })
	o = Options{Suites: []string{"rng"}, Sizes: []string{"4"}, Time: 1, Repetitions: 1}
	suites, err = o.resolve()
	require.NoError(t, err)
	require.Len(t, suites, 1)
	require.Equal(t, o.Sizes, suites[0].Sizes)
	require.Equal(t, []any{1, time.Duration(1)}, []any{o.Repetitions, o.Time})
	o = Options{Sizes: []string{"4"}, Suites: []string{"rng", "gemm"}}
	_, err = o.resolve()
	require.EqualError(t, err, "sizes mean something else in every suite: name exactly one")
	for want, o := range map[string]Options{
		"-1 repetitions of 1ns: both must be positive":                                                       {Repetitions: -1, Time: 1},
		"1 repetitions of -1ns: both must be positive":                                                       {Repetitions: 1, Time: -1},
		"0 threads: the number must be between 1 and 4096":                                                   {Threads: []int{0}},
		`unknown suite "x"; the suites are gemm, gram, hamming, rng, math, metropolis, hierarchy, iteration`: {Suites: []string{"gemm", "x"}},
		"sizes mean something else in every suite: name exactly one":                                         {Sizes: []string{"1"}},
	} {
		_, err := o.resolve()
		require.EqualError(t, err, want)
	}
	require.EqualError(t, new(Report).Write(io.Discard, "yaml"), `unknown format "yaml"; the formats are md, csv, json, go`)
	o = Options{Paths: []asm.Path{99}}
	_, err = o.resolve()
	require.ErrorContains(t, err, "is not supported here")
}

// TestPeersOfARun: a peer is started once for each of its settings, or is found to be missing
// once, and the report says how it describes itself.
func TestPeersOfARun(t *testing.T) {
	pretenders(t)
	var said []string
	o := quick("gram")
	o.Peers, o.Sizes, o.Paths, o.Repetitions = true, []string{"6x2", "8x2"}, []asm.Path{asm.Generic}, 1
	o.Log = func(format string, args ...any) { said = append(said, fmt.Sprintf(format, args...)) }
	report, err := Run(t.Context(), o)
	require.NoError(t, err)
	var all []string
	for _, row := range report.Rows {
		for _, v := range row.Rivals {
			require.Equal(t, Measured, v.Status, v.Detail)
			require.LessOrEqual(t, v.Difference, 1e-3)
			require.Equal(t, []float64{1000}, v.Nanoseconds, "which a pretender always says")
			require.InEpsilon(t, 1000/row.Median, v.Ratio, 1e-12)
			all = append(all, fmt.Sprintf("%d: %s", row.Threads, v.setting()))
		}
	}
	one := []string{"1: c-gram, 1", "1: pytorch, 1"}
	two := []string{"2: c-gram, 1", "2: c-gram, 2", "2: pytorch, 1", "2: pytorch, 1+2", "2: pytorch, 2", "2: pytorch, 2+1"}
	require.Equal(t, slices.Concat(one, one, two, two), all)
	require.Equal(t, []About{
		{"c-gram", 1, 0, "1"}, {"pytorch", 1, 0, "1"}, {"c-gram", 2, 0, "1"}, {"pytorch", 1, 2, "1"}, {"pytorch", 2, 0, "1"}, {"pytorch", 2, 1, "1"},
	}, report.Machine.Peers)
	require.Contains(t, said, "starting PyTorch as installed with 1 threads, 2 of BLAS")

	t.Setenv("PATH", t.TempDir())
	said, o.Sizes, o.Threads = nil, []string{"6x2", "8x2"}, []int{1}
	report, err = Run(t.Context(), o)
	require.NoError(t, err)
	for _, row := range report.Rows {
		require.Equal(t, []string{Missing, "c-gram is missing: there is no gcc; install it with: apt install gcc libc6-dev"}, []string{row.Rivals[0].Status, row.Rivals[0].Detail})
		require.Nil(t, row.Rivals[0].Times)
	}
	require.Equal(t, 1, strings.Count(strings.Join(said, "\n"), "starting C/OpenMP"))
	require.Contains(t, report.Machine.Peers, About{"c-gram", 1, 0, report.Rows[0].Rivals[0].Detail})

	// One that does not describe itself is ended, and not started again.
	dir := t.TempDir()
	script := "#!/bin/sh\n[ \"$1\" = -c ] && exit 0\nwhile read -r line; do echo error speechless; done\n"
	require.NoError(t, os.WriteFile(filepath.Join(dir, "python3"), []byte(script), 0o755)) //nolint:gosec // it is run
	t.Setenv("PATH", dir+":/usr/bin:/bin")
	r, _, err := newRunner(t.Context(), o)
	require.NoError(t, err)
	defer r.close()
	key := peerKey{"pytorch", peers.Setting{Threads: 1, BLAS: 3}}
	for range 2 {
		_, err = r.peer(key)
		require.EqualError(t, err, "pytorch: about: speechless")
	}
	require.Equal(t, []About{{"pytorch", 1, 3, "pytorch: about: speechless"}}, r.report.Machine.Peers)
	require.Empty(t, r.workshop.Running())
	_, err = r.peer(peerKey{name: "nobody"})
	require.ErrorContains(t, err, `unknown peer "nobody"`)
	row, err := r.measure(&operation{name: "x", amount: 1, call: func() {}, rivals: []rival{{name: "nobody"}}}, &peaks{workers: testEnvironment(t).workers}, 1)
	require.NoError(t, err)
	require.Equal(t, Failed, row.Rivals[0].Status)
}

// A dumb configuration is of a system that only trains.
type dumb struct{ engine.Config }

func (c dumb) New(workers *engine.Workers) (engine.System, error) {
	s, err := c.Config.New(workers)
	return struct{ engine.System }{s}, err
}

// TestSystemsThatOnlyTrain have iterations, and neither samples nor energies.
func TestSystemsThatOnlyTrain(t *testing.T) {
	e := testEnvironment(t)
	d := gmm.Definition
	d.Preset = func(string) (engine.Config, error) {
		c, err := gmm.Preset("paper")
		return dumb{c}, err
	}
	e.systems = []engine.Definition{d}
	operations, err := iterationRows(e, "gmm/paper/8")
	require.NoError(t, err)
	require.Len(t, operations, 1)
	require.Empty(t, operations[0].need)
	require.Equal(t, 8.0, operations[0].amount)
	require.ErrorIs(t, (&Report{}).Write(failingWriter{}, "md"), io.ErrShortWrite)
	require.ErrorIs(t, (&Report{}).Write(failingWriter{}, "csv"), io.ErrShortWrite)
	require.ErrorIs(t, (&Report{}).Write(failingWriter{}, "go"), io.ErrShortWrite)
	require.ErrorIs(t, (&Report{}).Write(failingWriter{}, "json"), io.ErrShortWrite)
}

type failingWriter struct{}

func (failingWriter) Write([]byte) (int, error) { return 0, io.ErrShortWrite }

// TestRepetitionsThatFail: neither warming up nor a repetition leaves a time if it fails.
func TestRepetitionsThatFail(t *testing.T) {
	r := &runner{Options: Options{Time: time.Second}, ctx: t.Context()}
	for fails, want := range [][]int{{1, 5}, {1}, {1, 5}} {
		var calls []int
		s := &side{times: &Times{Calls: 5}, fastest: math.MaxInt64}
		s.run = func(n int) (time.Duration, error) {
			if calls = append(calls, n); len(calls) == fails {
				return time.Second, io.ErrUnexpectedEOF
			}
			return 10, nil
		}
		r.repeat(s)
		require.Equal(t, want, calls)
		require.Empty(t, s.times.Fastest)
		if fails == 0 {
			require.Equal(t, []float64{2}, s.times.Nanoseconds)
			require.NoError(t, s.err)
			continue
		}
		require.ErrorIs(t, s.err, io.ErrUnexpectedEOF)
		require.Empty(t, s.times.Nanoseconds)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	r.ctx = ctx
	_, err := r.calibrate(func(int) (time.Duration, error) { return 0, nil })
	require.ErrorIs(t, err, context.Canceled)
}

// TestMemoryOfPeaks: every thread has its part of the memory, which grows and is not left.
func TestMemoryOfPeaks(t *testing.T) {
	workers := pool.New(2)
	defer workers.Close()
	path, _, _ := asm.Active()
	p := &peaks{path: path, workers: workers}
	for _, c := range []struct{ bytes, words int }{{1, 1024}, {1 << 16, 4096}, {1 << 15, 4096}, {1 << 17, 8192}} {
		require.Positive(t, p.rate(Write, c.bytes))
		require.Equal(t, []int{c.words, c.words}, []int{len(p.memory[0]), len(p.memory[1])})
	}
	for i, bytes := range []int{1, 1 << 16, 1 << 15, 1 << 17} {
		require.Equal(t, Peak{Path: path.String(), Threads: 2, Resource: Write, Bytes: bytes, Rate: p.rates[i].Rate, Rates: p.rates[i].Rates}, p.rates[i])
	}
	most := 0
	for range 100 { // a burst may be disturbed
		bursts := 0
		p.shortestBurst(func() { bursts++ })
		require.LessOrEqual(t, bursts, 40)
		most = max(most, bursts)
	}
	require.Equal(t, 40, most)
	bursts := 0
	require.GreaterOrEqual(t, p.shortestBurst(func() { bursts++; time.Sleep(4 * time.Millisecond) }), 4e6)
	require.Equal(t, 5, bursts)
	memory := threadMemory(3, 1<<17)
	require.Len(t, memory, 3)
	require.Len(t, memory[2], 1<<17)
	require.Positive(t, timeControl(workers, memory[:2], 0))
}

// TestSplit: pieces are no larger than asked for, nor than a thread's share, and follow each
// other.
func TestSplit(t *testing.T) {
	for _, c := range []struct{ threads, n, piece, largest int }{
		{1, 10, 4, 10}, {2, 10, 4, 4}, {2, 10, 100, 5}, {2, 11, 100, 6}, {3, 1, 4, 1}, {3, 12, 4, 4}, {2, 8, 4, 4}, {2, 9, 4, 4},
	} {
		workers := pool.New(c.threads)
		e := &environment{workers: workers}
		seen, largest := make([]atomic.Int32, c.n), atomic.Int64{}
		var pieces atomic.Int32
		e.split(c.n, c.piece, func(lo, hi int) {
			pieces.Add(1)
			if n := int64(hi - lo); n == int64(c.largest) {
				largest.Store(n)
			} else if n > int64(c.largest) || n < 1 {
				largest.Store(1 << 30)
			}
			for i := lo; i < hi; i++ {
				seen[i].Add(1)
			}
		})()
		for i := range seen {
			require.Equal(t, int32(1), seen[i].Load(), c)
		}
		require.Equal(t, int64(c.largest), largest.Load(), c)
		require.Equal(t, int32((c.n+c.largest-1)/c.largest), pieces.Load())
		workers.Close()
	}
	want := make([]float32, 8)
	asm.Normals(want, &asm.Counter{Seed: 3}, 0)
	require.Equal(t, want[:7], noise(7, 3))
	require.Equal(t, want, noise(8, 3))
	require.Equal(t, want[:5], noise(5, 3))
}

// TestPathThatIsLeft: where a call was left behind the path stays what it runs on.
func TestPathThatIsLeft(t *testing.T) {
	before, _, _ := asm.Active()
	defer func() { require.NoError(t, asm.Use(before)) }()
	for _, left := range []bool{true, false} {
		r, _, err := newRunner(t.Context(), quick("rng"))
		require.NoError(t, err)
		require.NoError(t, asm.Use(asm.Generic))
		r.abandoned = left
		r.close()
		now, _, _ := asm.Active()
		require.Equal(t, map[bool]asm.Path{true: asm.Generic, false: before}[left], now)
		require.NoError(t, asm.Use(before))
	}
}
