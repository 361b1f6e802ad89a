package cli

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/revgen/revgen/engine/catalogue"
	"github.com/revgen/revgen/engine/diagnose"
	"github.com/revgen/revgen/engine/measure"
	"github.com/revgen/revgen/engine/run"
	"github.com/revgen/revgen/internal/batch"
	"github.com/revgen/revgen/internal/conf"
	"github.com/revgen/revgen/internal/disk"
	"github.com/revgen/revgen/internal/page"
	"github.com/revgen/revgen/internal/report"
)

func (p *program) reportCommand() *cobra.Command {
	var output string
	var asCSV bool
	cmd := &cobra.Command{
		Use:   "report DIR…",
		Short: "Write a page about a run, about several, or about a batch",
		Long: `Write a page that needs no other file, no network and no scripts: of a run
directory report.html, with the verdict of its diagnosis, what was measured, its
pictures, its recipe and the command that repeats it; of several run directories a
comparison; of the directory of a batch its jobs. train leaves the first by itself.

With --csv write what was measured as a table instead, one row a metric of a run.`,
		Example: `  revgen report runs/ising-quick-seed1
  revgen report cold warm -o comparison.html
  revgen report runs/jobs --csv -o jobs.csv`,
		Args: usageArgs(cobra.MinimumNArgs(1)),
		RunE: func(_ *cobra.Command, args []string) error {
			if asCSV {
				return p.reportCSV(args, output)
			}
			return p.reportPage(args, output)
		},
	}
	cmd.Flags().StringVarP(&output, "output", "o", "", "`file` to write, - for stdout (default report.html in the directory if there is one, report.html here for several; --csv: stdout)")
	cmd.Flags().BoolVar(&asCSV, "csv", false, "write a table of metrics as CSV")
	return cmd
}

// A summarised run is what summary.json says.
type summarised struct {
	System    string           `json:"system"`
	Target    string           `json:"target"`
	Preset    string           `json:"preset"`
	Seed      uint64           `json:"seed"`
	Steps     int              `json:"steps"`
	Seconds   float64          `json:"seconds"`
	Threads   int              `json:"threads"`
	Path      string           `json:"path"`
	Training  []string         `json:"training_warnings"`
	Diagnosis *diagnose.Report `json:"diagnosis"`
	Metrics   []measure.Metric `json:"metrics"`
	Weights   *measure.Weights `json:"weights"`
	Samples   int              `json:"samples"`
	Warnings  []string         `json:"warnings"`
	run.Provenance
}

// readRun reads summary.json of a run directory, and diagnosis.json, which saw
// more, if it is of the same model.
func readRun(dir string) (*summarised, error) {
	path := filepath.Join(dir, "summary.json")
	data, err := disk.Read(path, maxSummary)
	if errors.Is(err, fs.ErrNotExist) {
		if _, err := os.Stat(filepath.Join(dir, "results.ndjson")); err == nil {
			return nil, usagef("%s: is a batch, which has a page of its own: revgen report %s; name its runs to compare them", dir, quoteShell(dir))
		}
		return nil, usagef("%s: holds neither a finished run (summary.json) nor a batch (results.ndjson)", dir)
	}
	if err != nil {
		return nil, err
	}
	s := new(summarised)
	if err := json.Unmarshal(data, s); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	model, err := run.ReadModel(dir)
	if err != nil {
		return nil, err
	}
	full, err := readDiagnosis(dir, model)
	if full != nil {
		s.Diagnosis = full
	}
	return s, err
}

// leaveReport writes report.html of a run directory.
func (p *program) leaveReport(dir string) error {
	return p.writePage([]string{dir}, filepath.Join(dir, "report.html"))
}

func (p *program) reportPage(dirs []string, output string) error {
	if output == "" {
		output = "report.html"
		if len(dirs) == 1 {
			output = filepath.Join(dirs[0], output)
		}
	}
	if output != "-" && filepath.Ext(output) != ".html" && filepath.Ext(output) != ".htm" {
		return usagef("-o: %s: a page is HTML; write NAME.html, or add --csv", output)
	}
	if err := p.apart(dirs, output); err != nil {
		return err
	}
	if err := p.writePage(dirs, output); err != nil {
		return err
	}
	if output != "-" {
		p.say("report: %s", output)
	}
	return nil
}

// writePage writes the page of directories.
func (p *program) writePage(dirs []string, output string) error {
	pg := page.Page{Title: "Comparison", Version: programName()}
	if results, err := readBatch(dirs[0]); len(dirs) == 1 && err == nil {
		pg.Title = "Batch " + filepath.Base(dirs[0])
		pg.Table, pg.Lead = jobTable(results)
		return p.putPage(&pg, output)
	}
	var all []*summarised
	for _, dir := range dirs {
		s, err := readRun(dir)
		if err != nil {
			return err
		}
		run, err := p.describeRun(dir, s)
		if err != nil {
			return err
		}
		all, pg.Runs = append(all, s), append(pg.Runs, *run)
	}
	if len(all) == 1 {
		s := all[0]
		pg.Title = fmt.Sprintf("%s, %s preset, seed %d", s.System, s.Preset, s.Seed)
		pg.Version = strings.Join([]string{s.Program, s.Machine, s.Platform, s.Date}, " · ")
	} else {
		pg.Table = comparison(dirs, all)
	}
	return p.putPage(&pg, output)
}

func (p *program) putPage(pg *page.Page, output string) error {
	var b bytes.Buffer
	if err := pg.Write(&b); err != nil {
		return err
	}
	return p.put(b.Bytes(), output)
}

// put writes a file, or to stdout.
func (p *program) put(data []byte, output string) error {
	if output == "-" {
		_, err := p.stdout.Write(data)
		return err
	}
	return disk.Write(output, data)
}

// describeRun makes the page's part of one run.
func (p *program) describeRun(dir string, s *summarised) (*page.Run, error) {
	config, err := disk.Read(filepath.Join(dir, "config.json"), maxConfig)
	if err != nil {
		return nil, err
	}
	run := &page.Run{Name: filepath.Clean(dir), Target: s.Target, Config: string(config), Warnings: append(s.Training, s.Warnings...),
		Command: fmt.Sprintf("revgen train %s -o again", quoteShell(filepath.Join(dir, "config.json")))}
	if d := s.Diagnosis; d != nil {
		run.Verdict, run.Sentence, run.Seen = string(d.Verdict), d.Sentence, seenTable(d)
	}
	if len(s.Metrics) > 0 {
		run.Metrics = metricTable(s)
	}
	if run.Recipe, err = p.recipe(config, dir); err != nil {
		return nil, err
	}
	run.Facts = [][2]string{
		{"steps", strconv.Itoa(s.Steps)},
		{"training time", fmt.Sprintf("%.3g s on %s", s.Seconds, plural(s.Threads, "thread"))},
	}
	if s.Seconds > 0 && s.Steps > 0 {
		run.Facts = append(run.Facts, [2]string{"throughput", quantity(float64(s.Steps)/s.Seconds) + " steps/s"})
	}
	run.Facts = append(run.Facts, [2]string{"kernel path", s.Path})
	run.Pictures, err = readPictures(filepath.Join(dir, "figures"))
	return run, err
}

// recipe is what the run's preset chooses for its target, and why.
func (p *program) recipe(config []byte, dir string) (string, error) {
	cfg, err := run.Written(p.systems, config, filepath.Join(dir, "config.json"))
	if err != nil {
		return "", err
	}
	values, err := conf.Assignments(cfg)
	if err != nil {
		return "", err
	}
	shared, why := cfg.Shared(), run.ReadLook(dir).Why
	if why == "" {
		values = slices.DeleteFunc(values, func(v string) bool { return !strings.HasPrefix(v, "target.") })
		looks := false
		if _, why, looks, err = p.systems.Given(catalogue.Source{System: shared.System, Preset: shared.Preset, Set: values}); looks {
			return fmt.Sprintf("The %s preset looked at this target; what it chose is in the configuration.", shared.Preset), nil
		}
	}
	if err != nil || why == "" {
		return fmt.Sprintf("The %s preset as it stands, and what the configuration sets.", shared.Preset), nil
	}
	return fmt.Sprintf("The %s preset chooses for this target: %s.", shared.Preset, strings.TrimSuffix(why, ".")), nil
}

// readPictures reads the SVG files of a folder, the pictures of the system before
// those of the training; none if there is no folder.
func readPictures(dir string) (all []page.Picture, err error) {
	entries, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	var last []page.Picture
	for _, e := range entries {
		name, ok := strings.CutSuffix(e.Name(), ".svg")
		if !ok {
			continue
		}
		data, err := disk.Read(filepath.Join(dir, e.Name()), maxReport)
		if err != nil {
			return nil, err
		}
		if name == "training" {
			last = append(last, page.Picture{Name: name, SVG: data})
			continue
		}
		all = append(all, page.Picture{Name: name, SVG: data})
	}
	return append(all, last...), err
}

// metricTable is the table of train.
func metricTable(s *summarised) *page.Table {
	t := &page.Table{Caption: fmt.Sprintf("%d samples. The sampling floor is the error that as many exact samples would show on average; green errors are within what 95 %% of such samples show.", s.Samples),
		Header: []string{"metric", "exact", "generated", "error", "95 % interval", "sampling floor"}, Left: 1}
	reweighted := reweightedTitle(&measure.Evaluation{Metrics: s.Metrics, Weights: s.Weights})
	if reweighted != "" {
		t.Header = append(t.Header, reweighted, "error")
		t.Caption += " By weights: means by the importance weights of the generator's density, ± half the 95 % interval."
	}
	for _, m := range s.Metrics {
		row := page.Cells(report.Label(m.Name), exact(m), report.Value(m.Generated, m.Interval), report.Deviation(m.Error, m.Relative),
			"["+report.Value(m.Interval[0], m.Interval)+", "+report.Value(m.Interval[1], m.Interval)+"]", report.Deviation(m.Floor, m.Relative))
		if m.Quantile > 0 && m.Error <= m.Quantile {
			row[3].Mark = "good"
		}
		if reweighted != "" {
			row = append(row, page.Cells(byWeights(m)...)...)
		}
		t.Rows = append(t.Rows, row)
	}
	return t
}

// seenTable is the table of diagnose.
func seenTable(d *diagnose.Report) *page.Table {
	t := &page.Table{Caption: fmt.Sprintf("How averages of %d samples move under %d Metropolis steps.", d.Samples, d.Steps),
		Header: []string{"observable", "as drawn", "deviation", "drift", "± 95 %", "ends after", "memory"}, Left: 1}
	weighted := d.Weights != nil && d.Weights.Trusted()
	if weighted {
		t.Header = append(t.Header, "by weights", "off by")
	}
	for _, o := range d.Observables {
		row := page.Cells(report.Label(o.Name), digits(o.Mean), digits(o.Deviation), "–", "–", "–", fmt.Sprintf("%.2f", o.Memory))
		if n := len(o.Drift); n > 0 {
			row[3].Text, row[4].Text = digits(o.Drift[n-1].Change), digits(1.96*o.Drift[n-1].StandardError)
		}
		if o.Settled >= 0 {
			row[5].Text = strconv.Itoa(o.Settled)
		}
		if weighted && o.Weighted != nil {
			row = append(row, page.Cells(byObservable(o)...)...)
		}
		t.Rows = append(t.Rows, row)
	}
	return t
}

// comparison has a column for each run.
func comparison(dirs []string, all []*summarised) *page.Table {
	t := &page.Table{Caption: "Errors; in brackets the sampling floor.", Header: []string{""}, Left: 1}
	add := func(name string, value func(*summarised) page.Cell) {
		row := page.Cells(name)
		for _, s := range all {
			row = append(row, value(s))
		}
		t.Rows = append(t.Rows, row)
	}
	for _, dir := range dirs {
		t.Header = append(t.Header, filepath.Base(filepath.Clean(dir)))
	}
	add("verdict", (*summarised).verdict)
	for _, name := range metricNames(all) {
		add(report.Label(name), func(s *summarised) page.Cell { return s.error(name, true) })
	}
	add("training time", func(s *summarised) page.Cell { return page.Cell{Text: fmt.Sprintf("%.3g s", s.Seconds)} })
	return t
}

// metricNames lists the metrics that any of the runs has.
func metricNames(all []*summarised) (names []string) {
	for _, s := range all {
		for _, m := range s.Metrics {
			if !slices.Contains(names, m.Name) {
				names = append(names, m.Name)
			}
		}
	}
	return names
}

// verdict is that of the diagnosis.
func (s *summarised) verdict() page.Cell {
	if s.Diagnosis == nil {
		return page.Cell{Text: "–"}
	}
	marks := map[diagnose.Verdict]string{diagnose.Trustworthy: "good", diagnose.Refine: "amber", diagnose.Wrong: "bad"}
	return page.Cell{Text: string(s.Diagnosis.Verdict), Mark: marks[s.Diagnosis.Verdict]}
}

// error is that of a metric, marked if exact samples have such, with its floor in
// brackets if that is asked for.
func (s *summarised) error(name string, floor bool) page.Cell {
	for _, m := range s.Metrics {
		if m.Name != name {
			continue
		}
		c := page.Cell{Text: report.Deviation(m.Error, m.Relative)}
		if floor && m.Floor > 0 {
			c.Text += " (" + report.Deviation(m.Floor, m.Relative) + ")"
		}
		if m.Quantile > 0 && m.Error <= m.Quantile {
			c.Mark = "good"
		}
		return c
	}
	return page.Cell{Text: "–"}
}

// readBatch reads what a batch left.
func readBatch(dir string) (all []batch.Record, err error) {
	data, err := disk.Read(filepath.Join(dir, "results.ndjson"), maxReport)
	if err != nil {
		return nil, err
	}
	for decoder := json.NewDecoder(bytes.NewReader(data)); ; {
		var r batch.Record
		if err := decoder.Decode(&r); errors.Is(err, io.EOF) {
			return all, nil
		} else if err != nil {
			return nil, fmt.Errorf("%s: %w", filepath.Join(dir, "results.ndjson"), err)
		}
		all = append(all, r)
	}
}

// mostBatchMetrics are columns that a page has room for beside what jobs are; --csv
// has all.
const mostBatchMetrics = 6

// jobTable lists jobs, and counts them by how they ended.
func jobTable(all []batch.Record) (t *page.Table, counts string) {
	runs := make([]*summarised, len(all)) // of jobs that trained
	failed, refused := 0, 0
	for i, r := range all {
		runs[i] = new(summarised)
		if r.Verb == "train" && r.Exit == exitOK && json.Unmarshal(r.Result, runs[i]) != nil {
			runs[i] = new(summarised)
		}
	}
	names := metricNames(runs)
	names = names[:min(len(names), mostBatchMetrics)]
	t = &page.Table{Header: []string{"job", "verb", "outcome", "verdict", "time"}, Left: 4}
	if len(names) > 0 {
		t.Caption = "Errors; green ones are within what 95 % of as many exact samples show."
	}
	for _, name := range names {
		t.Header = append(t.Header, report.Label(name))
	}
	for i, r := range all {
		outcome := page.Cell{Text: "done"}
		switch {
		case r.Exit == exitCheck:
			refused++
			outcome = page.Cell{Text: "a check failed", Mark: "bad"}
		case r.Exit != exitOK:
			failed++
			outcome = page.Cell{Text: fmt.Sprintf("failed (%d): %s", r.Exit, r.Error), Mark: "bad"}
		}
		row := append(page.Cells(r.ID, r.Verb), outcome, runs[i].verdict(), page.Cell{Text: fmt.Sprintf("%.1f s", r.Seconds)})
		for _, name := range names {
			row = append(row, runs[i].error(name, false))
		}
		t.Rows = append(t.Rows, row)
	}
	counts = fmt.Sprintf("%d jobs: %d done", len(all), len(all)-failed-refused)
	if refused > 0 {
		counts += fmt.Sprintf(", %d with checks that failed", refused)
	}
	if failed > 0 {
		counts += fmt.Sprintf(", %d failed", failed)
	}
	return t, counts
}

// reportCSV writes one row for each metric of each run, or of each run of a batch.
func (p *program) reportCSV(dirs []string, output string) error {
	if output == "" {
		output = "-"
	}
	if output != "-" && filepath.Ext(output) != ".csv" {
		return usagef("-o: %s: --csv writes NAME.csv", output)
	}
	if err := p.apart(dirs, output); err != nil {
		return err
	}
	var b bytes.Buffer
	w := csv.NewWriter(&b)
	row := func(cells ...string) { _ = w.Write(cells) } // the buffer takes all
	row("run", "system", "preset", "seed", "point", "verdict", "metric", "exact", "generated", "error", "relative", "low", "high", "floor", "seconds")
	number := func(x float64) string { return strconv.FormatFloat(x, 'g', -1, 64) }
	add := func(name, point string, s *summarised) {
		verdict := ""
		if s.Diagnosis != nil {
			verdict = string(s.Diagnosis.Verdict)
		}
		for _, m := range s.Metrics {
			row(report.Plain(name), report.Plain(s.System), report.Plain(s.Preset), strconv.FormatUint(s.Seed, 10), report.Plain(point), report.Plain(verdict), report.Plain(m.Name), number(m.Exact), number(m.Generated), number(m.Error),
				strconv.FormatBool(m.Relative), number(m.Interval[0]), number(m.Interval[1]), number(m.Floor), number(s.Seconds))
		}
	}
	for _, dir := range dirs {
		if results, err := readBatch(dir); err == nil {
			for _, r := range results {
				var s summarised
				if r.Verb == "train" && r.Exit == exitOK && json.Unmarshal(r.Result, &s) == nil {
					add(r.Out, string(r.Point), &s)
				}
			}
			continue
		}
		s, err := readRun(dir)
		if err != nil {
			return err
		}
		add(dir, "", s)
	}
	w.Flush()
	return p.put(b.Bytes(), output)
}

// plural writes a number of things.
func plural(n int, thing string) string {
	if n == 1 {
		return "1 " + thing
	}
	return fmt.Sprintf("%d %ss", n, thing)
}

// quoteShell writes a path as a shell's word.
func quoteShell(path string) string {
	if path != "" && strings.Trim(path, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789/._-=,+") == "" {
		return path
	}
	return "'" + strings.ReplaceAll(path, "'", `'\''`) + "'"
}
