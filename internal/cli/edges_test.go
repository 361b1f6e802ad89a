package cli

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/revgen/revgen/asm"
	"github.com/revgen/revgen/bench/reproduce"
	"github.com/revgen/revgen/engine"
	"github.com/revgen/revgen/engine/catalogue"
	"github.com/revgen/revgen/engine/chains"
	"github.com/revgen/revgen/engine/diagnose"
	"github.com/revgen/revgen/engine/measure"
	"github.com/revgen/revgen/engine/run"
	"github.com/revgen/revgen/internal/batch"
	"github.com/revgen/revgen/internal/conf"
	"github.com/revgen/revgen/internal/disk"
	"github.com/revgen/revgen/internal/htmlpage"
	"github.com/revgen/revgen/internal/npy"
	"github.com/revgen/revgen/internal/pool"
)

// TestFullDevices: what has no room is an error that names where.
func TestFullDevices(t *testing.T) {
	if _, err := os.Stat("/dev/full"); err != nil {
		t.Skip("needs a device that is full")
	}
	run := trained(t)
	for _, args := range [][]string{
		{"sample", run, "-n", "5", "-o", "/dev/full"},
		{"mcmc", "ising", "--chains", "4", "--draws", "8", "-o", "/dev/full"},
		{"mcmc", "ising", "--chains", "4", "--draws", "8", "--states", "/dev/full"},
	} {
		o := revgen(t, t.TempDir(), args...)
		require.Equal(t, exitError, o.code, args)
		require.Contains(t, o.stderr, "revgen: writing /dev/full: no space left on device\n", args)
		require.Empty(t, o.stdout)
	}
	p := &program{stdout: io.Discard, stderr: io.Discard}
	r := &chains.Result{Levels: []chains.Level{{Observables: []chains.Observable{{Name: "it's"}}}}}
	path := filepath.Join(t.TempDir(), "x.npy")
	require.EqualError(t, p.writeDraws(t.Context(), path, r, chains.Options{Chains: 1, Draws: 1}), `-o: observable "it's": NumPy's header has no room for such a name`)
	require.NoFileExists(t, path)
	err := p.writeArray(t.Context(), path, npy.Header{Descr: "'|i1'", Shape: []int{3}}, func(w io.Writer) error {
		_, err := w.Write([]byte("ab"))
		return err
	})
	require.EqualError(t, err, "writing "+path+": npy: 1 bytes fewer than the header promises")
	require.NoFileExists(t, path)
}

// TestRanksOfOtherRequests: ranks that are asked for other samples end together, and a file that
// one of them does not find as it has to be goes.
func TestRanksOfOtherRequests(t *testing.T) {
	// Where each would find another number, all take that of rank 0.
	require.Equal(t, []string{"7", "7"}, onRanks(2, func(p *program) error {
		n, err := fromRankZero(p, func() (uint64, error) { return uint64(7 + p.world.Rank()), nil })
		require.NoError(t, err)
		return errors.New(fmt.Sprint(n))
	}))

	dir := t.TempDir()
	said := onRanks(2, func(p *program) error {
		_, err := p.openShared(filepath.Join(dir, "x.npy"), npy.Header{Descr: "'|i1'", Shape: []int{2 + p.world.Rank()}})
		return err
	})
	require.Equal(t, engine.ErrElsewhere.Error(), said[0])
	require.Contains(t, said[1], "does not begin with the header of this array")
	files, err := os.ReadDir(dir)
	require.NoError(t, err)
	require.Empty(t, files)
	require.Equal(t, []string{"7", "7"}, onRanks(2, func(p *program) error {
		all := pool.Exchange(p.world, []byte{byte('0' + 7*(1-p.world.Rank()))})
		return errors.New(string(all[0]))
	}))
}

// TestPatience: a process whose work does not end after a signal leaves it to itself, a rank sooner
// than one that stands alone, and ends the job; and a batch leaves its jobs. Work that ends
// before is waited for.
func TestPatience(t *testing.T) {
	var all sync.WaitGroup
	defer all.Wait()
	for ranked, least := range map[bool]time.Duration{true: 700 * time.Millisecond, false: 1500 * time.Millisecond} {
		all.Go(func() {
			var said bytes.Buffer
			w := &room{Ranks: pool.Local(2)[0]}
			p := &program{world: w, stderr: &said}
			p.ctx, p.cancel = context.WithCancelCause(context.Background())
			p.signals = make(chan os.Signal, 2)
			p.isRank.Store(ranked)
			p.signals <- syscall.SIGTERM
			p.signals <- syscall.SIGTERM // the same request once more
			begun := time.Now()
			assert.Equal(t, exitStopped, p.awaitCommand(make(chan int)))
			assert.GreaterOrEqual(t, time.Since(begun), least)
			assert.Equal(t, map[bool][]string{true: {"abort 75"}}[ranked], w.left)
			assert.Equal(t, stopRequest{syscall.SIGTERM}, context.Cause(p.ctx))
			assert.Equal(t, "\nSIGTERM: stopping; once more to quit at once\nrevgen: stopped by SIGTERM; the same command begins anew\n", said.String())
		})
	}
	p := &program{inBatch: true}
	p.ctx, p.cancel = context.WithCancelCause(context.Background())
	p.cancel(stopRequest{syscall.SIGHUP})
	begun := time.Now()
	require.EqualError(t, p.runInterruptible(func(context.Context) error { select {} }), "stopped by SIGHUP; the same command begins anew")
	require.GreaterOrEqual(t, time.Since(begun), 1500*time.Millisecond)
	require.NoError(t, p.runInterruptible(func(ctx context.Context) error { <-ctx.Done(); return nil }))
}

// TestDamagedBatches: what is said of a batch whose results cannot be read, and what pages have of
// results that are none of a training.
func TestDamagedBatches(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "results.ndjson")
	require.NoError(t, os.WriteFile(path, []byte(`{"id":"a","verb":"train","exit":0,"result":"x"}`+"\n"), 0o600))
	all, err := readBatch(dir)
	require.NoError(t, err)
	require.Len(t, all, 1)
	var pg htmlpage.Page
	require.NoError(t, describeBatch(&pg, all))
	require.Equal(t, "1 job: 1 done, 0 failed, 0 with warnings", pg.Lead)
	require.Nil(t, pg.FailedJobs)
	require.NoError(t, os.WriteFile(path, []byte(`{"id":"a"}{"id":`), 0o600))
	_, err = readBatch(dir)
	require.EqualError(t, err, path+": unexpected EOF")
	for _, more := range []string{"-q", "--csv"} {
		require.Equal(t, outcome{exitError, "", "revgen: " + path + ": unexpected EOF\n"}, revgen(t, "", "report", dir, more))
	}
	require.Empty(t, recordSum([]byte("{")))
}

// TestOutcomesAreWritten: with what others have published, what was warned of, and the legend of
// errors that are as small as they can be.
func TestOutcomesAreWritten(t *testing.T) {
	var out, talk bytes.Buffer
	p := &program{stdout: &out, stderr: &talk}
	o := reproduce.Outcome{Title: "A title", Preset: "paper", Seeds: []uint64{1}, Metrics: []reproduce.Metric{{Name: "energy", Error: 0.5, Floor: 0.25}},
		Published: []reproduce.Published{{Metric: "energy", Method: "X", Target: "Y", Error: 0.125}}, Warnings: []string{"one", "two"}}
	require.NoError(t, p.writeOutcome(&o))
	lines := strings.Split(out.String(), "\n")
	require.Equal(t, []string{"A title", o.Summary(), ""}, lines[:3])
	require.Equal(t, []string{"Published energy: 0.1250 by X (Y).", "", ""}, lines[len(lines)-3:])
	require.Equal(t, "warning: one\nwarning: two\n", talk.String())
	for _, c := range []struct {
		json bool
		want string
	}{{false, "results: " + reproduce.Document("d") + "\n"}, {true, ""}} {
		talk.Reset()
		p.json = c.json
		require.NoError(t, p.printReproduction(&reproduce.Results{Outcomes: []reproduce.Outcome{o}}, "d"))
		require.Equal(t, c.want, talk.String())
	}
	talk.Reset()
	p.json, o.Metrics[0].AtFloor = false, true
	require.NoError(t, p.printReproduction(&reproduce.Results{Outcomes: []reproduce.Outcome{{}, o}}, "d"))
	require.Equal(t, reproduce.Legend+"\nresults: "+reproduce.Document("d")+"\n", talk.String())
}

// TestGridsOfCommands: a grid and a flag cannot both say what a value is, and a file that is no
// report of answers is no such.
func TestGridsOfCommands(t *testing.T) {
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "x.json"), []byte("["), 0o600))
	for args, want := range map[string]string{
		"train ising --preset quick --grid preset=quick,paper -o x": "--grid: preset: the job says it already",
		"train ising --grid seed=1 --grid seed=2 -o x":              "--grid: seed=1,seed=2: seed: stands twice in one job",
		"train ising --samples 1e12 -o x":                           "--samples: 1000000000000 are more than ",
		"train ising --grid beta -o x":                              "--grid: ",
		"bench answer --from x.json":                                "--from: x.json: not a report of bench answer -o json: unexpected end of JSON input",
		"bench answer --seconds 0":                                  "--seconds: 0 is not a positive time",
		"bench answer --only x":                                     `--only: unknown target "x"; the targets are `,
		"bench answer -o x":                                         `invalid argument "x" for "-o, --output" flag: not one of md, csv, json`,
	} {
		o := revgen(t, dir, strings.Fields(args)...)
		require.Contains(t, o.stderr, want, args)
		require.NotZero(t, o.code, args)
	}
	require.Equal(t, ":4\n", ok(t, "", "__complete", "train", "ising", "").stdout, "one target")
}

// TestWarnUntrusted: samples are doubted by the last diagnosis of their own model, unless it found them
// trustworthy, or usable after fewer steps than they have; --refine auto takes its number, on all
// ranks, or refuses.
func TestWarnUntrusted(t *testing.T) {
	dir := trained(t)
	model := readModel(t, dir)
	keep := func(hash string, r diagnose.Report) {
		require.NoError(t, disk.WriteJSON(filepath.Join(dir, diagnosisFile), keptDiagnosis{Model: hash, Report: &r}))
	}
	said := func(s *sampleOptions, world *room) string {
		var b bytes.Buffer
		p := &program{stderr: &b}
		if world != nil {
			p.world = world
		}
		s.model = dir
		p.warnUntrusted(s, model)
		return b.String()
	}
	require.Empty(t, said(&sampleOptions{}, nil), "of which nothing is known")
	const warning = "warning: the diagnosis of these samples is: who knows\n"
	for _, c := range []struct {
		verdict       diagnose.Verdict
		needs, refine int
		want          string
	}{
		{diagnose.Trustworthy, 0, 0, ""}, {diagnose.Unknown, -1, 100, warning}, {diagnose.Wrong, -1, 100, warning},
		{diagnose.Refine, 8, 7, warning}, {diagnose.Refine, 8, 8, ""}, {diagnose.Refine, 8, 9, ""},
	} {
		keep(model.Hash(), diagnose.Report{Verdict: c.verdict, Sentence: "who knows", Refine: c.needs})
		s := &sampleOptions{refine: stepCount{n: c.refine}}
		ranks := pool.Local(2)
		require.Equal(t, c.want, said(s, nil), c)
		require.Equal(t, c.want, said(s, &room{Ranks: ranks[0]}), c)
		require.Empty(t, said(s, &room{Ranks: ranks[1]}), "which rank 0 says")
		s.exact = true
		require.Empty(t, said(s, nil), "exact draws are not of them")

		var b bytes.Buffer
		p := &program{stderr: &b}
		steps, err := p.autoRefine(t.Context(), s, model, nil, nil)
		ended := onRanks(2, func(q *program) error {
			n, err := fromRankZero(q, func() (int, error) { return q.autoRefine(t.Context(), s, model, nil, nil) })
			require.Equal(t, steps, n)
			return err
		})
		if c.needs < 0 {
			require.Equal(t, errCheckFailed, err)
			require.Equal(t, "revgen: --refine auto: who knows\n", b.String())
			require.Equal(t, []string{errCheckFailed.Error(), engine.ErrElsewhere.Error()}, ended)
			continue
		}
		require.NoError(t, err)
		require.Equal(t, c.needs, steps)
		require.Equal(t, fmt.Sprintf("--refine %d: who knows\n", c.needs), b.String())
		require.Equal(t, []string{"", ""}, ended)
	}
	keep("sha256:another", diagnose.Report{Verdict: diagnose.Wrong})
	require.Empty(t, said(&sampleOptions{}, nil))
	require.NoError(t, os.WriteFile(filepath.Join(dir, diagnosisFile), []byte("{"), 0o600))
	require.Equal(t, "warning: "+filepath.Join(dir, diagnosisFile)+": unexpected end of JSON input\n", said(&sampleOptions{}, nil))
}

// TestFirstSamples: fresh ones of the training's seed begin after those that were measured, exact
// ones with a chain of their own.
func TestFirstSamples(t *testing.T) {
	dir := trained(t)
	_, cfg, err := run.Read(systems, dir) // of seed 1, with 2,000 samples
	require.NoError(t, err)
	const after = (2000 + engine.ExactDraws - 1) / engine.ExactDraws * engine.ExactDraws
	for _, c := range []struct {
		s     sampleOptions
		first uint64
		said  string
	}{
		{sampleOptions{trainingSeed: 2, first: 7}, 7, ""},
		{sampleOptions{trainingSeed: 1, first: 7}, 2000, "the training run has used the first 2000 samples of seed 1; these start at number 2000 (--first 0 starts at the first)"},
		{sampleOptions{trainingSeed: 1, exact: true}, after, fmt.Sprintf("the training run has used the first 2000 samples of seed 1; these start at number %d (--first 0 starts at the first)", after)},
		{sampleOptions{trainingSeed: 1, first: 1999, firstGiven: true}, 1999, "the training run has used the first 2000 samples of seed 1; these start at number 1999 and may repeat some of them"},
		{sampleOptions{trainingSeed: 1, first: 2000, firstGiven: true}, 2000, ""},
		{sampleOptions{trainingSeed: 1, first: 2000, firstGiven: true, exact: true}, 2000, "the training run has used the first 2000 samples of seed 1; these start at number 2000 and may repeat some of them"},
	} {
		c.s.model = dir
		said := ""
		first, err := c.s.firstSample(cfg, func(format string, args ...any) { said += fmt.Sprintf(format, args...) })
		require.NoError(t, err)
		require.Equal(t, c.first, first)
		require.Equal(t, c.said, said)
	}
	require.NoError(t, os.WriteFile(recordPath(filepath.Join(dir, "samples.npy")), []byte("{"), 0o600))
	for placed, want := range map[bool]string{false: "is no longer what was written beside the samples", true: ""} {
		s := sampleOptions{trainingSeed: 1, model: dir, firstGiven: placed, first: 9999}
		_, err := s.firstSample(cfg, func(string, ...any) {})
		if want == "" {
			require.NoError(t, err)
		} else {
			require.ErrorContains(t, err, want)
		}
	}
}

// TestDescribedRuns: what a page says of a run, by its files and its summary.
func TestDescribedRuns(t *testing.T) {
	dir := t.TempDir()
	p := &program{systems: systems}
	configured := func(system, preset string, set ...string) []byte {
		cfg, _, _, err := systems.Given(catalogue.Source{System: system, Preset: preset, Set: set})
		require.NoError(t, err)
		text, err := conf.Encode(cfg)
		require.NoError(t, err)
		return text
	}
	plain := configured("gmm", "paper")
	const settings = "The paper preset, with the settings of the configuration below."
	adapted := configured("ising", "quick", "target.l=16")
	_, why, looks, err := systems.Given(catalogue.Source{System: "ising", Preset: "quick", Set: []string{"target.l=16"}})
	require.NoError(t, err)
	require.False(t, looks)
	require.NotEmpty(t, why)
	for _, c := range []struct {
		config []byte
		look   string
		want   string
	}{
		{plain, "", settings},
		{plain, "it is so.", "The paper preset chose for this target: it is so."},
		{configured("reals", "best", "target.dim=2", "target.expression=-sum(x^2)"), "", "The best preset took a first look at this target. The configuration below holds its choices."},
		{adapted, "", "The quick preset chose for this target: " + strings.TrimSuffix(why, ".") + "."},
	} {
		require.NoError(t, os.RemoveAll(filepath.Join(dir, "recipe.json")))
		if c.look != "" {
			require.NoError(t, disk.WriteJSON(filepath.Join(dir, "recipe.json"), catalogue.Look{Of: []byte("1"), Recipe: []byte("1"), Why: c.look}))
		}
		got, err := p.recipe(c.config, dir)
		require.NoError(t, err)
		require.Equal(t, c.want, got)
	}
	require.NoError(t, os.RemoveAll(filepath.Join(dir, "recipe.json")))
	_, err = p.recipe([]byte("{"), dir)
	require.ErrorContains(t, err, filepath.Join(dir, "config.json")+": ")

	_, err = p.describeRun(dir, new(runSummary))
	require.ErrorIs(t, err, os.ErrNotExist)
	require.NoError(t, os.WriteFile(filepath.Join(dir, "config.json"), plain, 0o600))
	s := new(runSummary)
	s.Steps, s.Seconds, s.Threads, s.Path, s.Target, s.Summary.Warnings, s.Evaluation.Warnings = 60, 1.23456, 2, "avx2", "a target", []string{"one"}, []string{"two"}
	want := htmlpage.Run{Name: dir, Target: "a target", Config: string(plain), Warnings: []string{"one", "two"}, Command: "revgen train " + filepath.Join(dir, "config.json") + " -o again", Recipe: settings,
		Facts: [][2]string{{"steps", "60"}, {"training time", "1.23 s on 2 threads"}, {"throughput", "48.6 steps/s"}, {"kernel path", "avx2"}}}
	described := func() *htmlpage.Run {
		r, err := p.describeRun(dir+"/", s)
		require.NoError(t, err)
		return r
	}
	require.Equal(t, &want, described())
	s.Evaluations = &engine.Evaluations{Training: 5}
	want.Facts = [][2]string{{"steps", "60"}, {"training time", "0 s on 2 threads"}, {"evaluations of ln π", evaluationsText(s.Evaluations)}, {"kernel path", "avx2"}}
	s.Seconds = 0
	require.Equal(t, &want, described())
	s.Seconds, s.Steps = 1, 0
	want.Facts[0][1], want.Facts[1][1] = "0", "1 s on 2 threads"
	require.Equal(t, &want, described())
	s.Diagnosis = &diagnose.Report{Verdict: diagnose.Refine, Sentence: "usable", Samples: 1, Steps: 8}
	s.Metrics = []measure.Metric{{Name: "a"}}
	r := described()
	require.Equal(t, []string{"refine", "usable", "Averages of 1 sample, before and after 8 Metropolis steps; " + diagnosisLegend + "."}, []string{r.Verdict, r.Sentence, r.Diagnosis.Caption})
	require.Equal(t, metricTable(s), r.Metrics)

	// Pictures: those of the system first, with what their documents say of them.
	figures := filepath.Join(dir, "figures")
	require.NoError(t, os.Mkdir(figures, 0o700))
	for name, text := range map[string]string{"training.svg": "<svg/>", "training.narrow.svg": "<svg><title>narrow</title></svg>", "z.svg": "<svg><title>A title</title><desc>what is seen</desc></svg>", "a.svg": "<svg><desc>no title</desc></svg>", "b.png": ""} {
		require.NoError(t, os.WriteFile(filepath.Join(figures, name), []byte(text), 0o600))
	}
	all, err := readPictures(figures)
	require.NoError(t, err)
	var said []string
	for _, one := range all {
		said = append(said, one.Name+"|"+one.Description+"|"+string(one.SVG))
	}
	require.Equal(t, []string{"a||<svg><desc>no title</desc></svg>", "A title|what is seen|<svg><title>A title</title><desc>what is seen</desc></svg>", "training||<svg/>"}, said)
	none, err := readPictures(filepath.Join(dir, "none"))
	require.NoError(t, err)
	require.Empty(t, none)
	require.NoError(t, os.Mkdir(filepath.Join(figures, "c.svg"), 0o700))
	_, err = p.describeRun(dir, s)
	require.ErrorContains(t, err, "c.svg")
}

// TestMachines: the lines for people have what the JSON has.
func TestMachines(t *testing.T) {
	var m machine
	ok(t, "", "info") // from then on the path is that which tests have set
	o := ok(t, "", "info", "--json")
	require.NoError(t, json.Unmarshal([]byte(o.stdout), &m))
	none := func(words []string) string { return cmp.Or(strings.Join(words, " "), "none") }
	var want strings.Builder
	for _, line := range [][2]string{
		{"version", m.Version.String()}, {"go", runtime.Version() + " " + runtime.GOOS + "/" + runtime.GOARCH}, {"cpu", asm.CPUName()},
		{"processors", fmt.Sprintf("%d in the affinity mask, GOMAXPROCS %d: %d threads by default", runtime.NumCPU(), runtime.GOMAXPROCS(0), defaultThreads())},
		{"kernel path", m.Path + ": " + m.Reason}, {"available", strings.Join(m.Paths, " ")}, {"features", none(m.Features)}, {"missing", none(m.Missing)}, {"systems", strings.Join(m.Systems, " ")},
	} {
		fmt.Fprintf(&want, "%-13s %s\n", line[0], line[1])
	}
	require.Equal(t, want.String(), ok(t, "", "info").stdout)
	require.Equal(t, []int{runtime.NumCPU(), runtime.GOMAXPROCS(0), defaultThreads()}, []int{m.Affinity, m.Limit, m.Threads})
	present, missing := []string{}, []string{}
	for _, f := range asm.Features() {
		if f.Present {
			present = append(present, f.Name)
		} else {
			missing = append(missing, fmt.Sprintf("%s (%s)", f.Name, f.Path))
		}
	}
	require.Equal(t, [][]string{present, missing}, [][]string{m.Features, m.Missing})
	for i, path := range asm.Supported() {
		require.Equal(t, path.String(), m.Paths[i])
	}
}

// TestWalks: the JSON of a walk has what was asked for, under its keys.
func TestWalks(t *testing.T) {
	dir := t.TempDir()
	for _, c := range []struct {
		args string
		want map[string]any
	}{
		{"mcmc ising -s target.l=3 --chains 4 --draws 8 --seed 5 --burn-in 7 --spacing 3 -o x.npy --states y.npy -f bits --json -q",
			map[string]any{"system": "ising", "seed": 5., "chains": 4., "draws": 8., "burn_in": 7., "spacing": 3., "file": "x.npy", "states": "y.npy", "format": "bits", "ladder": nil, "auto_spacing": nil}},
		{"mcmc ising -s target.l=3 --chains 4 --draws 8 --spacing auto --states y.npy --json -q",
			map[string]any{"seed": 1., "file": nil, "format": "spins", "auto_spacing": true, "ladder": nil}},
		{"mcmc ising -s target.l=3 --chains 4 --draws 8 --burn-in 0 --ladder 0.1,0.2 --json -q",
			map[string]any{"burn_in": 0., "spacing": 1., "states": nil, "format": nil, "observables": nil}},
	} {
		var v map[string]any
		require.NoError(t, json.Unmarshal([]byte(ok(t, dir, strings.Fields(c.args)...).stdout), &v))
		for key, want := range c.want {
			require.Equal(t, want, v[key], "%s of %s", key, c.args)
		}
		require.Equal(t, programName(), v["program"])
		require.Contains(t, v["target"], "3×3")
		for _, w := range v["warnings"].([]any) {
			require.Regexp(t, `^(energy|magnetisation|abs_magnetisation)( at β = 0\.[12])? is not reliable yet: R̂ is \d\.\d{3} \(at most 1\.01 is needed\), effective size \d+ \(at least 400 is needed\); take more draws, a larger --spacing or a larger --burn-in$`, w)
		}
	}
}

// TestEstimates: a training costs what its steps and its evaluation touch of memory, as its
// configuration says; nothing is known of other jobs.
func TestEstimates(t *testing.T) {
	p := &program{systems: systems}
	jobs, err := batch.Read(strings.NewReader(`{"train":"ising","preset":"paper","set":{"training.steps":70,"training.batch":64,"evaluation.samples":3200}}
{"train":"gmm","preset":"paper","set":{"training.steps":7,"training.batch":128}}
{"train":"ising","set":{"target.beta":-1}}
{"sample":"run","number":5}
`), verbs(), t.TempDir())
	require.NoError(t, err)
	for i, from := range []catalogue.Source{{System: "ising", Preset: "paper", Set: []string{"training.steps=70", "training.batch=64", "evaluation.samples=3200"}}, {System: "gmm", Preset: "paper", Set: []string{"training.steps=7", "training.batch=128"}}} {
		cfg, _, _, err := systems.Given(from)
		require.NoError(t, err)
		bytes := 0.0
		for _, d := range cfg.(engine.Explainer).Demands() {
			bytes += d.Bytes
		}
		require.Positive(t, bytes)
		p.estimate(jobs[i])
		training := cfg.Shared().Training
		require.Equal(t, bytes, jobs[i].Bytes)
		require.InEpsilon(t, bytes*(float64(training.Steps)+float64(cfg.Shared().Evaluation.Samples)/float64(training.Batch)), jobs[i].Cost, 1e-12)
	}
	toy := &program{systems: append(catalogue.Systems{toyDefinition}, systems...)}
	plain, err := batch.Read(strings.NewReader(`{"train":"toy"}`), verbs(), t.TempDir())
	require.NoError(t, err)
	for _, j := range append(jobs[2:], plain...) {
		p.estimate(j)
		require.Zero(t, j.Cost)
		require.Zero(t, j.Bytes)
	}
	toy.estimate(plain[0])
	if cfg, err := toyDefinition.Preset(""); err == nil {
		shared := cfg.Shared()
		n := float64(shared.Training.Batch)
		require.Zero(t, plain[0].Bytes)
		require.InEpsilon(t, 1024*n*(float64(shared.Training.Steps)+float64(shared.Evaluation.Samples)/n), plain[0].Cost, 1e-12)
	}
}

// TestConfigurationsAreExplained: what a preset chose, or has yet to look at, is said beside its
// configuration.
func TestConfigurationsAreExplained(t *testing.T) {
	_, why, _, err := systems.Given(catalogue.Source{System: "ising", Preset: "quick"})
	require.NoError(t, err)
	o := ok(t, "", "config", "show", "ising", "-p", "quick")
	require.Contains(t, o.stderr, "quick preset for this target: "+why+"\n")
	require.NotContains(t, o.stderr, "looked")
	o = ok(t, "", "config", "show", "reals", "-p", "best", "-s", "target.dim=2", "-s", "target.expression=-sum(x^2)")
	require.Contains(t, o.stderr, "the best preset has not looked at this target, though its choices depend on such a look; --look takes it\n")
	require.NotContains(t, o.stderr, "for this target: ")
	require.True(t, json.Valid([]byte(o.stdout)))
}

// TestNamesOfRuns: a run of a preset as it stands has its name, and any other a part of the hash
// of its configuration.
func TestNamesOfRuns(t *testing.T) {
	named := func(s source) string {
		given, err := s.loadWithoutLook(systems)
		require.NoError(t, err)
		dir, err := defaultDir(given)
		require.NoError(t, err)
		return dir
	}
	require.Equal(t, filepath.Join("runs", "gmm-paper-seed1"), named(source{name: "gmm", preset: "paper"}))
	s := source{name: "gmm", preset: "paper", assignments: []string{"training.seed=5"}}
	cfg, _, _, err := systems.Given(catalogue.Source{System: "gmm", Preset: "paper", Set: s.assignments})
	require.NoError(t, err)
	text, err := conf.Encode(cfg)
	require.NoError(t, err)
	sum := sha256.Sum256(text)
	require.Equal(t, filepath.Join("runs", fmt.Sprintf("gmm-paper-seed5-%x", sum[:4])), named(s))
	look := source{name: "reals", preset: "best", assignments: []string{"target.dim=2", "target.expression=-sum(x^2)"}}
	require.Regexp(t, `^runs/reals-best-seed1-[0-9a-f]{8}$`, named(look))
	other := look
	other.assignments = []string{"target.dim=2", "target.expression=-sum(x^4)"}
	require.NotEqual(t, named(look), named(other))
}
