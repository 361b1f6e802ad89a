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
	"github.com/revgen/revgen/internal/lists"
	"github.com/revgen/revgen/internal/number"
	"github.com/revgen/revgen/internal/page"
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

// mostBatchMetrics are columns that a page has room for beside what jobs are; --csv
// has all.
const mostBatchMetrics = 6

// A batchReport is what a page says of a batch.
type batchReport struct {
	records []batch.Record
	runs    []*summarised // by record; empty where a job did not train
	columns []batch.Column
	metrics []string
}

// describeBatch makes the page of a batch: how its jobs ended, those that failed, what was
// measured against each value that differs between them, and all of them.
func describeBatch(pg *page.Page, records []batch.Record) (err error) {
	b := &batchReport{records: records, runs: make([]*summarised, len(records))}
	if b.columns, err = batch.Varied(records); err != nil {
		return err
	}
	for i, r := range records {
		b.runs[i] = new(summarised)
		if r.Verb == "train" && r.Exit == exitOK && json.Unmarshal(r.Result, b.runs[i]) != nil {
			b.runs[i] = new(summarised)
		}
	}
	b.metrics = metricNames(b.runs)
	if at := slices.Index(b.metrics, essName); at > 0 { // which tells most, in one figure
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
	if len(failed) > 0 {
		pg.Failures = b.reasons("Failed", "bad", failed, b.failure)
	}
	if warned := slices.DeleteFunc(slices.Clone(done), func(i int) bool { return !b.warned(i) }); len(warned) > 0 {
		pg.Warned = b.reasons("Warned", "words", warned, b.warning)
	}
	if len(done) > 0 {
		pg.Table = b.jobs(done)
	}
	for _, f := range b.figures() {
		p := page.Picture{}
		var svg bytes.Buffer
		if err := draw.SVG(&svg, &f); err != nil {
			return err
		}
		p.SVG = svg.Bytes()
		readText(&p)
		pg.Pictures = append(pg.Pictures, p)
	}
	return nil
}

// warned reports whether a job ended well, but not without a word of caution.
func (b *batchReport) warned(i int) bool {
	s := b.runs[i]
	return len(b.records[i].Warnings)+len(s.Summary.Warnings)+len(s.Evaluation.Warnings) > 0
}

// summary says in a sentence how jobs ended, and what they took.
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
		case b.warned(i):
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

// values are those by which jobs differ.
func (b *batchReport) values(i int) []page.Cell {
	return lists.Map(b.columns, func(c batch.Column) page.Cell { return page.Cell{Text: c.Texts[i]} })
}

func (b *batchReport) keys() []string {
	return lists.Map(b.columns, func(c batch.Column) string { return c.Key })
}

// reasons lists jobs with what is to be said against them.
func (b *batchReport) reasons(title, mark string, which []int, reason func(int) string) *page.Table {
	t := &page.Table{Title: title, Header: append([]string{"job", "reason"}, b.keys()...)}
	t.Left = len(t.Header)
	for _, i := range which {
		t.Rows = append(t.Rows, append([]page.Cell{{Text: b.records[i].ID}, {Text: reason(i), Mark: mark}}, b.values(i)...))
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

// warning is the first of a job's warnings, and how many more there are.
func (b *batchReport) warning(i int) string {
	all := slices.Concat(b.records[i].Warnings, b.runs[i].Summary.Warnings, b.runs[i].Evaluation.Warnings)
	slices.Sort(all)
	if all = slices.Compact(all); len(all) > 1 {
		return fmt.Sprintf("%s (and %d more)", all[0], len(all)-1)
	}
	return all[0]
}

// jobs lists jobs that ended well, those first that their diagnosis refuses.
func (b *batchReport) jobs(which []int) *page.Table {
	names := b.metrics[:min(len(b.metrics), mostBatchMetrics)]
	t := &page.Table{Title: "Done", Header: append([]string{"job"}, b.keys()...)}
	trained := slices.ContainsFunc(b.runs, func(s *summarised) bool { return s.System != "" })
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
	slices.SortStableFunc(which, func(i, j int) int { return cmp.Compare(b.concern(j), b.concern(i)) })
	for _, i := range which {
		s := b.runs[i]
		row := append(page.Cells(b.records[i].ID), b.values(i)...)
		if trained {
			row = append(row, s.verdict())
		}
		row = append(row, page.Cell{Text: report.Seconds(b.records[i].Seconds)})
		for _, name := range names {
			cell := s.error(name, false)
			if m := s.metric(name); m != nil && name == essName {
				cell.Text = report.Value(m.Generated, m.Interval)
			}
			row = append(row, cell)
		}
		t.Rows = append(t.Rows, row)
	}
	return t
}

// concern orders jobs by their verdicts.
func (b *batchReport) concern(i int) int {
	if d := b.runs[i].Diagnosis; d != nil {
		return map[diagnose.Verdict]int{diagnose.Wrong: 3, diagnose.Unknown: 2, diagnose.Refine: 1}[d.Verdict]
	}
	return 0
}

const (
	mostSwept  = 4   // values that pictures show
	mostErrors = 5   // panels beside that of the effective size
	mostPlaces = 200 // along an axis
)

// essName is the metric that is shown by itself, and not by its error.
const essName = "effective_sample_size"

// figures show the effective size and errors against each value that differs between jobs
// and is a number, with the sampling floor.
func (b *batchReport) figures() (all []figure.Figure) {
	names := slices.DeleteFunc(slices.Clone(b.metrics), func(name string) bool { return name == essName })
	names = names[:min(len(names), mostErrors)]
	for _, c := range b.columns {
		places := b.places(c)
		if len(places) < 2 || len(all) == mostSwept {
			continue
		}
		f := figure.Figure{Name: "by " + c.Key, Title: "By " + c.Key}
		x := figure.Axis{Label: c.Key}
		if first, last := places[0].x, places[len(places)-1].x; first > 0 && last > 30*first {
			x.Scale = figure.Log
		}
		var panels []figure.Panel
		if slices.Contains(b.metrics, essName) {
			panels = append(panels, figure.Panel{X: x, Y: figure.Axis{Label: "effective sample size", Max: 1.05}, Layers: b.curves(places, essName, func(m measure.Metric) float64 { return m.Generated }, nil)})
		}
		for _, name := range names {
			label := report.Label(name)
			if m := b.find(name); m != nil && m.Relative {
				label += ", relative"
			}
			panels = append(panels, figure.Panel{X: x, Y: figure.Axis{Label: "error of " + label, Scale: figure.Log},
				Layers: b.curves(places, name, func(m measure.Metric) float64 { return m.Error }, func(m measure.Metric) float64 { return m.Floor })})
		}
		for pair := range slices.Chunk(panels, 2) {
			f.Rows = append(f.Rows, figure.Row{Panels: pair})
		}
		if len(panels) > 0 {
			all = append(all, f)
		}
	}
	return all
}

// A place on an axis has the jobs of one value, or of neighbouring ones where values are many.
type place struct {
	x    float64
	jobs []int
}

// places orders the jobs that measured, and say so, by a column's value; none if not all are
// numbers.
func (b *batchReport) places(c batch.Column) (all []place) {
	for i, text := range c.Texts {
		if len(b.runs[i].Metrics) == 0 || text == "" {
			continue
		}
		x, err := strconv.ParseFloat(text, 64)
		if err != nil || !number.Finite(x) {
			return nil
		}
		all = append(all, place{x, []int{i}})
	}
	slices.SortStableFunc(all, func(p, q place) int { return cmp.Compare(p.x, q.x) })
	merge := func(same func(p, q place) bool) {
		merged := all[:0]
		for _, p := range all {
			if n := len(merged); n > 0 && same(merged[n-1], p) {
				merged[n-1].jobs = append(merged[n-1].jobs, p.jobs...)
				continue
			}
			merged = append(merged, p)
		}
		all = merged
	}
	merge(func(p, q place) bool { return p.x == q.x })
	if n := len(all); n > mostPlaces {
		width := (all[n-1].x - all[0].x) / mostPlaces
		merge(func(p, q place) bool { return q.x-p.x < width })
	}
	return all
}

// curves are a metric's median at each place, from the least to the largest, and the floor's.
func (b *batchReport) curves(places []place, name string, value, floor func(measure.Metric) float64) []figure.Layer {
	points := figure.Layer{Mark: figure.Points, Role: figure.Generated, Label: "jobs: median, least to largest"}
	line := figure.Layer{Mark: figure.Line, Role: figure.Reference, Label: "sampling floor"}
	for _, p := range places {
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

// find is a metric of the first run that has it.
func (b *batchReport) find(name string) *measure.Metric {
	for _, s := range b.runs {
		if m := s.metric(name); m != nil {
			return m
		}
	}
	return nil
}
