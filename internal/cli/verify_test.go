package cli

import (
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/spf13/cobra"
	"github.com/stretchr/testify/require"

	"github.com/revgen/revgen/engine/measure"
	"github.com/revgen/revgen/engine/run"
	"github.com/revgen/revgen/internal/number"
)

func waitFor(t *testing.T, done func() bool) {
	t.Helper()
	require.Eventually(t, done, 3*time.Minute, 5*time.Millisecond)
}

type record struct {
	System, Check, Detail string
	OK                    bool
	Value, Bound          number.Float
}

func parseRecords(t *testing.T, text string) []record {
	t.Helper()
	var all []record
	for line := range strings.Lines(text) {
		var r record
		require.NoError(t, json.Unmarshal([]byte(line), &r), line)
		all = append(all, r)
	}
	return all
}

func TestVerifyReportsFailures(t *testing.T) {
	dir := t.TempDir()
	o := revgen(t, dir, "verify", "toy", "--json")
	require.Equal(t, exitCheck, o.code)
	require.Equal(t, "3 checks, 1 failed", o.stderr[:18])
	all := parseRecords(t, o.stdout)
	require.True(t, math.IsNaN(float64(all[1].Value)))
	all[1].Value = 0 // for Equal
	require.Equal(t, []record{
		{System: "toy", Check: "sums", OK: true, Value: 1e-16, Bound: 1e-15},
		{System: "toy", Check: "balance", OK: false, Bound: 1e-15, Detail: "state 3"},
		{System: "toy", Check: "limit", OK: true, Value: 1, Bound: number.Float(math.Inf(1))},
	}, all)

	o = revgen(t, dir, "verify", "toy", "--quiet")
	require.Equal(t, exitCheck, o.code)
	require.Empty(t, o.stderr)
	lines := strings.Split(o.stdout, "\n")
	require.Regexp(t, "^ok    toy +sums +1e-16  bound 1e-15$", lines[0])
	require.Regexp(t, "^FAIL  toy +balance +NaN  bound 1e-15 +state 3$", lines[1])

	cmd := command(t, dir, "verify", "toy")
	cmd.Env = append(cmd.Env, "REVGEN_TEST_VERIFY_ERROR=1")
	o = finish(t, cmd)
	require.Equal(t, exitError, o.code)
	require.Contains(t, o.stderr, "revgen: toy: out of states")
}

// TestDefect panics in a thread: the exit code is not that of wrong usage, and
// one line says what it was.
func TestDefect(t *testing.T) {
	cmd := command(t, t.TempDir(), "verify", "toy")
	cmd.Env = append(cmd.Env, "REVGEN_TEST_VERIFY_PANIC=1")
	o := finish(t, cmd)
	require.Equal(t, exitDefect, o.code, o.stderr)
	require.Regexp(t, `^revgen: a defect of revgen: runtime error: index out of range \[50\] with length \d+ \(internal/cli/main_test\.go:\d+\); please report it.*\n$`, o.stderr)
	require.Equal(t, exitUsage, (&program{}).exitCode(usagef("no")))

	// So does what panics in a command that no signal interrupts.
	wrong := &cobra.Command{RunE: func(*cobra.Command, []string) error { panic("wrong") }, Args: cobra.ArbitraryArgs, SilenceErrors: true, SilenceUsage: true}
	err := catchPanic(wrong.Execute)
	require.Equal(t, exitDefect, (&program{}).exitCode(err))
	require.Regexp(t, `^a defect of revgen: wrong \(internal/cli/verify_test\.go:\d+\); please report it`, err.Error())
}

func TestVerifyModel(t *testing.T) {
	dir := trained(t)
	o := ok(t, "", "verify", dir, "--json")
	names := make(map[string]bool)
	for _, r := range parseRecords(t, o.stdout) {
		require.True(t, r.OK, r.Check)
		require.Equal(t, "ising", r.System)
		names[r.Check] = true
	}
	want := map[string]bool{"model.checksum": true, "model.finite": true, "model.parameters": true, "model.summary": true, "model.modes": true, "refinement/decay": true}
	for _, steps := range []string{"0", "1", "2", "5", "10", "20", "50"} {
		want["refinement/"+steps] = true
	}
	require.Equal(t, want, names)

	o = ok(t, "", "verify", filepath.Join(dir, "model.rvg"), "--json")
	require.Len(t, parseRecords(t, o.stdout), 11, "a file alone has no summary")

	// Bounds are checked too, of a file alone as well, and one that is not kept fails.
	for _, of := range []string{dir, filepath.Join(dir, "model.rvg")} {
		for bound, code := range map[string]int{"1e9": exitOK, "0": exitCheck} {
			o := revgen(t, "", "verify", of, "--json", "--max", "energy="+bound, "--max-floor", "1e9")
			require.Equal(t, code, o.code, o.stderr)
			var bounded []string
			for _, r := range parseRecords(t, o.stdout) {
				if name, ok := strings.CutPrefix(r.Check, "floor/"); ok {
					bounded = append(bounded, name)
					require.True(t, r.OK)
					require.Equal(t, 1e9, float64(r.Bound))
					require.Equal(t, "error of 2000 samples, in sampling floors", r.Detail)
				} else if r.Check == "max/energy" {
					bounded = append(bounded, r.Check)
					require.Equal(t, code == exitOK, r.OK)
					require.Equal(t, "error of 2000 samples", r.Detail)
				}
			}
			require.Equal(t, "max/energy", bounded[0])
			require.Contains(t, bounded, "energy")
			require.Greater(t, len(bounded), 3)
		}
	}

	// What is said of a file whose numbers are not those of a generator.
	said := func(change func(m *run.Model)) []record {
		m := readModel(t, dir)
		change(m)
		path := filepath.Join(t.TempDir(), "changed.rvg")
		require.NoError(t, m.Write(path))
		o := revgen(t, "", "verify", path, "--json")
		require.Equal(t, exitCheck, o.code)
		return parseRecords(t, o.stdout)
	}
	records := []record{
		{System: "ising", Check: "model.checksum", OK: true, Detail: "the file is whole"},
		{System: "ising", Check: "model.finite", OK: true, Detail: "number of parameters that are not finite"},
		{System: "ising", Check: "model.parameters", OK: true, Detail: "number of parameters that the configuration needs and the file lacks"},
	}
	broken := slices.Clone(records)
	broken[1].OK, broken[1].Value = false, 2
	require.Equal(t, broken, said(func(m *run.Model) { m.Params[3], m.Params[5] = float32(math.NaN()), float32(math.Inf(-1)) }))
	short := slices.Clone(records)
	short[2].OK, short[2].Value = false, 4
	require.Equal(t, short, said(func(m *run.Model) { m.Params = m.Params[4:] }))
	all := parseRecords(t, ok(t, "", "verify", dir, "--json").stdout)
	require.Equal(t, records, all[:3])
	require.Equal(t, []record{
		{System: "ising", Check: "model.summary", OK: true, Bound: 0.1, Detail: "largest change of a metric when measured again, in half widths of its confidence interval"},
		{System: "ising", Check: "model.modes", OK: true, Detail: "number of modes, sectors or wells of the target that are missing from the samples"},
	}, all[len(all)-2:])

	// Bounds, of one error and of all.
	o = revgen(t, "", "verify", dir, "--max", "total_variation=0.9", "--max-floor", "0.001")
	require.Equal(t, exitCheck, o.code)
	require.Regexp(t, "(?m)^ok    ising +max/total_variation ", o.stdout)
	require.Regexp(t, "(?m)^FAIL  ising +floor/energy ", o.stdout)
	ok(t, "", "verify", dir, "--max", "total_variation=0.9")
	for want, args := range map[string][]string{
		`no metric "entropy"`: {dir, "--max", "entropy=1"}, "is not METRIC=VALUE": {dir, "--max", "energy"},
		"need a trained model": {"ising", "--max-floor", "3"}, "--max-floor": {dir, "--max-floor", "-1"},
	} {
		o = revgen(t, "", append([]string{"verify"}, args...)...)
		require.Equal(t, exitUsage, o.code, "%v", args)
		require.Contains(t, o.stderr, want)
	}

	// A summary of other figures is noticed.
	path := filepath.Join(dir, "summary.json")
	data, err := os.ReadFile(path)
	require.NoError(t, err)
	var summary map[string]any
	require.NoError(t, json.Unmarshal(data, &summary))
	metric := summary["metrics"].([]any)[0].(map[string]any)
	metric["generated"] = metric["generated"].(float64) + 5
	changed, err := json.Marshal(summary)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(path, changed, 0o600))
	o = revgen(t, "", "verify", dir)
	require.Equal(t, exitCheck, o.code)
	require.Regexp(t, "(?m)^FAIL  ising +model.summary ", o.stdout)

	require.NoError(t, os.WriteFile(path, []byte("{"), 0o600))
	o = revgen(t, "", "verify", dir)
	require.Equal(t, exitError, o.code)
	require.Contains(t, o.stderr, "summary.json")

	require.NoError(t, os.Truncate(filepath.Join(dir, "model.rvg"), 1000))
	o = revgen(t, "", "verify", dir)
	require.Equal(t, exitError, o.code)
	require.Contains(t, o.stderr, "model.rvg: damaged")
}

// TestLostModes: a mode that the samples lack fails the check of all modes, which names it.
func TestLostModes(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "run")
	const components = `target.components=[{"weight":0.6,"mean":[0,0],"covariance":[[1,0],[0,1]]},{"weight":0.4,"mean":[30,30],"covariance":[[1,0],[0,1]]}]`
	ok(t, "", "train", "gmm", "--preset", "paper", "-s", "training.steps=0", "-s", "evaluation.samples=2000", "-s", components, "--figures", "none", "--diagnose", "none", "-q", "-o", dir)
	o := revgen(t, "", "verify", dir, "--json")
	require.Equal(t, exitCheck, o.code)
	all := parseRecords(t, o.stdout)
	last := all[len(all)-1]
	require.Regexp(t, `^number of modes, sectors or wells of the target that are missing from the samples: \S[^;]*$`, last.Detail)
	last.Detail = ""
	require.Equal(t, record{System: "gmm", Check: "model.modes", Value: 1}, last)
}

func TestSummaryCheck(t *testing.T) {
	table := func(generated float64) *measure.Evaluation {
		return &measure.Evaluation{Metrics: []measure.Metric{{Name: "energy", Generated: generated, Interval: [2]float64{-1, 1}}}}
	}
	require.True(t, summaryCheck(table(0.5), table(0.5)).OK)
	require.True(t, summaryCheck(table(0.5), table(0.55)).OK)
	require.False(t, summaryCheck(table(0.5), table(0.65)).OK)
	require.False(t, summaryCheck(table(0.5), table(math.NaN())).OK)
	require.False(t, summaryCheck(table(0.5), &measure.Evaluation{}).OK)
	other := table(0.5)
	other.Metrics[0].Name = "entropy"
	require.False(t, summaryCheck(table(0.5), other).OK)
	point := table(0)
	point.Metrics[0].Interval = [2]float64{0, 0}
	require.True(t, summaryCheck(point, point).OK, "an exact value repeats itself")
	require.True(t, summaryCheck(table(math.Inf(1)), table(math.Inf(1))).OK, "and so does an infinite one")
	require.False(t, summaryCheck(table(math.Inf(1)), table(0.5)).OK)
}
