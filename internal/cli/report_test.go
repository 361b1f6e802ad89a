package cli

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/revgen/revgen/engine/diagnose"
	"github.com/revgen/revgen/engine/measure"
	"github.com/revgen/revgen/internal/batch"
	"github.com/revgen/revgen/internal/htmlpage"
)

func TestReport(t *testing.T) {
	dir := t.TempDir()
	ok(t, dir, tiny("a", "--figures", "all", "--diagnose", "brief")...)
	ok(t, dir, tiny("it's b", "--seed", "2", "--figures", "none")...)
	text := content(t, dir, "a", "report.html")
	for _, want := range []string{`<th scope="col" class="number">paper</th>`, `<img src="data:image/svg`, `alt="Drift of fresh samples. drift / standard deviation against Metropolis steps after generation from `} {
		require.True(t, strings.Contains(text, want), want)
	}
	for _, want := range []string{"<h1>ising, paper preset, seed 1</h1>", `<div class="verdict`, "abs magnetisation", "data:image/svg&#43;xml", "revgen train a/config.json -o again", "&#34;batch&#34;: 64", "The paper preset", "steps/s"} {
		require.True(t, strings.Contains(text, want), want)
	}
	require.NoFileExists(t, filepath.Join(dir, "it's b", "report.html"))
	require.NoDirExists(t, filepath.Join(dir, "it's b", "figures"))
	ok(t, dir, "report", "a", "it's b")
	both := content(t, dir, "report.html")
	require.True(t, strings.Contains(both, "<h1>Comparison</h1>"))
	require.True(t, strings.Contains(both, `revgen train &#39;it&#39;\&#39;&#39;s b/config.json&#39; -o again`))

	rows, err := csv.NewReader(strings.NewReader(ok(t, dir, "report", "a", "it's b", "--csv").stdout)).ReadAll()
	require.NoError(t, err)
	require.Equal(t, []string{"run", "system", "preset", "seed"}, rows[0][:4])
	require.Equal(t, []string{"a", "ising", "paper", "1"}, rows[1][:4])
	require.Equal(t, "it's b", rows[len(rows)-1][0])
	// Each metric is a row, with the figures of summary.json.
	var summary struct {
		Seconds   float64
		Metrics   []map[string]any
		Diagnosis struct{ Verdict string }
	}
	require.NoError(t, json.Unmarshal([]byte(content(t, dir, "a", "summary.json")), &summary))
	for i, m := range summary.Metrics {
		interval := m["interval"].([]any)
		want := []any{"a", "ising", "paper", 1, summary.Diagnosis.Verdict, m["name"], m["exact"], m["generated"], m["error"], m["relative"], interval[0], interval[1], m["floor"], summary.Seconds}
		require.Len(t, rows[1+i], len(want))
		for k, v := range want {
			if x, err := strconv.ParseFloat(rows[1+i][k], 64); err == nil {
				require.EqualValues(t, v, x, rows[0][k])
				continue
			}
			require.Equal(t, fmt.Sprint(v), rows[1+i][k], rows[0][k])
		}
	}
	require.NotEmpty(t, summary.Diagnosis.Verdict)
	require.Len(t, rows, 1+2*len(summary.Metrics))

	list(t, dir, `{"train":"ising","grid":{"target.beta":[0.1,0.2]},`+quickJob+`}`, `{"train":"ising","id":"bad","set":{"target.beta":-1}}`)
	require.Equal(t, exitError, revgen(t, dir, "run", "jobs.ndjson", "-q").code)
	page := ok(t, dir, "report", "runs/jobs", "-o", "-").stdout
	for _, want := range []string{"3 jobs: 2 done, 1 failed", `<th scope="row">1,target.beta=0.2</th>`, `<th scope="col">target.beta</th>`, `<th scope="col" class="number">total variation</th>`, "target.beta: -1 is not",
		`alt="By target.beta. error of energy, relative against target.beta from 0.1 to 0.2: jobs: median, least to largest from `} {
		require.True(t, strings.Contains(page, want), want)
	}
	require.Less(t, strings.Index(page, ">Failed<"), strings.Index(page, "<figure>"), "failures first")
	require.Less(t, strings.Index(page, "<figure>"), strings.Index(page, ">Done<"))
	rows, err = csv.NewReader(strings.NewReader(ok(t, dir, "report", "runs/jobs", "--csv").stdout)).ReadAll()
	require.NoError(t, err)
	at := slices.Index(rows[0], "target.beta")
	require.Positive(t, at)
	require.Equal(t, []string{"0.1", "0.2"}, []string{rows[1][at], rows[len(rows)-1][at]})

	for _, c := range []struct {
		want string
		args []string
	}{
		{"neither a finished run (summary.json) nor a batch", []string{"report", "runs"}},
		{"runs/jobs: is a batch, which has a page of its own: revgen report runs/jobs", []string{"report", "a", "runs/jobs"}},
		{"a page is HTML; write NAME.html", []string{"report", "a", "-o", "x.pdf"}},
		{"neither a finished run (summary.json) nor a batch", []string{"report", "runs", "--csv"}},
		{"--csv writes NAME.csv", []string{"report", "a", "--csv", "-o", "x.html"}},
	} {
		o := revgen(t, dir, c.args...)
		require.Equal(t, exitUsage, o.code, o.stderr)
		require.Contains(t, o.stderr, c.want)
	}
	// Pictures of a run are shown, not carried out.
	require.NoError(t, os.WriteFile(filepath.Join(dir, "a", "figures", "x.svg"), []byte("<svg><script>alert(1)</script></svg>"), 0o600))
	ok(t, dir, "report", "a")
	require.False(t, strings.Contains(content(t, dir, "a", "report.html"), "<script"))
}

// What pages say of jobs and of runs is what their records and summaries have.
func TestPages(t *testing.T) {
	paper, infinite := 0.01, math.Inf(1)
	run := func(i int, verdict diagnose.Verdict) *runSummary {
		x := float64(i)
		s := &runSummary{Evaluation: measure.Evaluation{Samples: 1000, Metrics: []measure.Metric{
			{Name: "energy", Exact: -4, Generated: -4.01 - x/100, Error: 0.001 * (x + 1), Relative: true, Interval: [2]float64{-4.1, -3.9}, Floor: 0.002, Quantile: 0.003, Paper: &paper},
			{Name: "l1_distance", Generated: x, Error: x, Interval: [2]float64{x - 1, x + 1}, Floor: 0.5, Quantile: 1},
			{Name: essName, Exact: 1, Generated: 0.9 - x/10, Interval: [2]float64{0.8, 0.95}, Error: 0.1},
			{Name: "unbounded", Generated: infinite, Error: infinite, Interval: [2]float64{1, infinite}},
			{Name: "a", Reweighted: &measure.Reweighted{Value: 2.5, Interval: [2]float64{2, 3}, Error: 0.25}}, {Name: "b"}, {Name: "c"},
		}}}
		s.System, s.Preset, s.Seed, s.Seconds = "ising", "paper", uint64(i), 1.25*x
		if verdict != "" {
			s.Diagnosis = &diagnose.Report{Verdict: verdict, Samples: 4096, Steps: 1, Observables: []diagnose.Observable{{Name: "energy", Mean: 1}}}
		}
		return s
	}
	var b bytes.Buffer
	dump := func(what string, v any) {
		fmt.Fprintf(&b, "──── %s\n", what)
		e := json.NewEncoder(&b)
		e.SetEscapeHTML(false)
		switch v := v.(type) {
		case *htmlpage.Table:
			fmt.Fprintf(&b, "%s, %d columns of words\n%s\n%s\n", v.Title, v.Left, v.Caption, strings.Join(v.Header, " | "))
			for _, row := range v.Rows {
				for _, c := range row {
					fmt.Fprintf(&b, "%s[%s] | ", c.Text, c.Mark)
				}
				fmt.Fprintln(&b)
			}
		default:
			require.NoError(t, e.Encode(v))
		}
	}
	verdicts := []diagnose.Verdict{diagnose.Trustworthy, diagnose.Refine, diagnose.Wrong, diagnose.Unknown, ""}
	var runs []*runSummary
	var records []batch.Record
	for i, v := range verdicts {
		runs = append(runs, run(i, v))
		text, err := json.Marshal(runs[i])
		require.NoError(t, err)
		records = append(records, batch.Record{ID: fmt.Sprint("job", i), Verb: "train", Result: text, Seconds: 30 * float64(i),
			Values: json.RawMessage(fmt.Sprintf(`{"target.beta":%g,"training.batch":%d,"name":"n%d"}`, 0.1*float64(i+1), 1<<(2*i), i))})
	}
	records[1].Warnings = []string{"one", "two", "one"}
	records[2].Warnings = []string{"alone"}
	bare := len(records)
	records = append(records, batch.Record{ID: "failed", Verb: "train", Exit: exitError, Error: "no room", Values: json.RawMessage(`{"target.beta":0.1}`)},
		batch.Record{ID: "refused", Verb: "verify", Exit: exitCheck, Seconds: 3600}, batch.Record{ID: "stopped", Verb: "train", Exit: exitStopped, Error: "later"})
	for _, all := range [][]batch.Record{records, records[:bare], records[bare : bare+1]} {
		var pg htmlpage.Page
		require.NoError(t, describeBatch(&pg, all))
		dump(pg.Lead, pg.Facts)
		for _, table := range []*htmlpage.Table{pg.FailedJobs, pg.WarnedJobs, pg.Table} {
			if table != nil {
				dump("table", table)
			}
		}
		fmt.Fprintln(&b, len(pg.Pictures), "pictures")
		for _, p := range pg.Pictures {
			fmt.Fprintln(&b, p.Text())
		}
	}
	fold := &batchReport{runs: runs, metrics: metricNames(runs)}
	fold.columns = []batch.Column{{Key: "x", Texts: []string{"1", "2", "1", "", "31"}}, {Key: "word", Texts: []string{"1", "two", "3", "4", "5"}}, {Key: "flat", Texts: []string{"1", "1", "1", "1", "1"}}}
	for _, f := range fold.figures() {
		for i, row := range f.Rows {
			require.Len(t, row.Panels, min(2, len(f.Rows[0].Panels)), "row %d of %s", i, f.Title)
			for _, p := range row.Panels {
				fmt.Fprintf(&b, "%s %s, %v against %s %v: %+v\n", f.Title, p.Y.Label, p.Y.Scale, p.X.Label, p.X.Scale, p.Layers)
			}
		}
	}
	dump("runs", comparisonTable([]string{"x/a/", "b", "c", "d", "e"}, runs))
	dump("run", metricTable(runs[1]))
	dump("run without", metricTable(&runSummary{Evaluation: measure.Evaluation{Samples: 1, Metrics: []measure.Metric{{Name: "a", Error: 1, Quantile: 0.5}}}}))
	dump("diagnosis", pageTable("Diagnosis", diagnosisTable(runs[0].Diagnosis)))
	golden(t, "pages.txt", b.String())
}
