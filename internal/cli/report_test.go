package cli

import (
	"encoding/csv"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestReport(t *testing.T) {
	dir := t.TempDir()
	ok(t, dir, tiny("a", "--figures", "all", "--diagnose", "brief")...)
	ok(t, dir, tiny("it's b", "--seed", "2", "--figures", "none")...)
	text := content(t, dir, "a", "report.html")
	for _, want := range []string{`<th scope="col" class="number">paper</th>`, `<source media="(max-width: 36rem)" srcset="data:image/svg`, `alt="Drift of fresh samples. drift / standard deviation against Metropolis steps after generation from `} {
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
