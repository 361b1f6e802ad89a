package cli

import (
	"bytes"
	"cmp"
	"encoding/csv"
	"encoding/json"
	"encoding/xml"
	"errors"
	"fmt"
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
	"github.com/revgen/revgen/internal/htmlpage"
	"github.com/revgen/revgen/internal/lists"
	"github.com/revgen/revgen/internal/number"
	"github.com/revgen/revgen/internal/report"
)

func (p *program) reportCommand() *cobra.Command {
	var output string
	var asCSV bool
	cmd := &cobra.Command{
		Use:   "report DIR…",
		Short: "Write a report page about a run, several runs or a batch",
		Long: `Write an HTML page that needs no other file, no network and no scripts. For one run
directory it has the verdict of the diagnosis, the measured table, the figures, the
recipe and the command that repeats the run (train writes this page by itself). For
several run directories it is a comparison, for the directory of a batch a list of its
jobs.

With --csv, write the measured values as a table instead, one row per metric and run.`,
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

// A runSummary is the content of summary.json.
type runSummary struct {
	run.Summary
	measure.Evaluation
	Diagnosis *diagnose.Report `json:"diagnosis"`
}

// readRun reads summary.json of a run directory. The diagnosis in diagnosis.json, which has more
// samples, takes the place of the brief one if it is of the same model.
func readRun(dir string) (*runSummary, error) {
	s, err := readJSON[runSummary](dir, "summary.json", maxSummary)
	if s == nil && err == nil {
		if _, err := os.Stat(filepath.Join(dir, "results.ndjson")); err == nil {
			if _, err := readBatch(dir); err != nil {
				return nil, err
			}
			return nil, usagef("%s: is a batch, which has a page of its own: revgen report %s; name its runs to compare them", dir, quoteShell(dir))
		}
		return nil, usagef("%s: holds neither a finished run (summary.json) nor a batch (results.ndjson)", dir)
	}
	if err != nil {
		return nil, err
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
	if err := p.checkApart(dirs, output); err != nil {
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

func (p *program) writePage(dirs []string, output string) error {
	pg := htmlpage.Page{Title: "Comparison", Version: programName()}
	if results, err := readBatch(dirs[0]); len(dirs) == 1 && err == nil {
		pg.Title = "Batch " + filepath.Base(dirs[0])
		if err := describeBatch(&pg, results); err != nil {
			return err
		}
		return p.renderPage(&pg, output)
	}
	var runs []*runSummary
	for _, dir := range dirs {
		s, err := readRun(dir)
		if err != nil {
			return err
		}
		run, err := p.describeRun(dir, s)
		if err != nil {
			return err
		}
		runs, pg.Runs = append(runs, s), append(pg.Runs, *run)
	}
	if len(runs) == 1 {
		s := runs[0]
		pg.Title = fmt.Sprintf("%s, %s preset, seed %d", s.System, s.Preset, s.Seed)
		pg.Version = strings.Join([]string{s.Program, s.Machine, s.Platform, s.Date}, " · ")
	} else {
		pg.Table = comparisonTable(dirs, runs)
	}
	return p.renderPage(&pg, output)
}

func (p *program) renderPage(pg *htmlpage.Page, output string) error {
	var b bytes.Buffer
	if err := pg.Write(&b); err != nil {
		return err
	}
	return p.writeBytes(b.Bytes(), output)
}

func (p *program) writeBytes(data []byte, output string) error {
	if output == "-" {
		_, err := p.stdout.Write(data)
		return err
	}
	return disk.Write(output, data)
}

func (p *program) describeRun(dir string, s *runSummary) (*htmlpage.Run, error) {
	config, err := disk.Read(filepath.Join(dir, "config.json"), maxConfig)
	if err != nil {
		return nil, err
	}
	run := &htmlpage.Run{Name: filepath.Clean(dir), Target: s.Target, Config: string(config), Warnings: append(s.Summary.Warnings, s.Evaluation.Warnings...),
		Command: fmt.Sprintf("revgen train %s -o again", quoteShell(filepath.Join(dir, "config.json")))}
	if d := s.Diagnosis; d != nil {
		run.Verdict, run.Sentence, run.Diagnosis = string(d.Verdict), d.Sentence, pageTable("Diagnosis", diagnosisTable(d))
		run.Diagnosis.Caption = fmt.Sprintf("Averages of %s, before and after %s; %s.", number.Count(d.Samples, "sample"), number.Count(d.Steps, "Metropolis step"), diagnosisLegend)
	}
	if len(s.Metrics) > 0 {
		run.Metrics = metricTable(s)
	}
	if run.Recipe, err = p.recipe(config, dir); err != nil {
		return nil, err
	}
	run.Facts = [][2]string{
		{"steps", strconv.Itoa(s.Steps)},
		{"training time", fmt.Sprintf("%.3g s on %s", s.Seconds, number.Count(s.Threads, "thread"))},
	}
	if s.Seconds > 0 && s.Steps > 0 {
		run.Facts = append(run.Facts, [2]string{"throughput", quantity(float64(s.Steps)/s.Seconds) + " steps/s"})
	}
	if s.Evaluations != nil {
		run.Facts = append(run.Facts, [2]string{"evaluations of ln π", evaluationsText(s.Evaluations)})
	}
	run.Facts = append(run.Facts, [2]string{"kernel path", s.Path})
	run.Pictures, err = readPictures(filepath.Join(dir, "figures"))
	return run, err
}

// recipe says in a sentence what the run's preset chose for its target, and why.
func (p *program) recipe(config []byte, dir string) (string, error) {
	cfg, err := run.DecodeConfig(p.systems, config, filepath.Join(dir, "config.json"))
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
			return fmt.Sprintf("The %s preset took a first look at this target. The configuration below holds its choices.", shared.Preset), nil
		}
	}
	if err != nil || why == "" {
		return fmt.Sprintf("The %s preset, with the settings of the configuration below.", shared.Preset), nil
	}
	return fmt.Sprintf("The %s preset chose for this target: %s.", shared.Preset, strings.TrimSuffix(why, ".")), nil
}

// readPictures reads the SVG files of a directory, the system's before that of the training. It
// returns none if there is no directory.
func readPictures(dir string) (pictures []htmlpage.Picture, err error) {
	entries, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	var training []htmlpage.Picture
	for _, e := range entries {
		name, ok := strings.CutSuffix(e.Name(), ".svg")
		if !ok || strings.HasSuffix(name, ".narrow") { // former versions wrote these for phones
			continue
		}
		p := htmlpage.Picture{Name: name}
		if p.SVG, err = disk.Read(filepath.Join(dir, e.Name()), maxReport); err != nil {
			return nil, err
		}
		readTitle(&p)
		if name == "training" {
			training = append(training, p)
			continue
		}
		pictures = append(pictures, p)
	}
	return append(pictures, training...), nil
}

// readTitle takes a picture's name and description from its document.
func readTitle(p *htmlpage.Picture) {
	var svg struct {
		Title       string `xml:"title"`
		Description string `xml:"desc"`
	}
	if xml.Unmarshal(p.SVG, &svg) == nil && svg.Title != "" {
		p.Name, p.Description = svg.Title, svg.Description
	}
}

// metricTable is the table of train, with a caption and marks.
func metricTable(s *runSummary) *htmlpage.Table {
	t := pageTable("Measured", evaluationTable(s.Preset, &measure.Evaluation{Metrics: s.Metrics, Weights: s.Weights}))
	t.Caption = fmt.Sprintf("Measured with %s. The sampling floor is the average error of as many exact samples. A green error is below the 95 %% quantile of the errors of exact samples.", number.Count(s.Samples, "sample"))
	if slices.ContainsFunc(s.Metrics, func(m measure.Metric) bool { return m.Paper != nil }) {
		t.Caption += " The column of the paper holds the errors that the paper reports."
	}
	if slices.ContainsFunc(s.Metrics, func(m measure.Metric) bool { return m.Reweighted != nil }) {
		t.Caption += " By weights: the mean computed with importance weights, ± half its 95 % interval."
	}
	for i, m := range s.Metrics {
		if m.Quantile > 0 && m.Error <= m.Quantile {
			t.Rows[i][3].Mark = "good"
		}
	}
	return t
}

// pageTable makes a page's table of a terminal's.
func pageTable(title string, t *report.Table) *htmlpage.Table {
	rows := lists.Map(t.Rows, func(row []string) []htmlpage.Cell { return htmlpage.Cells(row...) })
	return &htmlpage.Table{Title: title, Header: t.Header, Left: t.Left, Rows: rows}
}

// comparisonTable has a column for each run.
func comparisonTable(dirs []string, runs []*runSummary) *htmlpage.Table {
	t := &htmlpage.Table{Caption: "Errors, with the sampling floor in brackets. A green error is below the 95 % quantile of the errors of as many exact samples.", Header: []string{""}, Left: 1}
	add := func(name string, value func(*runSummary) htmlpage.Cell) {
		t.Rows = append(t.Rows, append(htmlpage.Cells(name), lists.Map(runs, value)...))
	}
	for _, dir := range dirs {
		t.Header = append(t.Header, filepath.Base(filepath.Clean(dir)))
	}
	add("verdict", (*runSummary).verdictCell)
	for _, name := range metricNames(runs) {
		add(report.Label(name), func(s *runSummary) htmlpage.Cell { return s.errorCell(name, true) })
	}
	add("training time", func(s *runSummary) htmlpage.Cell { return htmlpage.Cell{Text: fmt.Sprintf("%.3g s", s.Seconds)} })
	return t
}

// metricNames lists the metrics that any of the runs has.
func metricNames(runs []*runSummary) (names []string) {
	for _, s := range runs {
		for _, m := range s.Metrics {
			if !slices.Contains(names, m.Name) {
				names = append(names, m.Name)
			}
		}
	}
	return names
}

func (s *runSummary) verdictCell() htmlpage.Cell {
	if s.Diagnosis == nil {
		return htmlpage.Cell{Text: "–"}
	}
	marks := map[diagnose.Verdict]string{diagnose.Trustworthy: "good", diagnose.Refine: "amber", diagnose.Wrong: "bad"}
	return htmlpage.Cell{Text: string(s.Diagnosis.Verdict), Mark: marks[s.Diagnosis.Verdict]}
}

// errorCell has the error of a metric, marked if it is as small as those of exact samples, and the
// sampling floor in brackets if withFloor.
func (s *runSummary) errorCell(name string, withFloor bool) htmlpage.Cell {
	m := s.metric(name)
	if m == nil {
		return htmlpage.Cell{Text: "–"}
	}
	c := htmlpage.Cell{Text: report.Deviation(m.Error, m.Relative)}
	if withFloor && m.Floor > 0 {
		c.Text += " (" + report.Deviation(m.Floor, m.Relative) + ")"
	}
	if m.Quantile > 0 && m.Error <= m.Quantile {
		c.Mark = "good"
	}
	return c
}

// metric returns the metric of that name, nil if there is none.
func (s *runSummary) metric(name string) *measure.Metric {
	if i := slices.IndexFunc(s.Metrics, func(m measure.Metric) bool { return m.Name == name }); i >= 0 {
		return &s.Metrics[i]
	}
	return nil
}

// reportCSV writes one row for each metric of each run, or of each run of a batch.
func (p *program) reportCSV(dirs []string, output string) error {
	if output = cmp.Or(output, "-"); output != "-" && filepath.Ext(output) != ".csv" {
		return usagef("-o: %s: --csv writes NAME.csv", output)
	}
	if err := p.checkApart(dirs, output); err != nil {
		return err
	}
	type row struct {
		name   string
		run    *runSummary
		values map[string]string // by key, what the run's job sets; empty outside batches
	}
	var rows []row
	var keys []string
	for _, dir := range dirs {
		results, err := readBatch(dir)
		if err != nil {
			s, err := readRun(dir)
			if err != nil {
				return err
			}
			rows = append(rows, row{dir, s, nil})
			continue
		}
		columns, err := batch.Varied(results)
		if err != nil {
			return err
		}
		for i, r := range results {
			var s runSummary
			if r.Verb != "train" || r.Exit != exitOK || json.Unmarshal(r.Result, &s) != nil {
				continue
			}
			values := make(map[string]string)
			for _, c := range columns {
				values[c.Key] = c.Texts[i]
			}
			rows = append(rows, row{r.Out, &s, values})
		}
		for _, c := range columns {
			fixed := []string{"verb", "seed", "preset"} // all rows are of train, and have columns for seed and preset
			if !slices.Contains(fixed, c.Key) && !slices.Contains(keys, c.Key) {
				keys = append(keys, c.Key)
			}
		}
	}
	var b bytes.Buffer
	w := csv.NewWriter(&b)
	write := func(first []string, cells ...string) {
		_ = w.Write(append(slices.Concat(first), cells...)) // a buffer returns no error
	}
	format := func(x float64) string { return strconv.FormatFloat(x, 'g', -1, 64) }
	write(append([]string{"run", "system", "preset", "seed"}, keys...), "verdict", "metric", "exact", "generated", "error", "relative", "low", "high", "floor", "seconds")
	for _, r := range rows {
		s, verdict := r.run, ""
		first := []string{report.Plain(r.name), report.Plain(s.System), report.Plain(s.Preset), strconv.FormatUint(s.Seed, 10)}
		for _, key := range keys {
			first = append(first, csvValue(r.values[key]))
		}
		if s.Diagnosis != nil {
			verdict = string(s.Diagnosis.Verdict)
		}
		for _, m := range s.Metrics {
			write(first, report.Plain(verdict), report.Plain(m.Name), format(m.Exact), format(m.Generated), format(m.Error),
				strconv.FormatBool(m.Relative), format(m.Interval[0]), format(m.Interval[1]), format(m.Floor), format(s.Seconds))
		}
	}
	w.Flush()
	return p.writeBytes(b.Bytes(), output)
}

// csvValue writes a value so that no spreadsheet takes it for a formula. Numbers keep their sign.
func csvValue(text string) string {
	if _, err := strconv.ParseFloat(text, 64); err == nil {
		return text
	}
	return report.Plain(text)
}

// quoteShell quotes a path for a shell.
func quoteShell(path string) string {
	if path != "" && strings.Trim(path, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789/._-=,+") == "" {
		return path
	}
	return "'" + strings.ReplaceAll(path, "'", `'\''`) + "'"
}
