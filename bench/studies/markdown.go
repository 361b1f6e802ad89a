package main

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/revgen/revgen/bench/reproduce"
	"github.com/revgen/revgen/internal/figure"
	"github.com/revgen/revgen/internal/lists"
	"github.com/revgen/revgen/internal/report"
)

// Markdown returns the studies as a document.
func (r *Results) Markdown() string {
	var b strings.Builder
	b.WriteString("# Studies\n\n" + studiesIntroduction + "\n")
	r.writeStudies(&b)
	if all := r.Neighbours; len(all) > 0 {
		section(&b, NeighboursTitle, NeighboursStudy, all.Summary(), lists.Map(all, func(o NeighbourOutcome) reproduce.Machine { return o.Machine }), NeighboursLegend+"\n\n", all.Table())
		all.writeBeyond(&b)
	}
	if all := r.Verdicts; len(all) > 0 {
		section(&b, VerdictsTitle, VerdictsStudy, all.Summary(), []reproduce.Machine{all[0].Machine}, VerdictsLegend+"\n\n", all.Table())
	}
	if len(r.Field) > 0 {
		var computers []reproduce.Machine
		for i := range r.Field {
			row := &r.Field[i]
			computers = append(append(computers, row.Machine), lists.Map(row.Runs, func(run FieldRun) reproduce.Machine { return run.Machine })...)
		}
		section(&b, "The field's own targets", FieldStudy, "best preset", computers, FieldLegend+"\n\n", FieldTable(r.Field))
	}
	if len(r.Protocol) > 0 {
		section(&b, "The distances of masked diffusion samplers", ProtocolStudy, "best preset", lists.Map(r.Protocol, func(row ProtocolRow) reproduce.Machine { return row.Machine }), ProtocolLegend+"\n\n", ProtocolTable(r.Protocol))
	}
	return b.String()
}

// studiesIntroduction heads the document of studies.
const studiesIntroduction = "What the parts of the recipes are for, what the preset best makes of targets drawn at random, and generators beside chains on targets of the literature. `make studies` writes this file; each part names the revision and the machine that it was computed by. The paper's experiments are in [results.md](results.md)."

// orDash writes a cell, a dash where there is nothing to write.
func orDash(something bool, format string, args ...any) string {
	if !something {
		return "–"
	}
	return fmt.Sprintf(format, args...)
}

// section writes that of a study, computed by those machines.
func section(b *strings.Builder, title, name, summary string, computers []reproduce.Machine, legend string, t *report.Table) {
	fmt.Fprintf(b, "\n## %s\n\n`%s`: %s.\nOn %s.\n\n%s", title, name, summary, strings.Join(reproduce.Machines(computers), "; "), legend)
	_ = t.WriteMarkdown(b) // writing to b does not fail
}

func (r *Results) writeStudies(b *strings.Builder) {
	if len(r.Studies) == 0 {
		return
	}
	b.WriteString("\n" + StudyLegend + "\n")
	for i := range r.Studies {
		s := &r.Studies[i]
		t := s.Table()
		t.Header = append(t.Header, "what it changes")
		for j := range s.Variants {
			c := s.Variants[j].Changed
			t.Rows[j] = append(t.Rows[j], orDash(len(c) > 0, "`%s`", strings.Join(c, "` `")))
		}
		for j := len(s.Variants); j < len(t.Rows); j++ {
			t.Rows[j] = append(t.Rows[j], "")
		}
		section(b, s.Title, s.Name, s.Summary(), lists.Map(s.Variants, func(o reproduce.Outcome) reproduce.Machine { return o.Machine }), "", t)
	}
}

// writeBeyond writes what was said of neighbours that are beyond their floors.
func (all Neighbours) writeBeyond(b *strings.Builder) {
	heading := "\nWhat was said of those that are beyond by either measure:\n\n"
	for i := range all {
		if o := &all[i]; o.beyond() {
			fmt.Fprintf(b, "%s- seed %d: %s; %s\n", heading, o.Seed, strings.Join(o.Warnings, "; "), o.Sentence)
			heading = ""
		}
	}
}

// WriteText writes the tables of what there is, a row of a study of targets by itself.
func (r *Results) WriteText(w io.Writer) (err error) {
	titled := func(title, summary string, t *report.Table) {
		fmt.Fprintf(w, "%s\n%s\n\n", title, summary)
		err = errors.Join(err, t.WriteText(w))
	}
	for i := range r.Studies {
		titled(r.Studies[i].Title, r.Studies[i].Summary(), r.Studies[i].Table())
	}
	if all := r.Neighbours; len(all) > 0 {
		titled(NeighboursTitle, all.Summary(), all.Table())
	}
	if all := r.Verdicts; len(all) > 0 {
		titled(VerdictsTitle, all.Summary(), all.Table())
	}
	for row := range slices.Chunk(r.Field, 1) {
		err = errors.Join(err, FieldTable(row).WriteText(w))
	}
	for row := range slices.Chunk(r.Protocol, 1) {
		err = errors.Join(err, ProtocolTable(row).WriteText(w))
	}
	return err
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
			if m := v.Metric(name); m != nil {
				cell = m.ErrorText(len(v.Seeds))
			}
			row = append(row, cell)
		}
		t.Rows = append(t.Rows, append(row, fmt.Sprintf("%d of %d", v.Warned, len(v.Seeds)), figure.Count(v.Steps), fmt.Sprintf("%.1f", v.Seconds)))
	}
	for _, below := range []struct {
		label string
		cell  func(*reproduce.Metric) string
	}{{"sampling floor", (*reproduce.Metric).FloorText}, {"paper", (*reproduce.Metric).PaperText}} {
		if row := o.common(names, below.cell); row != nil {
			t.Rows = append(t.Rows, slices.Concat([]string{below.label}, row, []string{"", "", ""}))
		}
	}
	return t
}

// common returns a cell of each metric, or nil if the variants do not agree in
// them or all are empty.
func (o *StudyOutcome) common(names []string, cell func(*reproduce.Metric) string) []string {
	var row []string
	empty := true
	for _, name := range names {
		text := ""
		for i := range o.Variants {
			m := o.Variants[i].Metric(name)
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
