package cli

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"gonum.org/v1/gonum/floats"

	"github.com/revgen/revgen/engine/diagnose"
	"github.com/revgen/revgen/engine/measure"
	"github.com/revgen/revgen/internal/batch"
	"github.com/revgen/revgen/internal/disk"
	"github.com/revgen/revgen/internal/figure"
	"github.com/revgen/revgen/internal/figure/draw"
	"github.com/revgen/revgen/internal/htmlpage"
	"github.com/revgen/revgen/internal/lists"
	"github.com/revgen/revgen/internal/number"
	"github.com/revgen/revgen/internal/report"
	"github.com/revgen/revgen/internal/stat"
)

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

// maxBatchMetrics is how many metrics a page has room for beside a job's values; --csv has all.
const maxBatchMetrics = 6

// A batchReport has what a page shows of a batch.
type batchReport struct {
	records []batch.Record
	runs    []*runSummary  // by record; empty where a job did not train
	columns []batch.Column // values by which jobs differ
	metrics []string       // names
}

// describeBatch fills the page of a batch: how its jobs ended, tables of the jobs that failed, that
// were warned and that are done, and figures of the metrics against each value that differs.
func describeBatch(pg *htmlpage.Page, records []batch.Record) (err error) {
	b := &batchReport{records: records, runs: make([]*runSummary, len(records))}
	if b.columns, err = batch.Varied(records); err != nil {
		return err
	}
	for i, r := range records {
		b.runs[i] = new(runSummary)
		if r.Verb == "train" && r.Exit == exitOK && json.Unmarshal(r.Result, b.runs[i]) != nil {
			b.runs[i] = new(runSummary)
		}
	}
	b.metrics = metricNames(b.runs)
	if at := slices.Index(b.metrics, essName); at > 0 { // first, since it says most in one number
		b.metrics = slices.Insert(slices.Delete(b.metrics, at, at+1), 0, essName)
	}
	pg.Lead, pg.Facts = b.summary()
	var failed, done []int
	for i, r := range records {
		if r.Exit == exitOK {
			done = append(done, i)
		} else {
			failed = append(failed, i)
		}
	}
	pg.FailedJobs = b.reasonTable("Failed", "bad", failed, b.failure)
	pg.WarnedJobs = b.reasonTable("Warned", "words", slices.DeleteFunc(slices.Clone(done), func(i int) bool { return !b.hasWarnings(i) }), b.warning)
	if len(done) > 0 {
		pg.Table = b.doneTable(done)
	}
	for _, f := range b.figures() {
		var svg bytes.Buffer
		if err := draw.SVG(&svg, &f); err != nil {
			return err
		}
		p := htmlpage.Picture{SVG: svg.Bytes()}
		readTitle(&p)
		pg.Pictures = append(pg.Pictures, p)
	}
	return nil
}

// hasWarnings reports whether a job, or the run that it made, has warnings.
func (b *batchReport) hasWarnings(i int) bool {
	s := b.runs[i]
	return len(b.records[i].Warnings)+len(s.Summary.Warnings)+len(s.Evaluation.Warnings) > 0
}

// summary says in a sentence how the jobs ended, and lists their diagnoses and times.
func (b *batchReport) summary() (counts string, facts [][2]string) {
	var failed, refused, warned int
	var seconds []float64
	verdicts := make(map[diagnose.Verdict]int)
	longest := 0
	for i, r := range b.records {
		switch {
		case r.Exit == exitCheck:
			refused++
		case r.Exit != exitOK:
			failed++
		case b.hasWarnings(i):
			warned++
		}
		if d := b.runs[i].Diagnosis; d != nil {
			verdicts[d.Verdict]++
		}
		if seconds = append(seconds, r.Seconds); r.Seconds > seconds[longest] {
			longest = i
		}
	}
	counts = fmt.Sprintf("%s: %d done, %d failed", number.Count(len(b.records), "job"), len(b.records)-failed-refused, failed)
	if refused > 0 {
		counts += fmt.Sprintf(", %d with failed checks", refused)
	}
	counts += fmt.Sprintf(", %d with warnings", warned)
	var parts []string
	for _, v := range []diagnose.Verdict{diagnose.Trustworthy, diagnose.Refine, diagnose.Unknown, diagnose.Wrong} {
		if n := verdicts[v]; n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", n, v))
		}
	}
	if len(parts) > 0 {
		facts = append(facts, [2]string{"diagnoses", strings.Join(parts, ", ")})
	}
	if len(seconds) > 0 {
		facts = append(facts, [2]string{"time of all jobs", report.Seconds(floats.Sum(seconds))},
			[2]string{"time of a job", fmt.Sprintf("median %s, longest %s (%s)", report.Seconds(stat.Median(seconds)), report.Seconds(seconds[longest]), b.records[longest].ID)})
	}
	return counts, facts
}

// values returns a job's values of the columns.
func (b *batchReport) values(i int) []htmlpage.Cell {
	return lists.Map(b.columns, func(c batch.Column) htmlpage.Cell { return htmlpage.Cell{Text: c.Texts[i]} })
}

func (b *batchReport) keys() []string {
	return lists.Map(b.columns, func(c batch.Column) string { return c.Key })
}

// reasonTable lists jobs with a reason, marked, and their values. It returns nil for no jobs.
func (b *batchReport) reasonTable(title, mark string, jobs []int, reason func(int) string) *htmlpage.Table {
	if len(jobs) == 0 {
		return nil
	}
	t := &htmlpage.Table{Title: title, Header: append([]string{"job", "reason"}, b.keys()...)}
	t.Left = len(t.Header)
	for _, i := range jobs {
		t.Rows = append(t.Rows, append([]htmlpage.Cell{{Text: b.records[i].ID}, {Text: reason(i), Mark: mark}}, b.values(i)...))
	}
	return t
}

func (b *batchReport) failure(i int) string {
	r := b.records[i]
	if r.Exit == exitCheck {
		return "a check failed"
	}
	return fmt.Sprintf("exit code %d: %s", r.Exit, r.Error)
}

// warning returns the first of a job's warnings, and how many more there are.
func (b *batchReport) warning(i int) string {
	warnings := slices.Concat(b.records[i].Warnings, b.runs[i].Summary.Warnings, b.runs[i].Evaluation.Warnings)
	slices.Sort(warnings)
	if warnings = slices.Compact(warnings); len(warnings) > 1 {
		return fmt.Sprintf("%s (and %d more)", warnings[0], len(warnings)-1)
	}
	return warnings[0]
}

// doneTable lists jobs that succeeded, in descending order of severity.
func (b *batchReport) doneTable(jobs []int) *htmlpage.Table {
	names := b.metrics[:min(len(b.metrics), maxBatchMetrics)]
	t := &htmlpage.Table{Title: "Done", Header: append([]string{"job"}, b.keys()...)}
	trained := slices.ContainsFunc(b.runs, func(s *runSummary) bool { return s.System != "" })
	if trained {
		t.Header = append(t.Header, "verdict")
	}
	t.Left = len(t.Header)
	t.Header = append(t.Header, "time")
	if len(names) > 0 {
		t.Caption = "Errors; the effective sample size is given by its value, which is 1 at best. A green error is below the 95 % quantile of the errors of as many exact samples."
		if len(names) < len(b.metrics) {
			t.Caption += fmt.Sprintf(" revgen report --csv has all %d metrics.", len(b.metrics))
		}
	}
	t.Header = append(t.Header, lists.Map(names, report.Label)...)
	slices.SortStableFunc(jobs, func(i, j int) int { return cmp.Compare(b.severity(j), b.severity(i)) })
	for _, i := range jobs {
		s := b.runs[i]
		row := append(htmlpage.Cells(b.records[i].ID), b.values(i)...)
		if trained {
			row = append(row, s.verdictCell())
		}
		row = append(row, htmlpage.Cell{Text: report.Seconds(b.records[i].Seconds)})
		for _, name := range names {
			cell := s.errorCell(name, false)
			if m := s.metric(name); m != nil && name == essName {
				cell.Text = report.Value(m.Generated, m.Interval)
			}
			row = append(row, cell)
		}
		t.Rows = append(t.Rows, row)
	}
	return t
}

// severity orders jobs by their verdicts: the worst has the largest.
func (b *batchReport) severity(i int) int {
	if d := b.runs[i].Diagnosis; d != nil {
		return map[diagnose.Verdict]int{diagnose.Wrong: 3, diagnose.Unknown: 2, diagnose.Refine: 1}[d.Verdict]
	}
	return 0
}

const (
	maxFigures     = 4   // one for each value that differs
	maxErrorPanels = 5   // of a figure, beside that of the effective size
	maxBins        = 200 // along an axis
)

// essName is the metric of which the value is shown, and not the error.
const essName = "effective_sample_size"

// figures returns, for each numerical value that differs between jobs, a figure of the effective
// size, the errors and the sampling floors against it.
func (b *batchReport) figures() (figures []figure.Figure) {
	names := slices.DeleteFunc(slices.Clone(b.metrics), func(name string) bool { return name == essName })
	names = names[:min(len(names), maxErrorPanels)]
	for _, c := range b.columns {
		bins := b.bins(c)
		if len(bins) < 2 || len(figures) == maxFigures {
			continue
		}
		f := figure.Figure{Name: "by " + c.Key, Title: "By " + c.Key}
		x := figure.Axis{Label: c.Key}
		if first, last := bins[0].x, bins[len(bins)-1].x; first > 0 && last > 30*first {
			x.Scale = figure.Log
		}
		var panels []figure.Panel
		if slices.Contains(b.metrics, essName) {
			panels = append(panels, figure.Panel{X: x, Y: figure.Axis{Label: "effective sample size", Max: 1.05}, Layers: b.curves(bins, essName, func(m measure.Metric) float64 { return m.Generated }, nil)})
		}
		for _, name := range names {
			label := report.Label(name)
			if m := b.findMetric(name); m != nil && m.Relative {
				label += ", relative"
			}
			panels = append(panels, figure.Panel{X: x, Y: figure.Axis{Label: "error of " + label, Scale: figure.Log},
				Layers: b.curves(bins, name, func(m measure.Metric) float64 { return m.Error }, func(m measure.Metric) float64 { return m.Floor })})
		}
		for pair := range slices.Chunk(panels, 2) {
			f.Rows = append(f.Rows, figure.Row{Panels: pair})
		}
		if len(panels) > 0 {
			figures = append(figures, f)
		}
	}
	return figures
}

// A bin has the jobs of one value on an axis, or of neighbouring values where there are many.
type bin struct {
	x    float64
	jobs []int
}

// bins orders the jobs that have metrics and a value in a column by that value. It returns none if
// a value is not a number.
func (b *batchReport) bins(c batch.Column) (bins []bin) {
	for i, text := range c.Texts {
		if len(b.runs[i].Metrics) == 0 || text == "" {
			continue
		}
		x, err := strconv.ParseFloat(text, 64)
		if err != nil || !number.Finite(x) {
			return nil
		}
		bins = append(bins, bin{x, []int{i}})
	}
	slices.SortStableFunc(bins, func(p, q bin) int { return cmp.Compare(p.x, q.x) })
	merge := func(same func(p, q bin) bool) {
		merged := bins[:0]
		for _, p := range bins {
			if n := len(merged); n > 0 && same(merged[n-1], p) {
				merged[n-1].jobs = append(merged[n-1].jobs, p.jobs...)
				continue
			}
			merged = append(merged, p)
		}
		bins = merged
	}
	merge(func(p, q bin) bool { return p.x == q.x })
	if n := len(bins); n > maxBins {
		width := (bins[n-1].x - bins[0].x) / maxBins
		merge(func(p, q bin) bool { return q.x-p.x < width })
	}
	return bins
}

// curves returns the layers of a metric: the median of each bin with the range of its jobs, and the
// median of the floors.
func (b *batchReport) curves(bins []bin, name string, value, floor func(measure.Metric) float64) []figure.Layer {
	points := figure.Layer{Mark: figure.Points, Role: figure.Generated, Label: "jobs: median, least to largest"}
	line := figure.Layer{Mark: figure.Line, Role: figure.Reference, Label: "sampling floor"}
	for _, p := range bins {
		var values, floors []float64
		for _, i := range p.jobs {
			if m := b.runs[i].metric(name); m != nil && number.Finite(value(*m)) {
				values = append(values, value(*m))
				if floor != nil && number.Finite(floor(*m)) {
					floors = append(floors, floor(*m))
				}
			}
		}
		if len(values) == 0 {
			continue
		}
		points.X, points.Y = append(points.X, p.x), append(points.Y, stat.Median(values))
		points.Low, points.High = append(points.Low, slices.Min(values)), append(points.High, slices.Max(values))
		if y := stat.Median(floors); y > 0 {
			line.X, line.Y = append(line.X, p.x), append(line.Y, y)
		}
	}
	layers := []figure.Layer{points}
	if len(line.X) > 0 {
		layers = append(layers, line)
	}
	if floor == nil {
		layers = append(layers, figure.Layer{Mark: figure.Level, Role: figure.Reference, Label: "exact samples", Y: []float64{1}})
	}
	return layers
}

// findMetric returns a metric of the first run that has it, nil if none does.
func (b *batchReport) findMetric(name string) *measure.Metric {
	for _, s := range b.runs {
		if m := s.metric(name); m != nil {
			return m
		}
	}
	return nil
}
