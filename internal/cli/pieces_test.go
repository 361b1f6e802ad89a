package cli

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/revgen/revgen/bench"
	"github.com/revgen/revgen/bench/answer"
	"github.com/revgen/revgen/bench/reproduce"
	"github.com/revgen/revgen/engine"
	"github.com/revgen/revgen/engine/catalogue"
	"github.com/revgen/revgen/engine/chains"
	"github.com/revgen/revgen/engine/measure"
	"github.com/revgen/revgen/engine/run"
	"github.com/revgen/revgen/engine/score"
	"github.com/revgen/revgen/internal/batch"
	"github.com/revgen/revgen/internal/figure"
)

// TestCompletions: the words that a shell offers for each flag that has some.
func TestCompletions(t *testing.T) {
	for command, words := range map[string][]string{
		"bench --output": bench.Formats, "bench --fail-on": {bench.Slower}, "bench answer --output": answer.Formats, "bench answer --only": answer.Names(),
		"reproduce --only": reproduce.Names(), "run --resume=": {"auto", "never", "must"}, "train --resume=": {"auto", "never", "must"}, "train --figures": {"svg", "all", "none"},
		"train --diagnose": {"brief", "none"}, "train gmm --preset": systems[1].Presets, "train --preset": systems[0].Presets, "score --input": append([]string{"auto"}, score.Kinds...), "score --to": score.Layouts,
		"verify": append(systems.Names(), "toy", "all"),
	} {
		args := append([]string{"__complete"}, strings.Fields(command)...)
		if !strings.HasSuffix(command, "=") {
			args = append(args, "")
		}
		o := ok(t, "", args...)
		directive := ":4" // no files
		if command == "verify" {
			directive = ":0"
		}
		require.Equal(t, strings.Join(append(slices.Clone(words), directive), "\n")+"\n", o.stdout, command)
	}
	require.Equal(t, []string{"a", "b", "c"}, (&program{systems: catalogue.Systems{{Presets: []string{"a", "b"}}, {}, {Presets: []string{"b", "c"}}}}).presets())
	o := ok(t, "", "__complete", "verify", "ising", "")
	require.Equal(t, ":0\n", o.stdout)
}

// TestBounds: what pipelines may demand of a model, and what is checked then.
func TestBounds(t *testing.T) {
	for text, good := range map[string]bool{"a=0": true, "a=0.5": true, "a=-1": false, "a": false, "a=x": false, "a=NaN": false, "a=-1e-300": false} {
		b := bounds{max: []string{text}}
		err := b.parse()
		if good {
			require.NoError(t, err)
			require.Equal(t, []string{"a"}, b.metrics)
			continue
		}
		require.EqualError(t, err, fmt.Sprintf("--max: %q is not METRIC=VALUE with a value of at least 0, such as total_variation=0.05", text))
	}
	require.EqualError(t, (&bounds{floor: -1}).parse(), "--max-floor: -1 is not a number of at least 0")
	require.Error(t, (&bounds{floor: math.NaN()}).parse())
	e := &measure.Evaluation{Samples: 50, Metrics: []measure.Metric{
		{Name: "a", Error: 0.5, Floor: 0.25}, {Name: "unknown", Exact: math.NaN(), Error: math.NaN(), Floor: 1}, {Name: "no floor", Error: 3}, {Name: "broken", Error: math.NaN()},
	}}
	check := func(b bounds) (all []engine.Check) {
		require.NoError(t, b.parse())
		require.NoError(t, b.check(e, func(c engine.Check) { all = append(all, c) }))
		return all
	}
	require.Equal(t, []engine.Check{
		{Name: "max/a", OK: true, Value: 0.5, Bound: 0.5, Detail: "error of 50 samples"}, {Name: "max/no floor", Value: 3, Bound: 2, Detail: "error of 50 samples"},
	}, check(bounds{max: []string{"a=0.5", "no floor=2"}}))
	all := check(bounds{floor: 2})
	require.Len(t, all, 2)
	require.Equal(t, engine.Check{Name: "floor/a", OK: true, Value: 2, Bound: 2, Detail: "error of 50 samples, in sampling floors"}, all[0])
	require.Equal(t, "floor/broken", all[1].Name)
	require.False(t, all[1].OK)
	require.Empty(t, check(bounds{}))
	e.Metrics = e.Metrics[1:3]
	require.Equal(t, []engine.Check{{Name: "floor", Detail: "no metric has a sampling floor to compare with"}}, check(bounds{floor: 2}))
	require.EqualError(t, (&bounds{metrics: []string{"x"}, values: []float64{1}}).check(e, nil), `--max: there is no metric "x"; there are unknown, no floor`)

	first := &measure.Evaluation{Metrics: []measure.Metric{{Name: "a", Generated: 1, Interval: [2]float64{0, 2}}, {Name: "b", Generated: math.Inf(1)}}}
	for name, c := range map[string]struct {
		again []measure.Metric
		ok    bool
		value float64
	}{
		"same": {first.Metrics, true, 0}, "at the bound": {[]measure.Metric{{Name: "a", Generated: 1.1}, {Name: "b", Generated: math.Inf(1)}}, true, 0.1000000000000000888},
		"beyond": {[]measure.Metric{{Name: "a", Generated: 0.8}, {Name: "b", Generated: math.Inf(1)}}, false, 0.2}, "other": {[]measure.Metric{{Name: "c", Generated: 1}, {Name: "b", Generated: math.Inf(1)}}, false, 0},
		"fewer": {first.Metrics[:1], false, 0}, "none": {nil, false, 0}, "NaN": {[]measure.Metric{{Name: "a", Generated: math.NaN()}, {Name: "b", Generated: math.Inf(1)}}, false, math.NaN()},
	} {
		got := summaryCheck(first, &measure.Evaluation{Metrics: c.again})
		require.Equal(t, "model.summary", got.Name)
		require.Equal(t, 0.1, got.Bound)
		if name == "at the bound" {
			require.InDelta(t, c.value, got.Value, 1e-12)
			continue
		}
		require.Equal(t, c.ok, got.OK, name)
		if math.IsNaN(c.value) {
			require.True(t, math.IsNaN(got.Value), name)
		} else {
			require.InDelta(t, c.value, got.Value, 1e-12, name)
		}
	}
}

// TestRecordsOfChecks: lines of text and of JSON, and how they end.
func TestRecordsOfChecks(t *testing.T) {
	var out, talk bytes.Buffer
	p := &program{stdout: &out, stderr: &talk}
	r := &checkRecords{p: p, start: time.Now()}
	r.add("ising", engine.Check{Name: "sums", OK: true, Value: 1e-16, Bound: 1e-15})
	r.add("a long system", engine.Check{Name: "balance", Value: math.NaN(), Bound: 2, Detail: "state 3"})
	require.Equal(t, "ok    ising    sums                                          1e-16  bound 1e-15\nFAIL  a long system balance                                         NaN  bound 2          state 3\n", out.String())
	require.Equal(t, errCheckFailed, r.end())
	require.Regexp(t, `^2 checks, 1 failed, \d+\.\d s\n$`, talk.String())
	out.Reset()
	p.json = true
	r = &checkRecords{p: p, start: time.Now()}
	require.EqualError(t, r.end(), "nothing was checked")
	r.add("ising", engine.Check{Name: "sums", OK: true, Value: math.Inf(1), Bound: 1})
	require.Equal(t, `{"system":"ising","check":"sums","ok":true,"value":"Infinity","bound":1}`+"\n", out.String())
	require.NoError(t, r.end())
	broken := errors.New("broken")
	p.json, p.stdout = false, writes{broken}
	r.add("ising", engine.Check{Name: "sums", OK: true})
	require.Equal(t, broken, r.end())
	r.add("ising", engine.Check{Name: "sums"})
	require.Equal(t, 3, r.count)
	talk.Reset()
	require.Equal(t, errCheckFailed, r.end())
	require.Contains(t, talk.String(), "revgen: broken\n")
	r.err = errReaderGone
	talk.Reset()
	require.Equal(t, errCheckFailed, r.end())
	require.NotContains(t, talk.String(), "revgen: ")
}

// writes is an error of every write.
type writes struct{ err error }

func (w writes) Write([]byte) (int, error) { return 0, w.err }

// TestTitles: columns of tables say what their figures are compared with.
func TestTitles(t *testing.T) {
	by := &measure.Reweighted{Value: 1.25, Interval: [2]float64{1, 1.5}, Error: 0.125}
	for _, c := range []struct {
		m                       measure.Metric
		weights                 *measure.Weights
		reference, title, exact string
	}{
		{measure.Metric{Exact: 2, Interval: [2]float64{1, 3}}, nil, "exact", "", "2.00"},
		{measure.Metric{Exact: 2, Interval: [2]float64{1, 3}, Uncertainty: 0.1}, nil, "reference", "", "2.00 ± 0.1"},
		{measure.Metric{Exact: -2, Interval: [2]float64{1, 3}, Uncertainty: 0.1, Relative: true}, nil, "reference", "", "-2.00 ± 0.2"},
		{measure.Metric{Exact: 2, Interval: [2]float64{1, 3}, Unsettled: true, Uncertainty: 1}, nil, "reference (unreliable)", "", "2.00 ± 1"},
		{measure.Metric{Exact: 2, Interval: [2]float64{1, 3}, Reweighted: by}, nil, "exact", "by weights", "2.00"},
		{measure.Metric{Exact: 2, Interval: [2]float64{1, 3}, Reweighted: by}, &measure.Weights{}, "exact", "by weights", "2.00"},
		{measure.Metric{Exact: 2, Interval: [2]float64{1, 3}, Reweighted: by}, &measure.Weights{Warning: "thin"}, "exact", "by weights (not to be trusted)", "2.00"},
	} {
		e := &measure.Evaluation{Metrics: []measure.Metric{{Name: "other"}, c.m}, Weights: c.weights}
		require.Equal(t, []string{c.reference, c.title}, []string{referenceTitle(e), weightedTitle(e)})
		require.Equal(t, strings.Fields(c.exact)[1:], strings.Fields(referenceText(c.m))[1:])
	}
	require.Equal(t, []string{"", ""}, weightedCells(measure.Metric{}))
	require.Equal(t, "± 0.25", strings.Join(strings.Fields(weightedCells(measure.Metric{Reweighted: by})[0])[1:], " "))
}

// TestMeterSays: what a log has of a training, and when it foretells a long one.
func TestMeterSays(t *testing.T) {
	var b bytes.Buffer
	p := &program{stderr: &b}
	say := func(now run.Progress) string {
		b.Reset()
		m := p.newMeter(10, "steps")
		m.updateTraining(now)
		require.EqualValues(t, now.Steps, m.total)
		return b.String()
	}
	done := run.Progress{Steps: 60, StepsPerSecond: 12.5}
	done.Step, done.Loss, done.Acceptance = 60, 0.001234, 0.4567
	require.Equal(t, "steps 60/60  loss 1.234e-03  acceptance 0.457  12.5 steps/s  0:00 left\n", say(done))
	done.Evaluations, done.Predecessors = 12345, 2
	require.Equal(t, "steps 60/60  loss 1.234e-03  acceptance 0.457  12.3k evaluations  (then 2 more runs)  12.5 steps/s  0:00 left\n", say(done))
	for _, c := range []struct {
		elapsed      time.Duration
		left, more   int
		says, settle bool
	}{{999 * time.Millisecond, 1000, 0, false, false}, {time.Second, 10, 0, true, true}, {time.Second, 9, 0, false, true}, {time.Second, 10, 1, false, true}, {2 * time.Second, 1000, 0, true, true}} {
		b.Reset()
		m := p.newMeter(2000, "steps")
		now := run.Progress{Steps: 2000, StepsPerSecond: 1, Elapsed: c.elapsed, Predecessors: c.more}
		now.Step = 2000 - c.left
		m.forecast(now)
		want := ""
		if c.says {
			want = fmt.Sprintf("the training takes about %s more: %d steps at 1.00 steps/s, as measured in its first %.0f s\n", timeLeft(float64(c.left)), c.left, c.elapsed.Seconds())
		}
		require.Equal(t, want, b.String())
		require.Equal(t, c.settle, m.forecastDone)
		m.forecast(now)
		require.Equal(t, want, b.String(), "once")
	}
	require.Equal(t, "10k (first look 9999, training 1, table 0, diagnosis 0)", evaluationsText(&engine.Evaluations{Look: 9999, Training: 1}))
	require.Equal(t, "23 (first look 1, training 3, table 7, diagnosis 12)", evaluationsText(&engine.Evaluations{Look: 1, Training: 3, Table: 7, Diagnosis: 12}))
	for x, want := range map[float64]string{9999: "9999", 1e4: "10k", 999499: "999k", 999500: "1M", 1e6: "1M", 999.4e6: "999M", 999.5e6: "1G", 1e9: "1G", -1e6: "-1M", 10: "10.0", 99.94: "99.9", 100: "100", -25.5: "-25.5"} {
		require.Equal(t, want, quantity(x), "%v", x)
	}
	for x, want := range map[float64]string{1e7: "2777:46:40", 1.0001e7: "?", 3599.5: "1:00:00", 60: "1:00", 61: "1:01", 3661: "1:01:01", 7199: "1:59:59"} {
		require.Equal(t, want, timeLeft(x), "%v", x)
	}
}

// TestLimitsOfFlags: the largest values that flags take, and the first that they do not.
func TestLimitsOfFlags(t *testing.T) {
	require.NoError(t, checkThreads(4096))
	require.NoError(t, checkThreads(0))
	require.EqualError(t, checkThreads(4097), "--threads: 4097 is not between 1 and 4096")
	require.EqualError(t, checkThreads(-1), "--threads: -1 is not between 1 and 4096")
	var c count
	require.NoError(t, c.Set("9007199254740992.0"))
	require.EqualValues(t, 1<<53, c)
	require.EqualError(t, c.Set("9007199254740994.0"), `"9007199254740994.0" is not a whole number such as 200000 or 2e5`)
	require.EqualError(t, c.Set("-1e0"), `"-1e0" is not a whole number such as 200000 or 2e5`)
	require.Equal(t, []string{"9007199254740992", "N"}, []string{c.String(), c.Type()})
	var d duration
	require.Equal(t, []string{"", "D"}, []string{d.String(), d.Type()})
	for text, want := range map[string]time.Duration{"00:59:59": 3599 * time.Second, "00:00:01": time.Second, "65535-00:00:00": 65535 * 24 * time.Hour, "65535:00:00": 65535 * time.Hour, "1ns": 1} {
		require.NoError(t, d.Set(text))
		require.Equal(t, want, time.Duration(d), text)
	}
	for _, text := range []string{"00:60:00", "00:00:60", "65536:00:00", "65536-00:00:00", "1:2:3:4", "-1ns"} {
		require.EqualError(t, d.Set(text), fmt.Sprintf("%q is not a positive time such as 90m, 1h30m, 01:30:00 or 1-12:00:00", text))
	}
	var s stepCount
	require.NoError(t, s.Set("auto"))
	require.Equal(t, []string{"auto", "N|auto"}, []string{s.String(), s.Type()})
	for text, want := range map[string]int{"0": 0, "7": 7, "2147483647": math.MaxInt32, "2147483648": chains.MaxSteps + 1, "1e15": chains.MaxSteps + 1} {
		require.NoError(t, s.Set(text))
		require.Equal(t, stepCount{n: want}, s, text)
	}
	require.Equal(t, "2147483648", (&stepCount{n: chains.MaxSteps + 1}).String())
	for _, text := range []string{"", "1.5", "x", "8x", "Auto", "-1"} {
		require.EqualError(t, s.Set(text), fmt.Sprintf("%q is neither a number of steps such as 10 nor auto", text))
	}
	var l ladder
	require.NoError(t, l.Set("0.5,0.1,0.30000000000000004"))
	require.Equal(t, []string{"0.1,0.30000000000000004,0.5", "BETAS"}, []string{l.String(), l.Type()})
	require.EqualError(t, new(ladder).Set(""), `"" is not first:last:step or a,b,c`)
	require.EqualError(t, new(ladder).Set("a,b"), `"a,b": "a" is not a number`)
	for text, want := range map[string]string{"%t.npy": "3.npy", "a.npy": "", "-": "-", "x%t%t": "x33"} {
		part := shard{3, 8, true}
		got, err := part.path(text)
		if want == "" {
			require.EqualError(t, err, "-o: all 8 tasks would write a.npy; put %t, the number of the task, into the name")
			continue
		}
		require.NoError(t, err)
		require.Equal(t, want, got)
	}
	for _, part := range []shard{{0, 1, true}, {3, 8, false}} {
		got, err := part.path("a.npy")
		require.NoError(t, err)
		require.Equal(t, "a.npy", got)
	}
	require.Equal(t, []string{"3/8", "i/n"}, []string{(&shard{3, 8, false}).String(), (&shard{}).Type()})
	require.EqualError(t, new(shard).Set("8/8"), `"8/8" is not i/n with 0 ≤ i < n, such as 0/4, nor auto`)
}

// TestBins: jobs are ordered by a number, those of one together, and those of neighbouring
// ones where there are more than 200.
func TestBins(t *testing.T) {
	of := func(texts ...string) *batchReport {
		b := &batchReport{columns: []batch.Column{{Key: "x", Texts: texts}}}
		for range texts {
			b.runs = append(b.runs, &runSummary{Evaluation: measure.Evaluation{Metrics: []measure.Metric{{Name: "a"}}}})
		}
		return b
	}
	b := of("3", "1", "", "3.0", "2")
	b.runs[4] = new(runSummary)
	require.Equal(t, []bin{{1, []int{1}}, {3, []int{0, 3}}}, b.bins(b.columns[0]))
	for _, text := range []string{"x", "Inf", "NaN"} {
		b = of("1", text)
		require.Nil(t, b.bins(b.columns[0]))
	}
	for n, want := range map[int]int{200: 200, 201: 201, 401: 201, 2001: 201} {
		var texts []string
		for i := range n {
			texts = append(texts, fmt.Sprint(10*i+1000))
		}
		b = of(texts...)
		got := b.bins(b.columns[0])
		require.Len(t, got, want, n)
		seen := 0
		for i, p := range got {
			require.Equal(t, float64(10*p.jobs[0]+1000), p.x)
			require.Equal(t, seen, p.jobs[0])
			seen += len(p.jobs)
			if i > 0 {
				require.GreaterOrEqual(t, p.x-got[i-1].x, float64(10*(n-1))/200)
			}
		}
		require.Equal(t, n, seen)
	}
}

// TestCurves: in each bin the median of the values that are finite, from the least to the
// largest, and that of the floors; what exact samples have stands for a floor where there is none.
func TestCurves(t *testing.T) {
	var b batchReport
	for _, m := range [][2]float64{{1, 0.5}, {4, math.NaN()}, {math.Inf(1), 7}, {2, 0}, {9, 8}, {5, 6}} {
		b.runs = append(b.runs, &runSummary{Evaluation: measure.Evaluation{Metrics: []measure.Metric{{Name: "a", Error: m[0], Floor: m[1]}}}})
	}
	b.runs[4].Metrics[0].Name = "b"
	all := []bin{{1, []int{0, 1, 3}}, {2, []int{2}}, {3, []int{3}}, {4, []int{4}}, {5, []int{1}}}
	error := func(m measure.Metric) float64 { return m.Error }
	floor := func(m measure.Metric) float64 { return m.Floor }
	points := figure.Layer{Mark: figure.Points, Role: figure.Generated, Label: "jobs: median, least to largest", X: []float64{1, 3, 5}, Y: []float64{2, 2, 4}, Low: []float64{1, 2, 4}, High: []float64{4, 2, 4}}
	line := figure.Layer{Mark: figure.Line, Role: figure.Reference, Label: "sampling floor", X: []float64{1}, Y: []float64{0.25}}
	require.Equal(t, []figure.Layer{points, line}, b.curves(all, "a", error, floor))
	require.Equal(t, []figure.Layer{points, {Mark: figure.Level, Role: figure.Reference, Label: "exact samples", Y: []float64{1}}}, b.curves(all, "a", error, nil))
	require.Len(t, b.curves(all[2:], "a", error, floor), 1)
	require.Equal(t, b.runs[5].metric("a"), (&batchReport{runs: b.runs[4:]}).findMetric("a"))
	require.Nil(t, b.findMetric("c"))
}

// TestKeysOfJobs: what is said of keys and values that a job cannot have.
func TestKeysOfJobs(t *testing.T) {
	for job, want := range map[string]string{
		`{"train":"ising","bogus":1}`: "bogus: unknown key; train has ", `{"sample":"x","set":{"a.b":1}}`: "set: sample has no configuration to set", `{"sample":"x","number":[1]}`: "number: a list where a plain value is needed",
		`{"train":"ising","set":{"training.steps":1},"figures":{"a":1}}`: "figures: an object where a plain value is needed", `{"sample":"x","number":"many"}`: `number: invalid argument "many"`, `{"train":"ising","quiet":true}`: "quiet: unknown key; train has ",
	} {
		dir := t.TempDir()
		require.NoError(t, os.WriteFile(filepath.Join(dir, "jobs.ndjson"), []byte(job+"\n"), 0o600))
		o := revgen(t, dir, "run", "jobs.ndjson")
		require.Contains(t, []int{exitError, exitUsage}, o.code, o.stderr)
		require.Contains(t, o.stderr, want, job)
	}
}

// TestFilesOfConfigurations: what files of JSON give, and what is no such file.
func TestFilesOfConfigurations(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "a.json")
	require.NoError(t, os.WriteFile(path, []byte(`{"a":3}`), 0o600))
	type object struct{ A int }
	v, err := readJSON[object](dir, "a.json", 7)
	require.NoError(t, err)
	require.Equal(t, &object{3}, v)
	for _, name := range []string{"none", "a.json/below"} {
		v, err = readJSON[object](dir, name, 7)
		require.NoError(t, err)
		require.Nil(t, v)
	}
	_, err = readJSON[object](dir, "a.json", 6)
	require.ErrorContains(t, err, "longer than 6 bytes")
	require.NoError(t, os.WriteFile(path, []byte(`{"a":`), 0o600))
	_, err = readJSON[object](dir, "a.json", 9)
	require.EqualError(t, err, path+": unexpected end of JSON input")
	s := source{name: "f"}
	from, err := s.configSource(systems, bytes.Repeat([]byte(" "), maxConfig))
	require.NoError(t, err)
	require.Equal(t, "f", from.File)
	_, err = s.configSource(systems, bytes.Repeat([]byte(" "), maxConfig+1))
	require.EqualError(t, err, fmt.Sprintf("f: longer than %d bytes, too long for a configuration", maxConfig))
	s.preset = "quick"
	_, err = s.configSource(systems, []byte("{}"))
	require.EqualError(t, err, "--preset needs a system; f names its own preset")
	_, err = s.configSource(systems, []byte("{"))
	require.NoError(t, err, "which is said later")
	_, err = s.configSource(systems, []byte("\ufeff \t"+strings.Repeat("x", 50)+"\ny"))
	require.ErrorContains(t, err, fmt.Sprintf("f: unknown kind of file (it begins with %q); known are a configuration, which is a JSON object in braces, or ", strings.Repeat("x", 40)))
	_, err = s.configSource(systems, []byte("ab\r\ny"))
	require.ErrorContains(t, err, `(it begins with "ab")`)
	require.NoError(t, checkFiles(0))
	require.NoError(t, checkFiles(4))
	require.NoError(t, (&pendingCheck{}).check())
}

// A pendingCheck is an output that is asked before and after it is finished.
type pendingCheck struct{ output pendingOutput }

func (o *pendingCheck) check() error {
	if err := o.output.finish(func() error { return io.ErrUnexpectedEOF }); err == nil || errors.Is(err, io.ErrUnexpectedEOF) {
		return errors.New("what was not begun is finished")
	}
	o.output.begin(func() (string, bool) { return "left", true })
	if remark, lost := o.output.discard(); remark != "left" || !lost {
		return errors.New("what is left is not said")
	}
	if remark, lost := o.output.discard(); remark != "" || lost {
		return errors.New("discarded twice")
	}
	o.output.begin(func() (string, bool) { return "left", true })
	if err := o.output.finish(func() error { return nil }); err != nil {
		return err
	}
	if remark, _ := o.output.discard(); remark != "" {
		return errors.New("what is finished is discarded")
	}
	return nil
}
