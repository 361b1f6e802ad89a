package cli

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"github.com/stretchr/testify/require"

	"github.com/revgen/revgen/bench/reproduce"
	"github.com/revgen/revgen/engine"
	"github.com/revgen/revgen/engine/chains"
	"github.com/revgen/revgen/engine/diagnose"
	"github.com/revgen/revgen/engine/measure"
	"github.com/revgen/revgen/engine/run"
	"github.com/revgen/revgen/internal/conf"
	"github.com/revgen/revgen/internal/number"
	"github.com/revgen/revgen/internal/stat"
)

func TestCount(t *testing.T) {
	for text, want := range map[string]uint64{"0": 0, "200000": 200000, "200_000": 200000, "2e5": 200000, "1.5e3": 1500, "18446744073709551615": math.MaxUint64} {
		var c count
		require.NoError(t, c.Set(text), text)
		require.Equal(t, want, uint64(c), text)
	}
	for _, text := range []string{"", "-1", "1.5", "1e300", "NaN", "Inf", "ten", "18446744073709551616", "1e-3"} {
		var c count
		require.Error(t, c.Set(text), text)
	}
}

func TestDuration(t *testing.T) {
	for text, want := range map[string]time.Duration{
		"90m": 90 * time.Minute, "1h30m": 90 * time.Minute, "01:30:00": 90 * time.Minute, "1-12:00:01": 36*time.Hour + time.Second, "100:00:00": 100 * time.Hour,
	} {
		var d duration
		require.NoError(t, d.Set(text), text)
		require.Equal(t, want, time.Duration(d), text)
	}
	for _, text := range []string{"", "0", "-1h", "0s", "00:00:00", "1:2", "1:60:00", "1:00:60", "x-01:00:00", "1-", "90", "1:-1:00", "+1:00:00"} {
		var d duration
		require.Error(t, d.Set(text), text)
	}
}

// The parts of a sample are adjacent, complete and of nearly equal size.
func TestShard(t *testing.T) {
	for _, total := range []uint64{0, 1, 7, 100, 1 << 40, math.MaxUint64} {
		for _, n := range []uint64{1, 2, 3, 7, 128} {
			next := uint64(0)
			for i := range n {
				s := shard{i, n, false}
				first, size := s.slice(total)
				require.Equal(t, next, first)
				require.InDelta(t, float64(total/n), float64(size), 1)
				next += size
			}
			require.Equal(t, total, next)
		}
	}
	for _, text := range []string{"", "1", "1/1", "3/2", "0/0", "-1/2", "a/b", "1/2/3", "0/ 2"} {
		var s shard
		require.Error(t, s.Set(text), text)
	}
	var s shard
	require.NoError(t, s.Set("5/64"))
	require.Equal(t, shard{5, 64, false}, s)
}

func TestEvaluationTable(t *testing.T) {
	paper := 0.0045
	var b bytes.Buffer
	require.NoError(t, evaluationTable("paper", &measure.Evaluation{Metrics: []measure.Metric{
		{Name: "energy", Exact: -4.842892, Generated: -4.8512, Error: 0.00172, Relative: true, Interval: [2]float64{-4.862, -4.8404}, Floor: 0.0022, Paper: &paper},
		{Name: "total_variation", Generated: 0.0213, Error: 0.0213, Interval: [2]float64{0.0192, 0.0234}, Floor: 0.0179},
		{Name: "certain", Exact: 1, Generated: 1, Error: 1e-7},
	}}).WriteText(&b))
	require.Equal(t, strings.TrimPrefix(`
metric            exact  generated    error     95 % interval  sampling floor   paper
───────────────  ──────  ─────────  ───────  ────────────────  ──────────────  ──────
energy           -4.843     -4.851   0.17 %  [-4.862, -4.840]          0.22 %  0.45 %
total variation       0     0.0213   0.0213  [0.0192, 0.0234]          0.0179       –
certain               1          1  1.0e-07            [0, 0]               0       –
`, "\n"), b.String())
}

func TestQuantities(t *testing.T) {
	for x, want := range map[float64]string{
		0: "0.00", 0.123: "0.12", 9.876: "9.88", 98.76: "98.8", 987.6: "988", 9876: "9876", 12345: "12.3k", 1.5e6: "1.5M", 2.34e9: "2.34G",
	} {
		require.Equal(t, want, quantity(x))
	}
	for x, want := range map[float64]string{0: "0:00", 0.2: "0:01", 59.5: "1:00", 3599: "59:59", 3600: "1:00:00", 1e6: "277:46:40", math.Inf(1): "?", 1e9: "?"} {
		require.Equal(t, want, timeLeft(x))
	}
	require.Equal(t, "?", timeLeft(math.NaN()))
}

func TestLinesInsteadOfABar(t *testing.T) {
	var stderr bytes.Buffer
	p := &program{stderr: &stderr}
	m := p.newMeter(100, "steps")
	m.update(50, 10, "loss 1")
	require.Empty(t, stderr.String(), "nothing before ten seconds have passed")
	m.lastShown = m.lastShown.Add(-lineEvery)
	m.update(60, 10, "loss 1")
	m.update(70, 10, "loss 1")
	m.update(100, 10, "loss 1")
	m.end()
	require.Equal(t, "steps 60/100  loss 1  10.0 steps/s  0:04 left\nsteps 100/100  loss 1  10.0 steps/s  0:00 left\n", stderr.String())
}

// Every figure of the tables that end mcmc and diagnose is in its column, in its unit.
func TestTables(t *testing.T) {
	observable := func(name string, mean float64) chains.Observable {
		return chains.Observable{Name: name, ChainSummary: stat.ChainSummary{Mean: mean, StandardError: 0.0123, Deviation: 2.34567, Time: 1.256, RHat: 1.00456, EffectiveSize: 1234.4},
			SecondsPerEffective: 0.000123}
	}
	one := &chains.Result{Levels: []chains.Level{{Observables: []chains.Observable{observable("energy", -4.8428921)}}}, Spacing: 1, BurnedIn: 50, Seconds: 1.236, BurnIn: 0.124}
	two := &chains.Result{Levels: []chains.Level{
		{Observables: []chains.Observable{observable("energy", -4)}, Accepted: 1, Proposed: 8},
		{Observables: []chains.Observable{observable("abs_magnetisation", 0.5)}},
	}, Spacing: 2, BurnedIn: 1, Seconds: 2, BurnIn: 1}
	weighted := 1.25
	report := &diagnose.Report{Sentence: "All is well.", Samples: 4096, Steps: 128, Seconds: 2.34,
		Observables: []diagnose.Observable{
			{Name: "energy", Mean: -4.84321, Deviation: 2.5, Settled: 16, Memory: 0.126, Drift: []diagnose.Drift{{Change: 9}, {Change: 0.5, StandardError: 0.1}},
				Chains: &diagnose.Comparison{Mean: -4.8, Z: 1.26, RHat: 1.0016}, Weighted: &weighted, WeightedError: 0.1, WeightedZ: 2.5},
			{Name: "abs_magnetisation", Mean: 0.5, Settled: -1},
			{Name: "cold", Settled: 0},
		},
		Chains: &diagnose.Chains{Number: 64, Steps: 300, RHat: 1.0126, EffectiveSize: 812.4},
		Limits: []string{"cut short"},
	}
	report.Weights = &diagnose.Weights{}
	report.Weights.EffectiveSize, report.Weights.ParetoK, report.Weights.LogZ, report.Weights.LogZError = 0.87654321, 0.31, 7.5, 0.0123
	plain := &diagnose.Report{Sentence: "Nothing is known.", Samples: 1, Seconds: 0.06, Observables: []diagnose.Observable{{Name: "energy"}}}
	doubtful := *report
	mistrusted := *report.Weights
	mistrusted.Warning = "few are large"
	doubtful.Weights, doubtful.Observables, doubtful.Limits = &mistrusted, report.Observables[:1], nil

	var b bytes.Buffer
	require.NoError(t, writeChains(&b, one, chains.Options{Chains: 1, Draws: 1000}))
	require.NoError(t, writeChains(&b, two, chains.Options{Chains: 8, Draws: 1, Ladder: []float64{0.1, 0.25}}))
	for _, r := range []*diagnose.Report{report, plain, &doubtful} {
		require.NoError(t, writeDiagnosis(&b, r))
	}
	golden(t, "tables.txt", b.String())
}

// A full writer takes so many writes.
type full struct{ room int }

func (f *full) Write(b []byte) (int, error) {
	if f.room--; f.room < 0 {
		return 0, syscall.ENOSPC
	}
	return len(b), nil
}

// What cannot be written is an error, whichever line of a table it is.
func TestFullWriters(t *testing.T) {
	level := chains.Level{Observables: []chains.Observable{{Name: "energy"}}, Accepted: 1, Proposed: 2}
	for name, write := range map[string]func(w io.Writer) error{
		"mcmc": func(w io.Writer) error {
			return writeChains(w, &chains.Result{Levels: []chains.Level{level, level}}, chains.Options{Ladder: []float64{1, 2}})
		},
		"diagnose": func(w io.Writer) error {
			return writeDiagnosis(w, &diagnose.Report{Observables: []diagnose.Observable{{Name: "energy"}}})
		},
		"reproduce": func(w io.Writer) error {
			return (&program{stdout: w, stderr: io.Discard}).writeOutcome(&reproduce.Outcome{Seeds: []uint64{1}, Metrics: make([]reproduce.Metric, 2), Million: make([]reproduce.Metric, 1)})
		},
		"info": func(w io.Writer) error { return (&program{stdout: w, systems: systems}).printMachine() },
		"describe": func(w io.Writer) error {
			cfg, err := systems[0].Preset("paper")
			require.NoError(t, err)
			config, err := conf.Encode(cfg)
			require.NoError(t, err)
			return (&program{stdout: w, systems: systems}).writeInfo("", &runInfo{
				Status: &run.Status{Updated: time.Now()}, Hash: "x", Config: config, Evaluation: &measure.Evaluation{Metrics: make([]measure.Metric, 1)}})
		},
		"train": func(w io.Writer) error {
			return evaluationTable("", &measure.Evaluation{Metrics: make([]measure.Metric, 1)}).WriteText(w)
		},
		"verify": func(w io.Writer) error {
			r := &checkRecords{p: &program{stdout: w, stderr: io.Discard}}
			r.add("x", engine.Check{OK: true})
			r.add("y", engine.Check{OK: true})
			return r.end()
		},
	} {
		count := &full{math.MaxInt}
		require.NoError(t, write(count), name)
		for n := range math.MaxInt - count.room {
			require.ErrorIs(t, write(&full{n}), syscall.ENOSPC, "%s, after %d", name, n)
		}
	}
}

// golden holds a text against a file of testdata, which -update writes.
func golden(t *testing.T, name, text string) {
	t.Helper()
	file := filepath.Join("testdata", name)
	if *update {
		require.NoError(t, os.MkdirAll("testdata", 0o755))
		require.NoError(t, os.WriteFile(file, []byte(text), 0o600))
	}
	want, err := os.ReadFile(file)
	require.NoError(t, err)
	require.Equal(t, string(want), text, "go test ./internal/cli -run %s -update writes it", t.Name())
}

// What commands do unless they are told otherwise changes on purpose only.
func TestDefaults(t *testing.T) {
	var b bytes.Buffer
	var write func(cmd *cobra.Command)
	write = func(cmd *cobra.Command) {
		cmd.LocalFlags().VisitAll(func(f *pflag.Flag) {
			if !slices.Contains([]string{"", "false", "[]"}, f.DefValue) || f.NoOptDefVal != "" && f.NoOptDefVal != "true" {
				fmt.Fprintf(&b, "%s --%s %s %s\n", cmd.CommandPath(), f.Name, f.DefValue, f.NoOptDefVal)
			}
		})
		for _, c := range cmd.Commands() {
			write(c)
		}
	}
	write(Command(systems...))
	golden(t, "defaults.txt", b.String())
}

// Every flag of a command stays, with its letter and its type.
func TestFlags(t *testing.T) {
	var b bytes.Buffer
	var write func(cmd *cobra.Command)
	write = func(cmd *cobra.Command) {
		fmt.Fprintln(&b, cmd.CommandPath())
		cmd.LocalFlags().VisitAll(func(f *pflag.Flag) { fmt.Fprintln(&b, " ", f.Name, f.Shorthand, f.Value.Type()) })
		for _, c := range cmd.Commands() {
			write(c)
		}
	}
	write(Command(systems...))
	golden(t, "flags.txt", b.String())
}

// Whatever ends a command, its exit code says of which kind that is.
func TestExitCodes(t *testing.T) {
	fault := errors.New("fault")
	for _, c := range []struct {
		err     error
		started int // exit code once the command's work has begun
		before  int
	}{
		{nil, exitOK, exitOK},
		{fault, exitError, exitUsage},
		{usageError{fault}, exitUsage, exitUsage},
		{fmt.Errorf("x: %w", &conf.Error{}), exitUsage, exitUsage},
		{&run.MismatchError{}, exitUsage, exitUsage},
		{&engine.MethodError{}, exitUsage, exitUsage},
		{errCheckFailed, exitCheck, exitCheck},
		{errReaderGone, exitPipe, exitPipe},
		{resumableStop{"x"}, exitStopped, exitStopped},
		{errors.Join(resumableStop{"x"}, fault), exitError, exitUsage},
		{usageError{syscall.EMFILE}, exitError, exitError},
		{usageError{syscall.ENFILE}, exitError, exitError},
		{usageError{syscall.ENOMEM}, exitError, exitError},
		{errors.Join(fault, discardedWork{truncated: true}), exitError, exitError},
		{errors.Join(fault, discardedWork{}), exitStopped, exitStopped},
		{catchPanic(func() error { panic("x") }), exitDefect, exitDefect},
	} {
		require.Equal(t, c.started, (&program{parsed: true}).exitCode(c.err), "%v", c.err)
		require.Equal(t, c.before, (&program{}).exitCode(c.err), "%v", c.err)
	}
	require.Equal(t, [...]int{0, 1, 2, 3, 70, 75, 141}, [...]int{exitOK, exitError, exitUsage, exitCheck, exitDefect, exitStopped, exitPipe})
}

// What the program says beside its tables has its figures, in their units.
func TestRemarks(t *testing.T) {
	var b bytes.Buffer
	p := &program{stdout: &b, stderr: &b}
	exact := engine.Exactness{Acceptance: 0.87654, Time: 1.23456, Longest: 7}
	exact.Weights.EffectiveSize, exact.Weights.ParetoK = 0.912345, 0.2
	p.sayExact(exact)
	exact.AtLeast, exact.Warning = true, "a warning"
	p.sayExact(exact)
	spent := &engine.Evaluations{Look: 1000, Training: 2e6, Table: 30, Diagnosis: 4}
	for _, r := range []*run.Result{
		{Summary: run.Summary{Steps: 12, Seconds: 3.46, Evaluations: spent, Evaluation: &measure.Evaluation{Samples: 99, Warnings: []string{"thin"}}, Diagnosis: &diagnose.Report{Verdict: diagnose.Unknown, Sentence: "Who knows."}}},
		{Summary: run.Summary{Diagnosis: &diagnose.Report{Verdict: diagnose.Wrong, Sentence: "No."}}},
	} {
		require.NoError(t, p.printTraining("dir", "dir/samples.npy", "paper", r))
	}
	require.NoError(t, p.printTraining("dir", "", "paper", &run.Result{}))
	for _, quiet := range []bool{true, false} {
		for _, asJSON := range []bool{true, false} {
			for _, r := range []*diagnose.Report{nil, {Sentence: "No."}} {
				q := &program{stderr: &b, quiet: quiet, json: asJSON}
				require.Equal(t, errCheckFailed, q.refuseSamples(r))
				q.say("said %d", 1)
			}
		}
	}
	stop, cancel := context.WithCancelCause(t.Context())
	defer cancel(nil)
	for _, cause := range []error{nil, stopRequest{syscall.SIGTERM}} {
		if cause != nil {
			cancel(cause)
		}
		for _, err := range []error{&batchStop{"dir", 3, 7}, &run.StopError{}, errors.New("fault"), context.Canceled, agreedError{context.Canceled}} {
			for _, lost := range []bool{false, true} {
				p.output.begin(func() (string, bool) { return "something is left", lost })
				err := p.commandError(stop, err)
				fmt.Fprintf(&b, "%T %v %d\n", err, err, p.exitCode(err))
			}
		}
	}
	for _, n := range []int{199, 200, 201, 299, 300} {
		word := strings.Repeat("é", n)
		fmt.Fprintln(&b, n, len(elide(word)), len(oneLine(errors.New("\n"+word+"\n\nx\n"))))
		p.args = []string{"--set=" + word}
		p.report(fmt.Errorf("of %s and %q", word, word), n)
		p.json = n == 299
	}
	p.json = false
	for _, s := range []os.Signal{syscall.SIGINT, syscall.SIGTERM, syscall.SIGUSR1, syscall.SIGHUP, syscall.SIGQUIT} {
		fmt.Fprintln(&b, signalName(s))
	}
	for _, word := range []string{"", "a/b.c-d_e=f,g+Z9", "it's", "a b", "ü"} {
		fmt.Fprintln(&b, quoteShell(word))
	}
	fmt.Fprintln(&b, number.Count(0, "step"), number.Count(1, "step"), number.Count(2, "step"), csvValue("-1e5"), csvValue("-x"), csvValue("=x"))
	for _, r := range []stepCount{{}, {n: 8}, {auto: true}} {
		fmt.Fprintln(&b, r.String())
	}
	golden(t, "remarks.txt", b.String())
}
