package cli

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/revgen/revgen/bench"
	"github.com/revgen/revgen/bench/answer"
	"github.com/revgen/revgen/engine/diagnose"
	"github.com/revgen/revgen/internal/disk"
)

// within runs a command line in dir, with an error of each write to stdout if there is one.
func within(t *testing.T, dir, args string, broken error) outcome {
	t.Helper()
	if broken == nil {
		return revgen(t, dir, strings.Fields(args)...)
	}
	t.Chdir(dir)
	var stderr bytes.Buffer
	code := Run(strings.Fields(args), writes{broken}, &stderr, append(slices.Clone(systems), toyDefinition)...)
	return outcome{code, "", stderr.String()}
}

// TestArguments: how many arguments each command takes, and how many threads.
func TestArguments(t *testing.T) {
	dir := filepath.Dir(trained(t))
	for command, want := range map[string]string{
		"verify ising run x": "accepts at most 2 arg(s), received 3; see revgen verify --help", "sample": "accepts 1 arg(s), received 0; see revgen sample --help", "sample a b": "accepts 1 arg(s), received 2; see revgen sample --help",
		"diagnose": "accepts 1 arg(s), received 0; see revgen diagnose --help", "diagnose a b": "accepts 1 arg(s), received 2; see revgen diagnose --help", "run": "accepts 1 arg(s), received 0; see revgen run --help",
		"run a b": "accepts 1 arg(s), received 2; see revgen run --help", "report": "requires at least 1 arg(s), only received 0; see revgen report --help", "score": "accepts between 1 and 2 arg(s), received 0; see revgen score --help",
		"score a b c": "accepts between 1 and 2 arg(s), received 3; see revgen score --help", "mcmc a b": "accepts at most 1 arg(s), received 2; see revgen mcmc --help", "train a b": "accepts at most 1 arg(s), received 2; see revgen train --help",
		"info a b": "accepts at most 1 arg(s), received 2; see revgen info --help", "version a": `unknown command "a" for "revgen version"; see revgen version --help`, "config show a b": "accepts at most 1 arg(s), received 2; see revgen config show --help",
		"config schema": "accepts 1 arg(s), received 0; see revgen config schema --help", "config schema a b": "accepts 1 arg(s), received 2; see revgen config schema --help", "config schema x": `unknown system "x"; the systems are ` + strings.Join(append(systems.Names(), "toy"), ", "),
		"bench x": `invalid argument "x" for "revgen bench"; see revgen bench --help`, "bench answer a": `unknown command "a" for "revgen bench answer"; see revgen bench answer --help`, "reproduce x": `unknown command "x" for "revgen reproduce"; see revgen reproduce --help`,
		"train x --samples 1073741824": "", "train x --samples 1073741825": "--samples: 1073741825 are more than 1073741824; draw more with revgen sample",
	} {
		if want == "" {
			want = `"x" is neither a system (` + strings.Join(append(systems.Names(), "toy"), ", ") + ") nor a file"
		}
		require.Equal(t, outcome{exitUsage, "", "revgen: " + want + "\n"}, within(t, dir, command, nil), command)
	}
	for _, command := range []string{"sample run -n 5 -o x.npy", "diagnose run", "verify run", "verify ising", "mcmc ising", "score ising run/config.json", "reproduce -o r"} {
		require.Equal(t, outcome{exitUsage, "", "revgen: --threads: 4097 is not between 1 and 4096\n"}, within(t, dir, command+" -t 4097", nil), command)
	}
}

// TestLostResults: what cannot be written to stdout is an error of every command.
func TestLostResults(t *testing.T) {
	dir := filepath.Dir(trained(t))
	keep := func(name string, write func(w *bytes.Buffer) error) {
		var b bytes.Buffer
		require.NoError(t, write(&b))
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), b.Bytes(), 0o600))
	}
	keep("report.json", func(w *bytes.Buffer) error { return (&bench.Report{Schema: 2}).Write(w, "json") })
	keep("answer.json", func(w *bytes.Buffer) error { return (&answer.Report{Schema: 1}).Write(w, "json") })
	keep("states.ndjson", func(w *bytes.Buffer) error {
		_, err := w.WriteString("[1,1,1,1,1,1,1,1,1]\n")
		return err
	})
	for _, command := range []string{
		"config show ising", "config schema ising", "info", "info --json", "info run", "info run --json", "version", "bench --from report.json", "bench answer --from answer.json", "report run -o -", "report run --csv",
		"sample run -n 5 -o -", "sample run --format ?", "sample run -n 5 -o x.npy --json", "mcmc ising --chains 4 --draws 8 --json", "mcmc ising --chains 4 --draws 8", "mcmc ising --chains 4 --draws 8 -o -", "mcmc ising --chains 4 --draws 8 --states -",
		"score ising states.ndjson", "score ising states.ndjson -o x.ndjson --json", "diagnose run -n 256 --max-refine 1 --json", "diagnose run -n 256 --max-refine 1",
	} {
		o := within(t, dir, command, errors.New("broken"))
		require.Equal(t, exitError, o.code, "%s: %s", command, o.stderr)
		want := "revgen: broken\n"
		switch {
		case strings.HasSuffix(command, "--json"):
			want = `{"error":"broken","exit":1}` + "\n"
		case strings.HasPrefix(command, "score"):
			want = "revgen: writing stdout: broken\n"
		}
		require.True(t, strings.HasSuffix(o.stderr, want), "%s: %s", command, o.stderr)
	}
}

// TestDamagedRuns: what is said of a file of a run that is not what a run leaves, or of a file in the
// place of a folder, by each command that needs it.
func TestDamagedRuns(t *testing.T) {
	const folder = "/"
	whole := trained(t)
	for _, c := range []struct {
		file, content, args, want string
		code                      int
	}{
		{"summary.json", "{", "report run", "run/summary.json: unexpected end of JSON input", exitError},
		{"summary.json", "{", "report run --csv", "run/summary.json: unexpected end of JSON input", exitError},
		{"summary.json", "{", "diagnose run -n 256 --max-refine 1", "run/summary.json: unexpected end of JSON input", exitError},
		{"summary.json", "{", "info run", "run/summary.json: unexpected end of JSON input", exitError},
		{"diagnosis.json", folder, "diagnose run -n 256 --max-refine 1", "writing run/diagnosis.json: file exists", exitError},
		{"diagnosis.json", folder, "report run", "run/diagnosis.json: is a directory; a regular file is needed", exitError},
		{"diagnosis.json", "{", "report run -o -", "run/diagnosis.json: unexpected end of JSON input", exitError},
		{"diagnosis.json", "{", "sample run -n 5 -o x.npy -q --refine auto", "run/diagnosis.json: unexpected end of JSON input", exitError},
		{"config.json", "{", "report run", "run/config.json: its configuration:1:2: ends too early: a closing bracket or quote is missing", exitError},
		{"model.rvg", "x", "report run", "run/model.rvg: not a RevGen model file", exitError},
		{"report.html", folder, "report run", "writing run/report.html: file exists", exitError},
		{"samples.npy.json", "{", "sample run -n 5 -o x.npy -q", "run/samples.npy.json: is no longer what was written beside the samples; delete it, and say with --first where to begin", exitError},
		{"figures/x.svg", folder, "report run", "run/figures/x.svg: is a directory; a regular file is needed", exitError},
		{"results.ndjson", `{"values":1}{"values":2}`, "report run", ": values: line 1: a number where an object or a list is needed", exitError},
		{"results.ndjson", `{"values":1}{"values":2}`, "report run --csv", ": values: line 1: a number where an object or a list is needed", exitError},
		{"results.json", "{", "reproduce --only ising-0.2 -o run", "run/results.json: unexpected EOF", exitError},
		{"results.json", `{"outcomes":[{}]}`, "reproduce --only ising-0.2 -o run", "run/results.json: outcomes[0].preset: it has none", exitError},
		{"results.json", `{"schema":9}`, "reproduce --only ising-0.2 -o run", "run/results.json: schema version 9; this program reads version 1", exitError},
		{"journal.ndjson", folder, "run jobs.ndjson -o run", "open run/journal.ndjson: is a directory", exitError},
		{"status.json", "{", "info run", "run/status.json: unexpected end of JSON input", exitError},
		{"a", "x", "bench answer --from answer.json --figure run/a", "mkdir run/a: not a directory", exitError},
		{"a", "x", "bench answer --from none.json", "--from: none.json: not a report of bench answer -o json: open none.json: no such file or directory", exitError},
		{"a", "x", "run jobs.ndjson -o run/a", "directory run/a: not a directory", exitError},
		{"a", "x", "mcmc ising --chains 100 --draws 100 --spacing 10 -q -o run/a/x.npy", "writing run/a/x.npy: not a directory", exitError},
		{"a", "x", "mcmc ising --chains 100 --draws 100 --spacing 10 -q --states run/a/x.npy", "writing run/a/x.npy: not a directory", exitError},
		{"a", "x", "sample run -n 5 -q -o run/a/x.npy", "writing run/a/x.npy: not a directory", exitError},
		{"a", "x", "score ising states.ndjson -o run/a/x.npy", "writing run/a/x.npy: not a directory", exitError},
		{"a", "x", "report run -o run/a/x.html", "writing run/a/x.html: not a directory", exitError},
		{"a", "x", "report run --csv -o run/a/x.csv", "writing run/a/x.csv: not a directory", exitError},
		{"a", "x", "reproduce -o run/a --preset paper --only ising-0.2", "mkdir run/a: not a directory", exitError},
		{"a", "x", "score ising states.ndjson --columns energy,none", `--columns: "none" is not one of energy, log_density, magnetisation, abs_magnetisation`, exitUsage},
		{"a", "x", "score ising states.ndjson --model none", "open none: no such file or directory", exitError},
		{"a", "x", "score gmm states.ndjson --model run", "--model: run is of states with dtype '|i1' and shape [3 3], and those of the target have '<f4' and [2]", exitUsage},
		{"a", "x", "mcmc toy --chains 4 --draws 8", "toy: the system has no chains of its own", exitUsage},
		{"a", "x", "mcmc ising -q --chains 4 --draws 8 --states x.npy --format none", `--format: "none" is not one of spins, bits`, exitUsage},
		{"a", "x", "sample run -n 5 -o x.npy --format none", `--format: "none" is not one of [spins bits]; --format ? describes them`, exitUsage},
		{"a", "x", "sample run -n 5 -o x.npy --weights --format bits", "--weights: it is --format weighted; leave out one of --weights and --format", exitUsage},
		{"a", "x", "sample run -n 5 -o x.npy --exact --refine 1", "--refine: exact draws need no refinement; leave out one of --exact and --refine", exitUsage},
		{"a", "x", "sample run -n 5 -o x.npy --exact --refine auto", "--refine: exact draws need no refinement; leave out one of --exact and --refine", exitUsage},
		{"a", "x", "sample run -n 5 -o x.npy --refine -1", `invalid argument "-1" for "--refine" flag: "-1" is neither a number of steps such as 10 nor auto; see revgen sample --help`, exitUsage},
		{"a", "x", "sample run -n 18446744073709551615 -o x.npy --first 18446744073709551615 --shard 1/2", "--first: sample 18446744073709551615 + 9223372036854775808 is beyond any stream", exitUsage},
	} {
		dir := t.TempDir()
		require.NoError(t, os.CopyFS(filepath.Join(dir, "run"), os.DirFS(whole)))
		for name, text := range map[string]string{"jobs.ndjson": `{"verify":"run"}`, "states.ndjson": "[1,1,1,1,1,1,1,1,1]\n", "answer.json": `{"schema":1,"answers":[]}`} {
			require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600))
		}
		path := filepath.Join(dir, "run", c.file)
		require.NoError(t, os.RemoveAll(path))
		if c.content == folder {
			require.NoError(t, os.MkdirAll(filepath.Join(path, "in"), 0o700))
		} else {
			require.NoError(t, os.WriteFile(path, []byte(c.content), 0o600))
		}
		require.Equal(t, outcome{c.code, "", "revgen: " + c.want + "\n"}, within(t, dir, c.args, nil), c.args)
	}
}

// TestRecordsOfJobs: a record has what its job printed and warned of, how it ended and on how many threads.
func TestRecordsOfJobs(t *testing.T) {
	whole := trained(t)
	dir := filepath.Dir(whole)
	doubt := diagnose.Report{Verdict: diagnose.Wrong, Sentence: "who knows"}
	require.NoError(t, disk.WriteJSON(filepath.Join(whole, diagnosisFile), keptDiagnosis{Model: readModel(t, whole).Hash(), Report: &doubt}))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "states.ndjson"), []byte("[1,1,1,1,1,1,1,1,1]\n"), 0o600))
	list(t, dir, `{"sample":"run","number":5,"first":0,"id":"a"}`, `{"verify":"toy","id":"b"}`, `{"sample":"none","number":5,"id":"c"}`,
		`{"score":["ising","states.ndjson"],"id":"d","threads":3}`, `{"sample":"run","number":5,"refine":-1,"id":"e"}`, `{"sample":"run","number":0,"id":"f"}`)
	o := revgen(t, dir, "run", "jobs.ndjson", "-q", "-t", "2")
	require.Equal(t, exitError, o.code)
	all := readRecords(t, o.stdout)
	require.Len(t, all, 6)
	exits, errs := []int{}, []string{}
	for _, r := range all {
		exits, errs = append(exits, r.Exit), append(errs, r.Error)
		require.Positive(t, r.Seconds)
		require.Zero(t, r.Setup)
		require.Positive(t, r.Threads)
	}
	require.Equal(t, []int{exitOK, exitCheck, exitError, exitOK, exitUsage, exitUsage}, exits)
	require.Equal(t, []string{"", "", "open none: no such file or directory", "", `refine: invalid argument "-1" for "--refine" flag: "-1" is neither a number of steps such as 10 nor auto`, "-n: say how many samples"}, errs)
	require.Equal(t, []string{"the diagnosis of these samples is: who knows"}, all[0].Warnings)
	for _, r := range all[1:] {
		require.Empty(t, r.Warnings, r.ID)
	}
	var sampled struct {
		File                   string
		Samples, First, Refine int
	}
	require.NoError(t, json.Unmarshal(all[0].Result, &sampled))
	require.Equal(t, filepath.Join("runs", "jobs", "a.npy"), sampled.File)
	require.Equal(t, []int{5, 0, 0}, []int{sampled.Samples, sampled.First, sampled.Refine})
	var checks []struct{ Check string }
	require.NoError(t, json.Unmarshal(all[1].Result, &checks))
	require.NotEmpty(t, checks)
	require.Empty(t, all[2].Result)
	require.Contains(t, string(all[3].Result), `"states":1,`)
}
