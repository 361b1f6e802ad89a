package cli

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/revgen/revgen/engine"
	"github.com/revgen/revgen/engine/catalogue"
	"github.com/revgen/revgen/internal/batch"
	"github.com/revgen/revgen/internal/long"
	"github.com/revgen/revgen/ising"
)

// quickJob is the configuration of tiny, in a job.
const quickJob = `"preset":"paper","set":{"training":{"steps":60,"batch":64,"checkpoint_every":20,"log_every":5},"generator":{"hidden":16,"latent":4},"evaluation.samples":500}`

// list writes a list of jobs.
func list(t testing.TB, dir string, lines ...string) {
	t.Helper()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "jobs.ndjson"), []byte(strings.Join(lines, "\n")+"\n"), 0o600))
}

func readRecords(t testing.TB, text string) (all []batch.Record) {
	t.Helper()
	for line := range strings.Lines(text) {
		var r batch.Record
		require.NoError(t, json.Unmarshal([]byte(line), &r), line)
		all = append(all, r)
	}
	return all
}

func content(t testing.TB, path ...string) string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(path...))
	require.NoError(t, err)
	return string(data)
}

// TestEstimate: what a job takes is that of its own configuration, whichever way it names it.
func TestEstimate(t *testing.T) {
	p := &program{systems: []engine.Definition{ising.Definition}}
	jobs, err := batch.Read(strings.NewReader(`{"train":"ising"}
{"train":"ising","preset":"paper"}
{"train":"ising","preset":"paper","set":{"training.steps":7}}
{"sample":"model.rvg","number":3}
`), verbs(), "")
	require.NoError(t, err)
	for _, j := range jobs {
		p.estimate(j)
	}
	quick, paper, short := jobs[0].Cost, jobs[1].Cost, jobs[2].Cost
	require.Positive(t, quick)
	require.NotEqual(t, quick, paper)
	require.Less(t, short, paper)
	require.Zero(t, jobs[3].Cost)
}

func TestRunJobs(t *testing.T) {
	dir := t.TempDir()
	list(t, dir,
		`{"train":"ising","id":"warm",`+quickJob+`,"out":"warm"}`,
		`{"train":"ising","grid":{"target.beta":"0.1:0.2:0.1","seed":[1,2]},`+quickJob+`}`,
		`{"sample":"warm","number":1e2,"id":"of warm"}`,
		`{"verify":["toy"],"id":"check"}`,
		`{"train":"ising","id":"cold","set":{"target.beta":-1}}`,
		`{"sample":"runs/jobs/cold","number":10,"id":"of cold"}`,
		`{"train":"gmm","id":"mixture","set":{"evaluation.samples":200},"max-time":"1ms"}`,
	)
	cmd := command(t, dir, "run", "jobs.ndjson", "--allow-outside", "-t", "2")
	cmd.Env = append(cmd.Env, "REVGEN_TEST_VERIFY_PANIC=1")
	o := finish(t, cmd)
	require.Equal(t, exitStopped, o.code, o.stderr) // for max-time
	require.Contains(t, o.stderr, "stopped with 6 of 10 jobs finished")
	all := readRecords(t, o.stdout)
	require.Len(t, all, 9, "in order, up to the one that stopped")
	require.Equal(t, o.stdout, content(t, dir, "runs", "jobs", "results.ndjson"))
	var got []string
	for i, r := range all {
		require.Equal(t, i, r.Job)
		got = append(got, fmt.Sprintf("%d %s %s %d", r.Line, r.ID, r.Out, r.Exit))
	}
	require.Equal(t, []string{
		"1 warm warm 0",
		"2 2,target.beta=0.1,seed=1 runs/jobs/2,target.beta=0.1,seed=1 0",
		"2 2,target.beta=0.1,seed=2 runs/jobs/2,target.beta=0.1,seed=2 0",
		"2 2,target.beta=0.2,seed=1 runs/jobs/2,target.beta=0.2,seed=1 0",
		"2 2,target.beta=0.2,seed=2 runs/jobs/2,target.beta=0.2,seed=2 0",
		"3 of warm runs/jobs/of warm.npy 0",
		"4 check  70",
		"5 cold runs/jobs/cold 2",
		"6 of cold runs/jobs/of cold.npy 1",
	}, got)
	var values map[string]any
	require.NoError(t, json.Unmarshal(all[2].Values, &values))
	require.Equal(t, []any{0.1, 2.0}, []any{values["target.beta"], values["seed"]})
	require.NotContains(t, string(all[0].Values), "target.beta")
	require.NoError(t, json.Unmarshal(all[0].Values, &values))
	require.Equal(t, 64.0, values["training.batch"], "of no grid too")
	require.Contains(t, all[6].Error, "index out of range")
	require.Contains(t, all[7].Error, "target.beta: -1 is not")
	require.Contains(t, all[8].Error, "it reads what cold was to write")
	require.Positive(t, all[2].Setup)
	require.Less(t, all[2].Setup, all[2].Seconds)
	require.Zero(t, all[6].Setup, "verify takes no steps")
	var summary struct {
		Metrics   []json.RawMessage
		Seed      int
		Directory string
	}
	require.NoError(t, json.Unmarshal(all[2].Result, &summary))
	require.Equal(t, 2, summary.Seed)
	require.NotEmpty(t, summary.Metrics)
	_, data := readArray(t, filepath.Join(dir, "runs", "jobs", "of warm.npy"))
	require.Len(t, data, 900)

	// The bits are those of the command by itself, and little else is left.
	ok(t, dir, tiny("single", "--set", "target.beta=0.1", "--seed", "2", "--set", "evaluation.samples=500", "-t", "2")...)
	job := all[2].Out
	require.Equal(t, content(t, dir, "single", "model.rvg"), content(t, dir, job, "model.rvg"))
	require.NoDirExists(t, filepath.Join(dir, job, "figures"))
	require.NoFileExists(t, filepath.Join(dir, job, "samples.npy"))
	var status struct {
		State              string
		Jobs, Done, Failed int
	}
	require.NoError(t, json.Unmarshal([]byte(content(t, dir, "runs", "jobs", "status.json")), &status))
	require.Equal(t, "{stopped 10 6 3}", fmt.Sprint(status))

	// What is finished stays, and what failed is tried again.
	before := content(t, dir, "runs", "jobs", "journal.ndjson")
	list(t, dir, append(strings.Split(strings.TrimSpace(content(t, dir, "jobs.ndjson")), "\n")[:4], `{"verify":"toy","id":"toy"}`)...)
	o = revgen(t, dir, "run", "jobs.ndjson", "--allow-outside", "--resume")
	require.Equal(t, exitCheck, o.code, o.stderr)
	again := readRecords(t, o.stdout)
	require.Len(t, again, 8)
	require.Equal(t, all[:6], again[:6])
	require.Equal(t, exitCheck, again[6].Exit)
	require.Contains(t, string(again[7].Result), `"check":"balance","ok":false`)
	journal := content(t, dir, "runs", "jobs", "journal.ndjson")
	require.Equal(t, before, journal[:len(before)])
	require.Equal(t, 2, strings.Count(journal[len(before):], "\n"))

	list(t, dir, `{"train":"ising","id":"warm",`+quickJob+`,"seed":3,"out":"warm"}`)
	o = revgen(t, dir, "run", "jobs.ndjson", "--allow-outside")
	require.Equal(t, exitUsage, o.code)
	require.Contains(t, o.stderr, `line 1: the job "warm" is not what it was when it was finished`)
	o = revgen(t, dir, "run", "jobs.ndjson", "--allow-outside", "--resume=never")
	require.Contains(t, o.stderr, "holds a batch already")
	o = revgen(t, dir, "run", "jobs.ndjson", "--allow-outside", "--resume=must", "-o", "other")
	require.Contains(t, o.stderr, "holds no batch to resume")
}

// Nothing begins where something is wrong with the list.
func TestRunRefuses(t *testing.T) {
	dir := t.TempDir()
	train := `{"train":"ising",` + quickJob
	many := make([]string, 10000)
	for i := range many {
		many[i] = train + "}"
	}
	many[7000] = train
	for _, c := range []struct {
		want  string
		lines []string
	}{
		{"jobs.ndjson: holds no jobs", nil},
		{"jobs.ndjson: line 7001: ends too early", many},
		{`line 2: id: "a" is that of line 1 too`, []string{train + `,"id":"a"}`, train + `,"id":"a"}`}},
		{"line 2: out: x/../a is where line 1 writes too", []string{train + `,"out":"a"}`, train + `,"out":"x/../a"}`}},
		{"line 2: out: link is where line 1 writes too", []string{train + `,"out":"target"}`, train + `,"out":"link"}`}},
		{"line 2: out: s.npy is where line 1 writes too", []string{`{"mcmc":"ising","states":"s.npy","out":"d.npy"}`, `{"mcmc":"ising","out":"s.npy"}`}},
		{"line 1: writes s.npy twice", []string{`{"mcmc":"ising","states":"s.npy","out":"s.npy"}`}},
		{"line 1: out: runs/jobs/journal.ndjson is the batch's own", []string{`{"score":["ising","s.npy"],"id":"journal"}`}},
		{"line 1: out: runs/jobs/lock is the batch's own", []string{train + `,"id":"lock"}`}},
		{"line 1: out: x/../runs/jobs is the batch's own", []string{train + `,"out":"x/../runs/jobs"}`}},
		{"line 1: out: jobs.ndjson is the batch's own", []string{train + `,"out":"jobs.ndjson"}`}},
		{"line 1: out: hard is the batch's own", []string{`{"sample":"x","number":1,"out":"hard"}`}},
		{"line 1: out: a is outside runs/jobs, the batch's directory; write runs/jobs/a, or allow it by --allow-outside", []string{train + `,"out":"a"}`}},
		{"line 1: out: runs/jobs/../b is outside", []string{train + `,"out":"runs/jobs/../b"}`}},
		{"line 1: reads a/model.rvg, which line 2 writes: put that before it", []string{`{"sample":"a/model.rvg","number":1}`, train + `,"out":"a"}`}},
		{"line 1: no verb; a job has one of train, sample, diagnose, mcmc, score, verify as a key", []string{`{"trian":"ising"}`}},
		{"line 1: train and sample: a job has one verb", []string{`{"train":"ising","sample":"a"}`}},
		{"line 1: sede: unknown key; train has diagnose, extend, figures", []string{train + `,"sede":1}`}},
		{"line 1: output: unknown key", []string{train + `,"output":"x"}`}},
		{"line 1: set: verify has no configuration", []string{`{"verify":"ising","set":{"a":1}}`}},
		{"line 1: out: verify writes nothing", []string{`{"verify":"ising","out":"x"}`}},
		{"line 1: a list where an object is needed", []string{`[]`}},
		{`line 1: id: "../x" is no name`, []string{train + `,"id":"../x"}`}},
		{"line 1: grid: target.beta: the list is empty", []string{train + `,"grid":{"target.beta":[]}}`}},
		{"line 1: grid: seed: the job says it already", []string{train + `,"seed":1,"grid":{"seed":[1]}}`}},
		{"accepts at most 1 arg(s), received 2", []string{`{"train":["ising","gmm"]}`}},
	} {
		_ = os.Symlink("target", filepath.Join(dir, "link"))
		_ = os.Mkdir(filepath.Join(dir, "target"), 0o700)
		list(t, dir, c.lines...)
		_ = os.Link(filepath.Join(dir, "jobs.ndjson"), filepath.Join(dir, "hard"))
		o := revgen(t, dir, "run", "jobs.ndjson")
		require.Equal(t, exitUsage, o.code, "%s: %s", c.want, o.stderr)
		require.Contains(t, o.stderr, c.want)
		require.NoDirExists(t, filepath.Join(dir, "runs"), c.want)
	}
}

// A value that a key cannot have is the failure of its job.
func TestBadValuesFailTheirJobs(t *testing.T) {
	dir := t.TempDir()
	list(t, dir,
		`{"train":"ising","id":"a","max-time":"soon",`+quickJob+`}`,
		`{"train":"ising","id":"b","seed":"x",`+quickJob+`}`,
		`{"train":"ising","id":"c","samples":[1],`+quickJob+`}`,
		`{"train":"ising","id":"d",`+quickJob+`}`,
		`{"sample":"runs/jobs/a","number":10,"id":"of a"}`)
	o := revgen(t, dir, "run", "jobs.ndjson")
	require.Equal(t, exitError, o.code, o.stderr)
	var got []string
	for _, r := range readRecords(t, o.stdout) {
		got = append(got, fmt.Sprintf("%d %s %d %s", r.Line, r.ID, r.Exit, r.Error))
	}
	require.Equal(t, []string{
		`1 a 2 max-time: invalid argument "soon" for "--max-time" flag: "soon" is not a positive time such as 90m, 1h30m, 01:30:00 or 1-12:00:00`,
		`2 b 2 seed: invalid argument "x" for "--seed" flag: "x" is not a whole number such as 200000 or 2e5`,
		`3 c 2 samples: a list where a plain value is needed`,
		`4 d 0 `,
		`5 of a 1 it reads what a was to write, which did not`,
	}, got)
	require.Contains(t, o.stderr, "4 of 5 jobs failed; the same command tries them again; the first failure is a in line 1: max-time: ")
}

// TestJobsHaveVerbsAsKeys: whether a run is diagnosed is a key of train, and
// diagnose a verb.
func TestJobsHaveVerbsAsKeys(t *testing.T) {
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "jobs.ndjson"), []byte(`{"diagnose":"none","train":"ising","set":{"training.steps":1,"training.batch":64,"evaluation.samples":100},"id":"a"}
{"train":"ising","diagnose":"brief","set":{"training.steps":1,"training.batch":64,"evaluation.samples":100},"id":"b"}
{"diagnose":"runs/jobs/a"}
`), 0o600))
	o := ok(t, dir, "run", "jobs.ndjson")
	all := readRecords(t, o.stdout)
	require.Len(t, all, 3)
	for i, diagnosed := range []bool{false, true} {
		var result map[string]json.RawMessage
		require.NoError(t, json.Unmarshal(all[i].Result, &result))
		_, has := result["diagnosis"]
		require.Equal(t, diagnosed, has, all[i].ID)
	}
	require.Equal(t, "diagnose", all[2].Verb)
}

// Commands of jobs leave no flags behind, which a library would remember until the process
// ends.
func TestJobsOfferNoCompletions(t *testing.T) {
	p := &program{systems: catalogue.Systems{ising.Definition}}
	_, cmd, err := p.jobCommand(&batch.Job{Origin: &batch.Origin{Verb: "train"}}, 1)
	require.NoError(t, err)
	_, has := cmd.GetFlagCompletionFunc("preset")
	require.False(t, has)
	_, has = p.trainCommand().GetFlagCompletionFunc("preset")
	require.True(t, has)
}

// Whatever kills a batch, in the end every job has been finished once, with the
// bits of one that was not killed.
func TestRunSurvivesKills(t *testing.T) {
	dir := t.TempDir()
	const jobs = 3
	least := long.Or(1, 100) // kills, spread over as many batches as that takes
	list(t, dir, `{"train":"ising","grid":{"seed":[1,2,3]},`+quickJob+`}`)
	ok(t, dir, "run", "jobs.ndjson", "-o", "whole", "-q", "-t", "2")
	random := long.Rand()
	batches := 0
	for kills := 0; kills < least; batches++ {
		batch := fmt.Sprint("killed", batches)
		kills += killUntilDone(t, dir, batch, random)
		seen := make(map[string]bool)
		for _, r := range readRecords(t, content(t, dir, batch, "journal.ndjson")) {
			require.False(t, seen[r.ID], "%s was done twice", r.ID)
			seen[r.ID] = true
		}
		require.Len(t, seen, jobs)
		results := readRecords(t, content(t, dir, batch, "results.ndjson"))
		require.Len(t, results, jobs)
		for i, r := range results {
			require.Equal(t, i, r.Job)
			require.Zero(t, r.Exit)
			require.Equal(t, content(t, dir, "whole", r.ID, "model.rvg"), content(t, dir, batch, r.ID, "model.rvg"))
		}
		t.Logf("batch %d: %d kills so far", batches, kills)
	}
}

// killUntilDone runs the list into a directory until it is done, killing it at random
// times, and returns how often it did.
func killUntilDone(t *testing.T, dir, batch string, random *rand.Rand) (kills int) {
	// Longer and longer while nothing gets done, however slow the machine is.
	for longest := 30 * time.Millisecond; ; longest += longest / 4 {
		cmd := command(t, dir, "run", "jobs.ndjson", "-o", batch, "-t", "2")
		var talk bytes.Buffer
		cmd.Stderr = &talk
		require.NoError(t, cmd.Start())
		done := make(chan error, 1)
		go func() { done <- cmd.Wait() }()
		select {
		case err := <-done:
			require.NoError(t, err, "%s", &talk)
			return kills
		case <-time.After(time.Duration(random.Int64N(int64(longest)))):
			require.NoError(t, cmd.Process.Kill())
			<-done
			kills++
		}
	}
}

func TestRunStopsResumably(t *testing.T) {
	dir := t.TempDir()
	list(t, dir, `{"train":"ising","id":"long",`+strings.Replace(quickJob, `"steps":60`, `"steps":1000000`, 1)+`}`, `{"train":"ising","id":"never",`+quickJob+`}`)
	o, _ := interrupt(t, command(t, dir, "run", "jobs.ndjson", "-t", "1"), func() bool {
		_, err := os.Stat(filepath.Join(dir, "runs", "jobs", "long", "checkpoint.rvg"))
		return err == nil
	})
	require.Equal(t, exitStopped, o.code, o.stderr)
	require.Contains(t, o.stderr, "SIGTERM: stopped with 0 of 2 jobs finished; the same command continues from runs/jobs")
	require.NoDirExists(t, filepath.Join(dir, "runs", "jobs", "never"))
	require.Empty(t, content(t, dir, "runs", "jobs", "journal.ndjson"))
	require.NoFileExists(t, filepath.Join(dir, "runs", "jobs", "long", "lock"))

	o = revgen(t, dir, "run", "jobs.ndjson", "-t", "1", "--max-time", "100ms")
	require.Equal(t, exitStopped, o.code, o.stderr)
	require.Contains(t, o.stderr, "--max-time 100ms: stopped with 0 of 2")
}

// A job that is stopped with its batch has not failed, though it leaves nothing to go
// on from.
func TestRunStopsJobsThatBeginAnew(t *testing.T) {
	dir := t.TempDir()
	list(t, dir, `{"verify":"ising","id":"long"}`)
	o, _ := interrupt(t, command(t, dir, "run", "jobs.ndjson", "-t", "1"), func() bool {
		var status struct{ Running int }
		data, err := os.ReadFile(filepath.Join(dir, "runs", "jobs", "status.json"))
		return err == nil && json.Unmarshal(data, &status) == nil && status.Running == 1
	})
	require.Equal(t, exitStopped, o.code, o.stderr)
	require.Contains(t, o.stderr, "stopped with 0 of 1 jobs finished")
	require.Empty(t, o.stdout)
	require.Empty(t, content(t, dir, "runs", "jobs", "journal.ndjson"))
}

func TestRunOneProcessADirectory(t *testing.T) {
	dir := t.TempDir()
	list(t, dir, `{"train":"ising","id":"stuck",`+quickJob+`}`)
	first := command(t, dir, "run", "jobs.ndjson")
	first.Env = append(first.Env, fmt.Sprintf("%s=%d", envSignal, syscall.SIGTERM), envAtStep+"=30", envStuck+"=1")
	require.NoError(t, first.Start())
	waitFor(t, func() bool {
		_, err := os.Stat(filepath.Join(dir, "runs", "jobs", "stuck", "checkpoint.rvg"))
		return err == nil
	})
	o := revgen(t, dir, "run", "jobs.ndjson")
	require.Equal(t, exitError, o.code)
	require.Contains(t, o.stderr, fmt.Sprintf("runs/jobs: in use by process %d on ", first.Process.Pid))
	require.NoError(t, first.Process.Kill())
	_ = first.Wait()
	ok(t, dir, "run", "jobs.ndjson")
}

func TestRunShards(t *testing.T) {
	dir := t.TempDir()
	list(t, dir, `{"train":"ising","id":"a",`+quickJob+`}`, `{"train":"ising","id":"b",`+quickJob+`,"out":"b"}`, `{"sample":"b","number":10,"id":"c","out":"c.npy"}`)
	o := revgen(t, dir, "run", "jobs.ndjson", "--shard", "0/2", "-o", "all")
	require.Equal(t, exitUsage, o.code)
	require.Contains(t, o.stderr, "put %t, the number of the shard, into the name")
	var got []string
	for i := range 2 {
		for _, r := range readRecords(t, ok(t, dir, "run", "jobs.ndjson", "--allow-outside", "--shard", fmt.Sprintf("%d/2", i)).stdout) {
			got = append(got, fmt.Sprintf("%d %s %s", i, r.ID, r.Out))
		}
	}
	require.Equal(t, []string{"0 a runs/jobs-0/a", "1 b b", "1 c c.npy"}, got)
}

func TestTrainGrid(t *testing.T) {
	dir := t.TempDir()
	args := tiny("sweep", "--grid", "target.beta=0.1:0.2:0.05", "--grid", "seed=1,2")
	all := readRecords(t, ok(t, dir, args...).stdout)
	require.Len(t, all, 6)
	require.Equal(t, filepath.Join("sweep", "target.beta=0.15,seed=2"), all[3].Out)
	ok(t, dir, tiny("single", "--set", "target.beta=0.15", "--seed", "2")...)
	require.Equal(t, content(t, dir, "single", "model.rvg"), content(t, dir, all[3].Out, "model.rvg"))
	o := revgen(t, dir, tiny("sweep", "--grid", "target.beta")...)
	require.Equal(t, exitUsage, o.code)
	require.Contains(t, o.stderr, `--grid: "target.beta" is not key=first:last:step`)
	o = revgen(t, dir, tiny("sweep", "--grid", "colour=1,2")...)
	require.Equal(t, exitUsage, o.code)
	require.Contains(t, o.stderr, "--grid: colour=1: colour: unknown key; train has ")
	require.NotContains(t, o.stderr, "line ")
}

// A batch ends with its reader only when it has ended itself.
func TestRunLostStdout(t *testing.T) {
	dir := t.TempDir()
	list(t, dir, `{"train":"ising","grid":{"seed":[1,2,3]},`+quickJob+`}`)
	cmd := command(t, dir, "run", "jobs.ndjson", "-q")
	cmd.Stdout = closed(t)
	require.Error(t, cmd.Run())
	require.Equal(t, exitPipe, cmd.ProcessState.ExitCode())
	require.Len(t, readRecords(t, content(t, dir, "runs", "jobs", "results.ndjson")), 3)
}

// What does not fit on a full disk is done when there is room.
func TestRunOnAFullDisk(t *testing.T) {
	dir := t.TempDir()
	mountTmpfs(t, dir, "size=1m")
	filler := filepath.Join(dir, "mount", "filler")
	require.NoError(t, os.WriteFile(filler, make([]byte, 900<<10), 0o600))
	list(t, dir, `{"train":"ising","grid":{"seed":[1,2,3,4,5,6]},`+quickJob+`}`)
	o := revgen(t, dir, "run", "jobs.ndjson", "-o", "mount/batch", "-t", "1")
	require.Equal(t, exitError, o.code, o.stderr)
	require.Contains(t, o.stderr, "no space left on device")
	require.NoError(t, os.Remove(filler))
	all := readRecords(t, ok(t, dir, "run", "jobs.ndjson", "-o", "mount/batch").stdout)
	require.Len(t, all, 6)
}

// BenchmarkRun is what jobs cost in a batch, beside the same commands one after
// another on one thread each, divided by the cores. Processor seconds stand beside,
// which other work on the machine disturbs less, and the median time before a job's
// first step by the clock.
func BenchmarkRun(b *testing.B) {
	dir := b.TempDir()
	cores := runtime.GOMAXPROCS(0)
	jobs := 4 * cores
	set := func(i int) []string {
		return []string{"training.steps=100", "evaluation.samples=20000", fmt.Sprintf("target.beta=%g", 0.1+0.4*float64(i)/float64(jobs))}
	}
	var lines []string
	for i := range jobs {
		s := set(i)
		lines = append(lines, fmt.Sprintf(`{"train":"ising","set":{"training.steps":100,"evaluation.samples":20000,%q:%s}}`, "target.beta", strings.TrimPrefix(s[2], "target.beta=")))
	}
	list(b, dir, lines...)
	processor := func() float64 {
		var u syscall.Rusage
		require.NoError(b, syscall.Getrusage(syscall.RUSAGE_SELF, &u))
		return float64(u.Utime.Nano()+u.Stime.Nano()) / 1e9
	}
	do := func(args ...string) {
		require.Zero(b, Run(append(args, "--quiet"), io.Discard, io.Discard, systems...))
	}
	var wall, work [2]float64
	var setups []float64
	rounds := 0
	for ; b.Loop(); rounds++ {
		start, begun := time.Now(), processor()
		for i := range jobs {
			args := []string{"train", "ising", "-t", "1", "--figures", "none", "--samples", "0", "-o", filepath.Join(dir, fmt.Sprint("single", rounds, "-", i))}
			for _, s := range set(i) {
				args = append(args, "--set", s)
			}
			do(args...)
		}
		middle, used := time.Now(), processor()
		do("run", filepath.Join(dir, "jobs.ndjson"), "-t", fmt.Sprint(cores), "-o", filepath.Join(dir, fmt.Sprint("batch", rounds)))
		wall[0], wall[1] = wall[0]+middle.Sub(start).Seconds(), wall[1]+time.Since(middle).Seconds()
		work[0], work[1] = work[0]+used-begun, work[1]+processor()-used
		for _, r := range readRecords(b, content(b, dir, fmt.Sprint("batch", rounds), "results.ndjson")) {
			setups = append(setups, r.Setup)
		}
	}
	n := float64(jobs * rounds)
	b.ReportMetric(wall[0]/n*1e3, "ms/single")
	b.ReportMetric(wall[1]/n*1e3, "ms/job")
	b.ReportMetric(wall[1]*float64(cores)/wall[0], "×singles/cores")
	b.ReportMetric(work[1]/work[0], "×processor")
	slices.Sort(setups)
	b.ReportMetric(setups[len(setups)/2]*1e3, "setup-ms")
}

// What package batch is told of verbs is what their flags say.
func TestVerbsHaveTheFlagsThatTheySay(t *testing.T) {
	p := &program{systems: systems, inBatch: true}
	for _, v := range jobVerbs() {
		flags := v.command(p).Flags()
		require.Equal(t, flags.Lookup("output") != nil, v.Writes, v.Name)
		for _, other := range jobVerbs() {
			require.Equal(t, flags.Lookup(other.Name) != nil, slices.Contains(v.Shares, other.Name), "%s of %s", other.Name, v.Name)
		}
		for _, name := range v.Files {
			require.NotNil(t, flags.Lookup(name))
		}
	}
}
