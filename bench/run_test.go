package bench

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/revgen/revgen/asm"
	"github.com/revgen/revgen/bench/peers"
	"github.com/revgen/revgen/engine"
	"github.com/revgen/revgen/engine/configtest"
	"github.com/revgen/revgen/gmm"
	"github.com/revgen/revgen/hybrid"
	"github.com/revgen/revgen/internal/long"
	"github.com/revgen/revgen/ising"
	"github.com/revgen/revgen/target/graph"
)

// small holds a size of each suite that takes next to no time.
var small = map[string][]string{
	"gemm":       {"37x16x16", "5x3x2"},
	"gram":       {"64x2", "40x3"},
	"hamming":    {"64x3", "40x9"},
	"rng":        {"1000"},
	"math":       {"1000"},
	"metropolis": {"32"},
	"hierarchy":  {"4"},
	"iteration":  {"ising/paper/64", "hybrid/paper/64", "gmm/paper/64"},
}

func quick(suite string) Options {
	paths := asm.Supported()
	paths = []asm.Path{paths[0], paths[len(paths)-1]} // which may be one
	if suite == "iteration" || paths[0] == paths[1] {
		paths = paths[1:] // the portable path is slow
	}
	return Options{
		Suites: []string{suite}, Sizes: small[suite], Paths: paths, Threads: []int{1, 2}, Repetitions: 2, Time: time.Millisecond / 4,
		Systems: []engine.Definition{ising.Definition, hybrid.Definition, gmm.Definition},
	}
}

func TestEverySuiteRuns(t *testing.T) {
	if testing.Short() {
		t.Skip("measures")
	}
	for _, s := range Suites() {
		t.Run(s.Name, func(t *testing.T) {
			require.NotEmpty(t, small[s.Name])
			o := quick(s.Name)
			report, err := Run(t.Context(), o)
			require.NoError(t, err)
			require.NotEmpty(t, report.Rows)
			ids := map[string]bool{}
			for _, row := range report.Rows {
				require.False(t, ids[row.ID()], "%s occurs twice", row.ID())
				ids[row.ID()] = true
				require.Len(t, row.Nanoseconds, 2)
				require.Positive(t, row.Median)
				require.Positive(t, row.Amount)
				require.InDelta(t, row.Amount/row.Median, row.Rate, 1e-9*row.Rate)
				require.Positive(t, row.Floor.Nanoseconds, row.ID())
				require.LessOrEqual(t, row.Floor.Nanoseconds/slices.Min(row.Nanoseconds), 1.05, "%s is faster than its floor", row.ID())
				if row.Threads == 1 {
					require.Zero(t, row.Scaling)
				} else {
					require.Positive(t, row.Scaling, row.ID())
				}
				for _, v := range row.Rivals {
					require.Contains(t, "our float Gram", v.Name, "peers were not asked for")
					require.Equal(t, Measured, v.Status)
				}
			}
			var b bytes.Buffer
			for _, format := range Formats {
				require.NoError(t, report.Write(&b, format))
			}
		})
	}
}

func TestPeersAgree(t *testing.T) {
	if testing.Short() {
		t.Skip("measures")
	}
	o := quick("gemm")
	o.Suites, o.Sizes, o.Peers, o.Repetitions, o.Threads = nil, nil, true, 1, []int{1}
	o.Paths = o.Paths[len(o.Paths)-1:]
	r, suites, err := newRunner(t.Context(), o)
	require.NoError(t, err)
	defer r.close()
	for _, s := range suites {
		t.Run(s.Name, func(t *testing.T) {
			s.Sizes = small[s.Name]
			before := len(r.report.Rows)
			require.NoError(t, r.runSuite(&s, o.Paths[0], 1))
			measured := 0
			for _, row := range r.report.Rows[before:] {
				for _, v := range row.Rivals {
					require.Contains(t, []string{Measured, Missing}, v.Status, "%s, %s: %s", row.ID(), v.Name, v.Detail)
					if v.Status == Missing {
						require.Contains(t, v.Detail, "apt install")
						t.Log(v.Detail)
						continue
					}
					measured++
					require.Positive(t, v.Median)
					require.InDelta(t, v.Median/v.Amount/(row.Median/row.Amount), v.Ratio, 1e-9*v.Ratio)
				}
			}
			if measured == 0 {
				t.Skip("no peer is installed")
			}
		})
	}
}

// TestADisagreeingPeerIsNotTimed gives a peer other inputs than our operation.
func TestADisagreeingPeerIsNotTimed(t *testing.T) {
	e := testEnvironment(t)
	operations, err := gemmSuite.operations(e, "16x16x16")
	op := operationNamed(t, operations, err, "forward/16x16x16")
	truth := op.rivals[0].prepare
	op.rivals[0].prepare = func(p *peers.Process) (agreement, error) {
		a, err := truth(p)
		require.Less(t, a.difference, a.tolerance)
		a.difference += 1
		return a, err
	}
	o := quick("gemm")
	o.Peers = true
	r, _, err := newRunner(t.Context(), o)
	require.NoError(t, err)
	defer r.close()
	row, err := r.measure(op, &peaks{path: e.path, workers: e.workers}, 2)
	require.NoError(t, err)
	if row.Rivals[0].Status == Missing {
		t.Skip(row.Rivals[0].Detail)
	}
	require.Len(t, row.Rivals, 2, "with one and with two threads")
	require.Equal(t, Disagrees, row.Rivals[0].Status)
	require.Nil(t, row.Rivals[0].Times)
	require.Contains(t, row.Rivals[0].Detail, "exceeds")
}

func TestOptionsThatCannotBeUsed(t *testing.T) {
	_, err := (&Options{Threads: []int{1, 4096}, Repetitions: 1, Time: 1}).resolve()
	require.NoError(t, err)
	var option *OptionError
	for name, o := range map[string]Options{
		"unknown suite":     {Suites: []string{"nonsense"}},
		"exactly one":       {Sizes: []string{"1"}},
		"between 1 and":     {Threads: []int{0}},
		"4097 threads":      {Threads: []int{1, 4097}},
		"of -1ns: both":     {Time: -1},
		"repetitions":       {Repetitions: -1},
		"ROWSxINxOUT":       {Suites: []string{"gemm"}, Sizes: []string{"64x64"}},
		"even and":          {Suites: []string{"metropolis"}, Sizes: []string{"33"}},
		"the form N":        {Suites: []string{"rng"}, Sizes: []string{"many"}},
		"NxDIMENSION":       {Suites: []string{"gram"}, Sizes: []string{"0x2"}},
		"the systems are":   {Suites: []string{"iteration"}, Sizes: []string{"nonsense/paper"}},
		"preset":            {Suites: []string{"iteration"}, Sizes: []string{"ising/nonsense"}},
		"SYSTEM/PRESET/N":   {Suites: []string{"iteration"}, Sizes: []string{"ising"}},
		"number of samples": {Suites: []string{"iteration"}, Sizes: []string{"ising/paper/0"}},
	} {
		o.Systems = []engine.Definition{ising.Definition}
		_, err := Run(t.Context(), o)
		require.ErrorAs(t, err, &option, name)
		require.ErrorContains(t, err, name)
	}
}

func TestRunStopsWhenToldAndRestoresThePath(t *testing.T) {
	before, _, _ := asm.Active()
	ctx, cancel := context.WithCancel(t.Context())
	o := quick("rng")
	o.Log = func(string, ...any) { cancel() } // after the first row
	report, err := Run(ctx, o)
	require.ErrorIs(t, err, context.Canceled)
	require.Len(t, report.Rows, 1)
	after, _, _ := asm.Active()
	require.Equal(t, before, after)
}

// TestRunStopsWithinARepetition cancels repetitions that would take hours, of
// ours and of a peer.
func TestRunStopsWithinARepetition(t *testing.T) {
	long.SkipShort(t)
	for _, name := range []string{"ours", "openblas"} {
		t.Run(name, func(t *testing.T) {
			ctx, cancel := context.WithCancel(t.Context())
			o := quick("gemm")
			o.Time = time.Hour
			r, _, err := newRunner(ctx, o)
			require.NoError(t, err)
			defer r.close()
			run := r.timeCalls(func() { time.Sleep(time.Millisecond) }, &side{})
			if name != "ours" {
				p, err := r.peer(peerKey{name, peers.Setting{Threads: 1}})
				var missing *peers.MissingError
				if errors.As(err, &missing) {
					t.Skip(err)
				}
				require.NoError(t, err)
				require.NoError(t, p.Load("x", make([]float32, 16)))
				require.NoError(t, p.Load("w", make([]float32, 16)))
				require.NoError(t, p.Select("forward", 4, 4, 4))
				run = p.Run
			}
			time.AfterFunc(300*time.Millisecond, cancel)
			_, err = r.calibrate(run)
			require.Error(t, err)
			require.ErrorIs(t, ctx.Err(), context.Canceled)
		})
	}
}

func TestACallThatTakesNoNoticeIsLeft(t *testing.T) {
	long.SkipShort(t)
	ctx, cancel := context.WithCancel(t.Context())
	r, _, err := newRunner(ctx, quick("rng"))
	require.NoError(t, err)
	cancel()
	forever := make(chan bool)
	defer close(forever)
	require.ErrorIs(t, r.interruptible(func() error { <-forever; return nil }), context.Canceled)
	require.True(t, r.abandoned)

	// A panic is the caller's, whatever goroutine it happened in.
	r, _, err = newRunner(t.Context(), quick("rng"))
	require.NoError(t, err)
	_, _, line, _ := runtime.Caller(0)
	require.PanicsWithError(t, fmt.Sprintf("wrong (bench/run_test.go:%d)", line+3), func() {
		_ = r.interruptible(func() error {
			panic("wrong")
		})
	})
	require.ErrorIs(t, r.interruptible(func() error { panic(callError{io.ErrUnexpectedEOF}) }), io.ErrUnexpectedEOF)
}

// TestFastestCall times calls one by one if they last, and finds the one that nothing
// disturbed.
func TestFastestCall(t *testing.T) {
	o := quick("gemm")
	o.Time = 20 * time.Millisecond
	r, _, err := newRunner(t.Context(), o)
	require.NoError(t, err)
	defer r.close()
	calls := 0
	var s side
	_, err = r.timeCalls(func() {
		if calls++; calls != 3 {
			time.Sleep(10 * time.Millisecond)
		}
	}, &s)(5)
	require.NoError(t, err)
	require.Less(t, s.fastest, 10*time.Millisecond)
	_, err = r.timeCalls(func() {}, &s)(1000)
	require.NoError(t, err)
	require.Equal(t, time.Duration(math.MaxInt64), s.fastest, "too short")
}

// sampleReport has one row of every kind.
func sampleReport() *Report {
	ours := Times{Nanoseconds: []float64{100, 110, 105}, Calls: 7, Median: 105, Interval: [2]float64{100, 110}}
	theirs := Times{Nanoseconds: []float64{200, 210, 220}, Calls: 3, Median: 210, Interval: [2]float64{200, 220}}
	slow := Times{Nanoseconds: []float64{400, 420, 440}, Calls: 2, Median: 420, Interval: [2]float64{400, 440}}
	return &Report{
		Schema:  SchemaVersion,
		Machine: Machine{CPU: "A CPU, of 2 cores", Processors: 2, Platform: "linux/amd64", Go: "go1", Peaks: []Peak{{"avx2", 1, FMA, 0, 60, []float64{59, 60, 61}}}},
		Rows: []Row{{
			Suite: "gemm", Name: "forward/2x3x4", Path: "avx2", Threads: 1, Amount: 48, Unit: "flop", Times: ours, Rate: 48. / 105,
			Floor: Floor{50, []Term{{"", FMA, 24, 50}}}, Fraction: 50. / 105, Undisturbed: 0.5,
			Rivals: []Rival{
				{Name: "openblas", Program: "openblas", Threads: 1, BLAS: 2, Status: Measured, Times: &slow, Amount: 48, Ratio: 4, RatioInterval: [2]float64{3.9, 4.1}},
				{Name: "openblas", Program: "openblas", Threads: 2, Best: true, Status: Measured, Times: &theirs, Amount: 48, Ratio: 2, RatioInterval: [2]float64{1.8, 2.2}},
				{Name: "pytorch", Program: "pytorch", Threads: 1, Status: Missing, Amount: 48, Detail: "apt install python3-torch"},
			},
			Change: &Change{Verdict: Faster, Ratio: 0.9, Interval: [2]float64{0.8, 0.95}},
		}, {
			Suite: "rng", Name: "philox/8", Path: "generic", Threads: 2, Amount: 32, Unit: "B", Times: ours, Rate: 32. / 105,
		}},
	}
}

func TestJSONRoundTrip(t *testing.T) {
	var b bytes.Buffer
	require.NoError(t, sampleReport().Write(&b, "json"))
	back, err := ReadJSON(&b)
	require.NoError(t, err)
	require.Equal(t, sampleReport(), back)

	_, err = ReadJSON(strings.NewReader("| a table |"))
	require.ErrorContains(t, err, "-o json")
	_, err = ReadJSON(strings.NewReader(`{"schema": 99}`))
	require.ErrorContains(t, err, "99")
}

// Reports say what they hold, and in csv every repetition of every side.
func TestReports(t *testing.T) {
	r := sampleReport()
	r.Machine.Time, r.Machine.Version, r.Machine.Warnings = time.Date(2024, 2, 3, 4, 5, 6, 0, time.UTC), "0123456789abcdef", []string{"busy"}
	r.Machine.Peers = []About{{"openblas", 1, 2, "of today"}, {"pytorch", 1, 0, "missing"}}
	r.Machine.Peaks = append(r.Machine.Peaks, Peak{"avx2", 2, Read, 3 << 10, 1.25, nil})
	r.Rows[1].Scaling, r.Rows[1].Note = 1.876, "a note"
	r.Rows[1].Rivals = []Rival{
		{Name: "a", Program: "a", Threads: 1, Status: Disagrees, Amount: 32, Detail: "x|y"},
		{Name: "b", Program: "b", Threads: 2, BLAS: 1, Status: Failed, Amount: 16, Detail: "broken"},
		{Name: "b", Program: "b", Threads: 1, Status: Missing, Amount: 16, Detail: "nowhere"},
	}
	r.Rows = append(r.Rows, Row{Suite: "rng", Name: "none/8", Path: "generic", Threads: 1, Amount: 2e-3, Unit: "big number", Times: r.Rows[0].Times, Rate: 2e-3 / 105,
		Floor: Floor{Nanoseconds: 21}, Fraction: 0.2, Change: &Change{Verdict: Inconclusive, Ratio: 1, Interval: [2]float64{0.5, 2}, Detail: "a|b"}})
	var b strings.Builder
	for _, format := range []string{"md", "csv", "go"} {
		require.NoError(t, r.Write(&b, format))
	}
	for i := range r.Rows {
		fmt.Fprintln(&b, r.Rows[i].summary())
	}
	golden(t, "report.txt", b.String())
	require.Error(t, r.Write(&b, "yaml"))
}

// A repetition takes about its time, after a tenth as many calls, and no call more than a
// hundred times what is known.
func TestCalibrate(t *testing.T) {
	for each, want := range map[time.Duration][]int{
		time.Millisecond:       {1, 100, 1100},
		0:                      {1, 100, 10000, 1000000, 100000000},
		time.Second:            {1},
		600 * time.Millisecond: {1, 2},
	} {
		var calls []int
		run := func(n int) (time.Duration, error) {
			if calls = append(calls, n); each == 0 && n > 1e7 {
				return time.Second, nil
			}
			return time.Duration(n) * each, nil
		}
		r := &runner{Options: Options{Time: time.Second}, ctx: t.Context()}
		n, err := r.calibrate(run)
		require.NoError(t, err)
		require.Equal(t, want, calls)
		require.Equal(t, want[len(want)-1], n)
		s := &side{run: run, times: &Times{Calls: 40}, fastest: 3}
		if calls = nil; each > 0 {
			r.repeat(s)
			require.Equal(t, []int{4, 40}, calls)
			require.Equal(t, []float64{float64(each)}, s.times.Nanoseconds)
			require.Equal(t, []float64{3}, s.times.Fastest)
			s.times.Calls, calls = 1, nil
			r.repeat(s)
			require.Equal(t, []int{1}, calls, "it needs no warming up")
		}
	}
}

// TestGoFormat holds the output against the Go project's proposal 14313, the
// format that benchstat reads.
func TestGoFormat(t *testing.T) {
	var b bytes.Buffer
	require.NoError(t, sampleReport().Write(&b, "go"))
	configuration := regexp.MustCompile(`^[a-z][^\sA-Z]*: .+$`)
	result := regexp.MustCompile(`^Benchmark[A-Z]\S*-\d+\t(\d+)((?:\t\S+ \S+)+)$`)
	found := map[string][]float64{}
	for line := range strings.Lines(b.String()) {
		line = strings.TrimSuffix(line, "\n")
		if configuration.MatchString(line) {
			continue
		}
		m := result.FindStringSubmatch(line)
		require.NotNil(t, m, line)
		name, _, _ := strings.Cut(line, "\t")
		value, unit, _ := strings.Cut(strings.Split(strings.TrimSpace(m[2]), "\t")[0], " ")
		require.Equal(t, "ns/op", unit)
		ns, err := strconv.ParseFloat(value, 64)
		require.NoError(t, err)
		found[name] = append(found[name], ns)
	}
	require.Equal(t, map[string][]float64{
		"BenchmarkGemm/forward/2x3x4/path=avx2/program=revgen-1":          {100, 110, 105},
		"BenchmarkGemm/forward/2x3x4/path=avx2/program=openblas/blas=2-1": {400, 420, 440},
		"BenchmarkGemm/forward/2x3x4/path=avx2/program=openblas-2":        {200, 210, 220},
		"BenchmarkRng/philox/8/path=generic/program=revgen-2":             {100, 110, 105},
	}, found)
}

func TestBestSetting(t *testing.T) {
	row := Row{Rivals: []Rival{
		{Name: "a", Program: "a", Threads: 1, Status: Measured, Ratio: 3},
		{Name: "a", Program: "a", Threads: 2, Status: Failed},
		{Name: "a-other", Program: "a", Threads: 1, Status: Measured, Ratio: 2},
		{Name: "b", Program: "b", Threads: 1, Status: Measured, Ratio: 9},
	}}
	row.markBest()
	for i, best := range []bool{false, false, true, true} {
		require.Equal(t, best, row.Rivals[i].Best, i)
	}
	programs := row.programs()
	require.Len(t, programs, 2)
	require.Equal(t, "a-other, 1", programs[0][0].setting())
	require.Len(t, programs[0], 3)
	require.Equal(t, []int{1}, threadCounts(1))
	require.Equal(t, []int{1, 2, 4, 6}, threadCounts(6))
	require.Equal(t, []peers.Setting{{Threads: 1}}, peerSettings(1, true))
	require.Equal(t, []peers.Setting{{Threads: 1}, {Threads: 2}}, peerSettings(2, false))
	require.Equal(t, []peers.Setting{{Threads: 1}, {Threads: 1, BLAS: 2}, {Threads: 2}, {Threads: 2, BLAS: 1}}, peerSettings(2, true))
	require.Len(t, peerSettings(4, true), 3+1+2+1)
}

func TestBars(t *testing.T) {
	row := Row{
		Suite: "iteration", Name: "train/ising/paper", Path: "avx512", Threads: 2, Unit: "sample", Rate: 1, Floor: Floor{Nanoseconds: 1},
		Fraction: 0.82, Scaling: 1.7, Rivals: []Rival{
			{Name: "pytorch", Program: "pytorch", Threads: 2, BLAS: 1, Status: Measured, Ratio: 60},
			{Name: "pytorch", Program: "pytorch", Threads: 2, Status: Measured, Ratio: 50},
			{Name: "pytorch", Program: "pytorch", Threads: 1, Status: Measured, Ratio: 20, Best: true},
		},
	}
	draw := Row{Suite: "hierarchy", Name: "draw/16", Path: "avx512", Threads: 1, Unit: "sample", Rate: 7e-4, Floor: Floor{Nanoseconds: 1}, Fraction: 0.58, Undisturbed: 0.7}
	report := &Report{Rows: []Row{row, draw, {Suite: "rng", Name: "philox/65536", Path: "avx512", Threads: 1, Unit: "B", Rate: 9},
		{Suite: "rng", Name: "normals/65536", Path: "avx512", Threads: 1}, {
			Suite: "math", Name: "exp-negative/65536", Path: "avx512", Threads: 1, Rivals: []Rival{
				{Name: "pytorch", Program: "pytorch", Threads: 1, Status: Measured, Ratio: 3.5},
				{Name: "pytorch-avx512", Program: "pytorch", Threads: 1, Status: Measured, Ratio: 2.5, Best: true},
			},
		}, {
			Suite: "metropolis", Name: "shared/64", Path: "avx512", Threads: 1, Unit: "flip", Rate: 100, Rivals: []Rival{
				{Name: "c-metropolis-avx512", Program: "c-metropolis-avx512", Threads: 1, Status: Measured, Ratio: 0.9, Best: true},
			},
		}}}
	var b strings.Builder
	report.writeBars(&b)
	for _, line := range []string{
		"| avx512 | 2 | 25.0 × pytorch | 20.0 × pytorch | missed | until 2f4fad0 PyTorch",
		"| avx512 | 2 | 80 % of the floor | 82 % of the floor | met | 62 % until adce56ec",
		"| avx512 | 1 | 60 % of the floor | 58 % of the floor | missed | new",
		"| avx512 | 1 | 60 % of the floor by the fastest call | 70 % of the floor by the fastest call | met | new",
		"| avx512 | 2 | 1.85 × one thread | 1.70 × one thread | missed | 1.8 until adce56ec |",
		"| avx512 | 1 | 8.00 GB/s | 9.00 GB/s | met |  |",
		"| avx512 | 1 | 5.00 × pytorch | – | not measured |  |",
		"| avx512 | 1 | 3.00 × pytorch as installed | 3.50 × pytorch as installed | met | since",
		"| avx512 | 1 | 3.00 × pytorch | 2.50 × pytorch | missed | left out",
		"| avx512 | 1 | 1.10 × c-metropolis-avx512 | 0.900 × c-metropolis-avx512 | missed | new",
	} {
		require.Contains(t, b.String(), line)
	}
	require.Equal(t, 1, strings.Count(b.String(), "### bars"))
}

// TestBarsHaveRows finds the operation of every bar among those that the suites
// measure by default.
func TestBarsHaveRows(t *testing.T) {
	for _, bar := range bars() {
		_, size, _ := strings.Cut(bar.operation, "/")
		i := slices.IndexFunc(Suites(), func(s Suite) bool { return s.Name == bar.suite })
		require.GreaterOrEqual(t, i, 0)
		if s := Suites()[i]; s.Sizes != nil {
			require.Contains(t, s.Sizes, size)
		} else {
			require.Contains(t, []string{"ising/paper", "gmm/paper", "hybrid/paper"}, size)
		}
	}
}

// TestDefaultsOfSystems: what is measured by default are the systems that have a target,
// of those that the program knows.
func TestDefaultsOfSystems(t *testing.T) {
	sizes := func(systems ...engine.Definition) (all []string) {
		o := Options{Systems: systems}
		suites, err := o.resolve()
		require.NoError(t, err)
		for _, s := range suites {
			if s.Name == "iteration" {
				all = append(all, s.Sizes...)
			}
		}
		return all
	}
	require.Equal(t, []string{"ising/paper", "gmm/paper"},
		sizes(ising.Definition, graph.Definition, gmm.Definition))
	require.Empty(t, sizes(graph.Definition))
}

// TestEditedReports takes reports that somebody has edited: they are refused or
// can be written in every form and compared with.
func TestEditedReports(t *testing.T) {
	long.SkipShort(t)
	document, err := json.Marshal(sampleReport())
	require.NoError(t, err)
	refused := 0
	configtest.Edited(t, document, func(edited []byte) {
		require.NotPanics(t, func() {
			former, err := ReadJSON(bytes.NewReader(edited))
			if err != nil {
				refused++
				return
			}
			for _, format := range Formats {
				_ = former.Write(io.Discard, format)
			}
			r := sampleReport()
			r.Compare(former)
			_ = r.Write(io.Discard, "md")
			former.Compare(sampleReport())
		}, "%s", edited)
	})
	require.Greater(t, refused, 100)
	for edit, want := range map[string]string{
		`{"schema":2,"rows":[{"name":"x"}]}`:                                                                                       "rows[0]: it has no suite",
		`{"schema":2,"rows":[{"suite":"s","name":"x","threads":1}]}`:                                                               "rows[0].ns: ",
		`{"schema":2,"rows":[{"suite":"s","name":"x","threads":1,"ns":[1,0]}]}`:                                                    "rows[0].ns[1]: 0 ",
		`{"schema":2,"rows":[{"suite":"s","name":"x","threads":1,"ns":[1],"peers":[{"name":"p","status":"measured"}]}]}`:           "rows[0].peers[0]: p ",
		`{"schema":2,"rows":[{"suite":"s","name":"x","ns":[1]}]}`:                                                                  "rows[0].threads: 0 ",
		`{"schema":2,"rows":[{"suite":"s","name":"x","threads":1,"ns":[1],"peers":[{"name":"p","status":"measured","ns":[-1]}]}]}`: "rows[0].peers[0].ns[0]: -1 ",
	} {
		edit = strings.Replace(edit, `"schema":2`, fmt.Sprintf(`"schema":%d`, SchemaVersion), 1)
		_, err := ReadJSON(strings.NewReader(edit))
		require.ErrorContains(t, err, want)
	}
}
