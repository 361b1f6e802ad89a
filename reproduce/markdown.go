package reproduce

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/revgen/revgen/internal/figure"
	"github.com/revgen/revgen/internal/report"
)

// Table returns an outcome's table: the paper's columns, and then how good an
// error could be, how good the paper's is, and which is better.
func (o *Outcome) Table() *report.Table {
	t := &report.Table{Header: []string{"metric", "ground truth", "ours", "error", "sampling floor", "paper's error", "better"}, Left: 1}
	if len(o.Seeds) > 1 {
		t.Header[3] = "error (range)"
	}
	for i := range o.Metrics {
		m := &o.Metrics[i]
		t.Rows = append(t.Rows, []string{
			report.Label(m.Name), report.Value(m.Exact, m.Interval), report.Value(m.Generated, m.Interval),
			m.errorText(len(o.Seeds)), report.Deviation(m.Floor, m.Relative), paperText(m), verdict(m),
		})
	}
	return t
}

func (m *Metric) errorText(seeds int) string {
	text := report.Deviation(m.Error, m.Relative)
	if seeds > 1 {
		text += " (" + strings.TrimSuffix(report.Deviation(m.Range[0], m.Relative), " %") + "–" + report.Deviation(m.Range[1], m.Relative) + ")"
	}
	return text
}

func paperText(m *Metric) string {
	if m.Paper == nil {
		return "–"
	}
	return report.Deviation(*m.Paper, m.Relative)
}

// verdict says whether an error is smaller than the paper's. An asterisk marks
// those at the sampling floor, two those where the paper's is too.
func verdict(m *Metric) string {
	text := "–"
	if m.Better != nil {
		text = "no"
		if *m.Better {
			text = "yes"
		}
	}
	switch {
	case m.bothAtFloor():
		text += " **"
	case m.AtFloor:
		text += " *"
	}
	return text
}

// Legend explains the marks of a table.
const Legend = "An asterisk marks an error that exact samples of this size do not exceed in 95 % of cases; a median of several seeds is held against medians of as many exact samples. Two mark it where the paper's, that of one sample, is not beyond 95 % of exact ones either, so that which is smaller is chance."

// Basis says what the figures rest on that the paper's method does not have, and
// how settings were chosen.
const Basis = `What the figures rest on:

- At L = 3 the presets best and quick train with averages over all configurations,
  which the paper's method does without and no larger system allows. With sampled
  moves instead, the study ablations-ising has a total variation of 0.0192 where
  the recipe has 0.0073.
- Beyond L = 3 they train another generator than the paper's by another loss: spins
  drawn one group after another with a known density q, and KL(q‖π) by the score
  function, which needs the energy and no Metropolis moves. The recipe is a
  function of the target; its constants were found on other seeds of such lattices.
- A floor belongs to its number of samples. Errors at the floor of 200 000 samples
  need not be at that of a million: rows of a million samples stand beside.`

// Summary says in one line how an outcome came about.
func (o *Outcome) Summary() string {
	seeds := fmt.Sprintf("seed %d", o.Seeds[0])
	time := seconds(o.Seconds)
	if n := len(o.Seeds); n > 1 {
		seeds = fmt.Sprintf("medians of the seeds %d to %d", o.Seeds[0], o.Seeds[n-1])
		time += " each"
	}
	line := fmt.Sprintf("%s preset, %s, %s steps of %s samples in %s, %s samples measured",
		o.Preset, seeds, figure.Count(o.Steps), figure.Count(o.Batch), time, figure.Count(o.Samples))
	if len(o.Changed) > 0 {
		line += ", with " + strings.Join(o.Changed, " ")
	}
	return line
}

// Others returns a line for each metric that has figures of other methods than
// the paper's.
func (o *Outcome) Others() []string {
	var lines []string
	for i := range o.Metrics {
		var errs []string
		for _, p := range o.Published {
			if p.Metric == o.Metrics[i].Name {
				errs = append(errs, fmt.Sprintf("%s by %s (%s)", report.Deviation(p.Error, o.Metrics[i].Relative), p.Method, p.Target))
			}
		}
		if len(errs) > 0 {
			lines = append(lines, fmt.Sprintf("Published %s: %s.", report.Label(o.Metrics[i].Name), strings.Join(errs, ", ")))
		}
	}
	return lines
}

func (m *Machine) String() string {
	threads := "1 thread"
	if m.Threads != 1 {
		threads = fmt.Sprintf("%d threads", m.Threads)
	}
	return fmt.Sprintf("%s (%s), %s, kernel path %s, revgen %s", m.CPU, m.Platform, threads, m.Path, m.Program)
}

func seconds(s float64) string {
	if s < 60 {
		return fmt.Sprintf("%.1f s", s)
	}
	return time.Duration(s * float64(time.Second)).Round(time.Second).String()
}

// Markdown returns the results as a document: one table of all figures, and
// then each outcome with its pictures. The same results give the same bytes.
func (r *Results) Markdown() string {
	var b strings.Builder
	b.WriteString("# Results\n\nWritten by `revgen reproduce`. The sampling floor is the expected error of as many exact samples. " + markdownMarks(Legend) + "\n\n" + Basis + "\n")
	if len(r.Outcomes) > 0 {
		b.WriteString("\n## All figures\n\n")
		_ = r.overview().WriteMarkdown(&b) // writing to b does not fail
	}
	for i := range r.Outcomes {
		o := &r.Outcomes[i]
		fmt.Fprintf(&b, "\n## %s, %s preset\n\n%s%s.\nOn %s.\n\n", o.Title, o.Preset, strings.ToUpper(o.Summary()[:1]), o.Summary()[1:], o.Machine.String())
		_ = o.markdownTable().WriteMarkdown(&b)
		for _, line := range o.Others() {
			fmt.Fprintf(&b, "\n%s\n", line)
		}
		for _, w := range o.Warnings {
			fmt.Fprintf(&b, "\nWarning: %s.\n", w)
		}
		for _, name := range o.Figures {
			fmt.Fprintf(&b, "\n![%s](figures/%s.svg)\n", name, name)
		}
	}
	r.writeStudies(&b)
	r.writeNeighbours(&b)
	r.writeField(&b)
	return b.String()
}

func (r *Results) writeStudies(b *strings.Builder) {
	if len(r.Studies) == 0 {
		return
	}
	b.WriteString("\n## Studies\n\n" + StudyLegend + "\n")
	for i := range r.Studies {
		s := &r.Studies[i]
		machine := &s.Variants[0].Machine
		fmt.Fprintf(b, "\n### %s\n\n`%s`: %s.\nOn %s.\n\n", s.Title, s.Name, s.Summary(), machine.String())
		t := s.Table()
		t.Header = append(t.Header, "what it changes")
		for j := range s.Variants {
			changes := "–"
			if c := s.Variants[j].Changed; len(c) > 0 {
				changes = "`" + strings.Join(c, "` `") + "`"
			}
			t.Rows[j] = append(t.Rows[j], changes)
		}
		for j := len(s.Variants); j < len(t.Rows); j++ {
			t.Rows[j] = append(t.Rows[j], "")
		}
		_ = t.WriteMarkdown(b)
	}
}

func (r *Results) writeNeighbours(b *strings.Builder) {
	all := r.Neighbours
	if len(all) == 0 {
		return
	}
	fmt.Fprintf(b, "\n## %s\n\n`%s`: %s.\nOn %s.\n\n%s\n\n", NeighboursTitle, NeighboursStudy, all.Summary(), all[0].Machine.String(), NeighboursLegend)
	_ = all.Table().WriteMarkdown(b)
	first := true
	for i := range all {
		if o := &all[i]; !o.Near() {
			if first {
				b.WriteString("\nWhat was said of those that are not near:\n\n")
				first = false
			}
			fmt.Fprintf(b, "- seed %d: %s; %s\n", o.Seed, strings.Join(o.Warnings, "; "), o.Sentence)
		}
	}
}

func (r *Results) writeField(b *strings.Builder) {
	if len(r.Field) == 0 {
		return
	}
	var machines []string
	for i := range r.Field {
		row := &r.Field[i]
		of := []Machine{row.Machine}
		for j := range row.Runs {
			of = append(of, row.Runs[j].Machine)
		}
		for _, m := range of {
			if text := m.String(); !slices.Contains(machines, text) {
				machines = append(machines, text)
			}
		}
	}
	fmt.Fprintf(b, "\n## The field's own targets\n\n`%s`: best preset.\nOn %s.\n\n%s\n\n", FieldStudy, strings.Join(machines, "; "), FieldLegend)
	_ = FieldTable(r.Field).WriteMarkdown(b)
}

// StudyLegend explains the tables of studies.
const StudyLegend = "Errors are medians over the seeds, with the least and the largest in brackets. Warned counts the runs that ended with a warning: a collapsed mode, say."

// Summary says in one line what a study's runs have in common.
func (o *StudyOutcome) Summary() string {
	v := &o.Variants[0]
	seeds := fmt.Sprintf("seed %d", v.Seeds[0])
	if n := len(v.Seeds); n > 1 {
		seeds = fmt.Sprintf("seeds %d to %d", v.Seeds[0], v.Seeds[n-1])
	}
	line := o.Preset + " preset"
	if len(o.Assignments) > 0 {
		line += " with " + strings.Join(o.Assignments, " ")
	}
	return fmt.Sprintf("%s, %s, %s samples measured", line, seeds, figure.Count(v.Samples))
}

// Table returns a study's variants, one in each row, and below them the sampling
// floors and the paper's errors where those of all variants are the same.
func (o *StudyOutcome) Table() *report.Table {
	t := &report.Table{Header: []string{"variant"}, Left: 1}
	var names []string
	for i := range o.Variants {
		for j := range o.Variants[i].Metrics {
			if name := o.Variants[i].Metrics[j].Name; !slices.Contains(names, name) {
				names = append(names, name)
				t.Header = append(t.Header, report.Label(name))
			}
		}
	}
	t.Header = append(t.Header, "warned", "steps", "s/run")
	for i := range o.Variants {
		v := &o.Variants[i]
		row := []string{v.Title}
		for _, name := range names {
			cell := "–"
			if m := v.metric(name); m != nil {
				cell = m.errorText(len(v.Seeds))
			}
			row = append(row, cell)
		}
		t.Rows = append(t.Rows, append(row, fmt.Sprintf("%d of %d", v.Warned, len(v.Seeds)), figure.Count(v.Steps), fmt.Sprintf("%.1f", v.Seconds)))
	}
	floor := func(m *Metric) string {
		if m.Floor == 0 {
			return "–"
		}
		return report.Deviation(m.Floor, m.Relative)
	}
	for _, below := range []struct {
		label string
		cell  func(*Metric) string
	}{{"sampling floor", floor}, {"paper", paperText}} {
		if row := o.common(names, below.cell); row != nil {
			t.Rows = append(t.Rows, slices.Concat([]string{below.label}, row, []string{"", "", ""}))
		}
	}
	return t
}

// common returns a cell of each metric, or nil if the variants do not agree in
// them or all are empty.
func (o *StudyOutcome) common(names []string, cell func(*Metric) string) []string {
	var row []string
	empty := true
	for _, name := range names {
		text := ""
		for i := range o.Variants {
			m := o.Variants[i].metric(name)
			if m == nil {
				continue
			}
			if this := cell(m); text == "" {
				text = this
			} else if text != this {
				return nil
			}
		}
		row = append(row, text)
		empty = empty && text == "–"
	}
	if empty {
		return nil
	}
	return row
}

func (o *Outcome) metric(name string) *Metric {
	i := slices.IndexFunc(o.Metrics, func(m Metric) bool { return m.Name == name })
	if i < 0 {
		return nil
	}
	return &o.Metrics[i]
}

func markdownMarks(s string) string { return strings.ReplaceAll(s, "*", `\*`) }

func (o *Outcome) markdownTable() *report.Table {
	t := o.Table()
	for _, row := range t.Rows {
		row[len(row)-1] = markdownMarks(row[len(row)-1])
	}
	return t
}

// overview has a line for each figure and columns for each preset.
func (r *Results) overview() *report.Table {
	var presets []string
	for i := range r.Outcomes {
		if p := r.Outcomes[i].Preset; !slices.Contains(presets, p) {
			presets = append(presets, p)
		}
	}
	slices.SortStableFunc(presets, func(a, b string) int { return presetRank(a) - presetRank(b) })
	t := &report.Table{Header: []string{"setting", "metric", "paper's error"}, Left: 2}
	for _, p := range presets {
		t.Header = append(t.Header, p+" preset", "× floor", "better")
	}
	type key struct{ setting, metric string }
	lines := map[key]int{}
	for i := range r.Outcomes {
		o := &r.Outcomes[i]
		column := 3 + 3*slices.Index(presets, o.Preset)
		for j := range o.Metrics {
			m := &o.Metrics[j]
			k := key{o.Setting, m.Name}
			line, known := lines[k]
			if !known {
				line = len(t.Rows)
				lines[k] = line
				row := make([]string, len(t.Header))
				row[0], row[1], row[2] = o.Title, report.Label(m.Name), paperText(m)
				t.Rows = append(t.Rows, row)
			}
			ratio := "–"
			if m.Floor > 0 {
				r := m.Error / m.Floor
				ratio = fmt.Sprintf("%.*f", 2-int(math.Log10(min(max(1, r), 100))), r)
			}
			copy(t.Rows[line][column:], []string{report.Deviation(m.Error, m.Relative), ratio, markdownMarks(verdict(m))})
		}
	}
	return t
}
