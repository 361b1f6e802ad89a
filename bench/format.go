package bench

import (
	"encoding/csv"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"
)

// Formats lists what Write takes.
var Formats = []string{"md", "csv", "json", "go"}

// CheckFormat reports a format that Write does not know.
func CheckFormat(format string) error {
	if !slices.Contains(Formats, format) {
		return fmt.Errorf("unknown format %q; the formats are %s", format, strings.Join(Formats, ", "))
	}
	return nil
}

// Write writes the report: md for people, csv with one line per repetition and
// side, json for programs and as a baseline, go as "go test -bench" writes, for
// benchstat.
func (r *Report) Write(w io.Writer, format string) error {
	switch format {
	case "md":
		return r.writeMarkdown(w)
	case "csv":
		return r.writeCSV(w)
	case "json":
		return r.WriteJSON(w)
	case "go":
		return r.writeGo(w)
	}
	return CheckFormat(format)
}

// writeMarkdown writes a table for each suite.
func (r *Report) writeMarkdown(w io.Writer) error {
	b := &strings.Builder{}
	m := &r.Machine
	fmt.Fprintf(b, "%s, %d processors, %s, %s, %s", m.CPU, m.Processors, m.Platform, m.Go, m.Time.Format("2006-01-02"))
	if m.Version != "" {
		fmt.Fprintf(b, ", revision %.12s", m.Version)
	}
	b.WriteString("\n")
	for _, p := range m.Peers {
		fmt.Fprintf(b, "\n- %s: %s", p.Peer, p.Text)
	}
	if len(m.Peers) > 0 {
		b.WriteString("\n")
	}
	for _, note := range m.Notes {
		fmt.Fprintf(b, "\n%s\n", note)
	}
	compared := false
	for i := range r.Rows {
		compared = compared || r.Rows[i].Change != nil
	}
	suite := ""
	for i := range r.Rows {
		row := &r.Rows[i]
		if row.Suite != suite {
			suite = row.Suite
			fmt.Fprintf(b, "\n### %s\n\n| operation | path | threads | time | throughput | × one thread | of peak | peer | peer's time | ratio |", suite)
			if compared {
				b.WriteString(" change |")
			}
			b.WriteString("\n|---|---|--:|--:|--:|--:|--:|---|--:|--:|")
			if compared {
				b.WriteString("---|")
			}
			b.WriteString("\n")
		}
		row.writeLines(b, compared)
	}
	if len(m.Peaks) > 0 {
		b.WriteString("\n### measured peak rates\n\n| path | threads | resource | per ns |\n|---|--:|---|--:|\n")
		for _, p := range m.Peaks {
			name := string(p.Resource)
			if p.Bytes > 0 {
				name += " " + formatBytes(p.Bytes)
			}
			fmt.Fprintf(b, "| %s | %d | %s | %s |\n", p.Path, p.Threads, name, formatRate(p.Rate))
		}
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// writeLines writes a row's line, and another for every peer after the first.
func (r *Row) writeLines(b *strings.Builder, compared bool) {
	fraction := "–"
	if r.Floor.Nanoseconds > 0 {
		fraction = fmt.Sprintf("%.0f %%", 100*r.Fraction)
	}
	scaling := ""
	if r.Scaling > 0 {
		scaling = fmt.Sprintf("%.2f", r.Scaling)
	}
	fmt.Fprintf(b, "| %s | %s | %d | %s | %s %s | %s | %s |", r.Name, r.Path, r.Threads,
		formatSpread(&r.Times), formatRate(r.Rate), rateUnit(r.Unit), scaling, fraction)
	if len(r.Rivals) == 0 {
		b.WriteString(" | | |")
	}
	for i := range r.Rivals {
		v := &r.Rivals[i]
		if i > 0 {
			b.WriteString("\n| | | | | | | |")
		}
		if v.Status == Measured {
			fmt.Fprintf(b, " %s | %s | %.2f (%.2f–%.2f) |", v.Name, formatSpread(v.Times), v.Ratio, v.RatioInterval[0], v.RatioInterval[1])
		} else {
			status := v.Status
			if status != Missing { // why is said once, above the tables
				status += ": " + strings.ReplaceAll(v.Detail, "|", "/")
			}
			fmt.Fprintf(b, " %s | %s | |", v.Name, status)
		}
		if i == 0 && compared {
			r.Change.write(b)
		} else if compared {
			b.WriteString(" |")
		}
	}
	if len(r.Rivals) == 0 && compared {
		r.Change.write(b)
	}
	b.WriteString("\n")
}

func (c *Change) write(b *strings.Builder) {
	if c == nil {
		b.WriteString(" |")
		return
	}
	fmt.Fprintf(b, " %s, %.3f (%.3f–%.3f) |", c.Verdict, c.Ratio, c.Interval[0], c.Interval[1])
}

// writeCSV writes one line per repetition and side.
func (r *Report) writeCSV(w io.Writer) error {
	out := csv.NewWriter(w)
	out.Write([]string{"cpu", "suite", "operation", "path", "threads", "program", "status", "repetition", "calls", "ns", "amount", "unit", "floor_ns", "detail"})
	for i := range r.Rows {
		row := &r.Rows[i]
		line := func(program, status string, repetition int, t *Times, amount float64, detail string) {
			fields := []string{r.Machine.CPU, row.Suite, row.Name, row.Path, strconv.Itoa(row.Threads), program, status, "", "", "",
				number(amount), row.Unit, number(row.Floor.Nanoseconds), detail}
			if t != nil {
				fields[7], fields[8], fields[9] = strconv.Itoa(repetition+1), strconv.Itoa(t.Calls), number(t.Nanoseconds[repetition])
			}
			out.Write(fields)
		}
		for k := range row.Nanoseconds {
			line("revgen", Measured, k, &row.Times, row.Amount, row.Note)
		}
		for _, v := range row.Rivals {
			if v.Status != Measured {
				line(v.Name, v.Status, 0, nil, v.Amount, v.Detail)
				continue
			}
			for k := range v.Nanoseconds {
				line(v.Name, v.Status, k, v.Times, v.Amount, v.Detail)
			}
		}
	}
	out.Flush()
	return out.Error()
}

func number(x float64) string { return strconv.FormatFloat(x, 'g', -1, 64) }

// writeGo writes the form of "go test -bench", one line per repetition. The
// peers' lines differ from ours in the key program alone.
func (r *Report) writeGo(w io.Writer) error {
	b := &strings.Builder{}
	goos, goarch, _ := strings.Cut(r.Machine.Platform, "/")
	fmt.Fprintf(b, "goos: %s\ngoarch: %s\npkg: github.com/revgen/revgen/bench\ncpu: %s\n", goos, goarch, r.Machine.CPU)
	for i := range r.Rows {
		row := &r.Rows[i]
		name := "Benchmark" + strings.ToUpper(row.Suite[:1]) + row.Suite[1:] + "/" + benchmarkName(row.Name) + "/path=" + row.Path + "/program="
		line := func(program string, t *Times, amount float64, floor bool) {
			for _, ns := range t.Nanoseconds {
				fmt.Fprintf(b, "%s%s-%d\t%d\t%s ns/op\t%s %s/s", name, benchmarkName(program), row.Threads, t.Calls, number(ns),
					number(amount/ns*1e9), benchmarkUnit(row.Unit))
				if floor {
					fmt.Fprintf(b, "\t%s floor-ns/op", number(row.Floor.Nanoseconds))
				}
				b.WriteString("\n")
			}
		}
		line("revgen", &row.Times, row.Amount, true)
		for _, v := range row.Rivals {
			if v.Status == Measured {
				line(v.Name, v.Times, v.Amount, false)
			}
		}
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// benchmarkName makes a name that cannot be taken for several fields.
func benchmarkName(s string) string {
	return strings.Map(func(r rune) rune {
		if r == ' ' || r == '\t' {
			return '_'
		}
		return r
	}, s)
}

func benchmarkUnit(s string) string { return benchmarkName(s) }

func formatTime(ns float64) string {
	switch {
	case math.IsNaN(ns):
		return "–"
	case ns < 1e3:
		return fmt.Sprintf("%.3g ns", ns)
	case ns < 1e6:
		return fmt.Sprintf("%.3g µs", ns/1e3)
	case ns < 1e9:
		return fmt.Sprintf("%.3g ms", ns/1e6)
	}
	return fmt.Sprintf("%.3g s", ns/1e9)
}

// formatSpread gives the median and half the width of its interval.
func formatSpread(t *Times) string {
	return fmt.Sprintf("%s ± %.0f %%", formatTime(t.Median), 50*(t.Interval[1]-t.Interval[0])/t.Median)
}

// formatRate writes three significant digits without an exponent.
func formatRate(x float64) string {
	if x >= 100 || x == 0 || math.IsNaN(x) {
		return fmt.Sprintf("%.0f", x)
	}
	digits := max(0, 2-int(math.Floor(math.Log10(math.Abs(x)))))
	return strconv.FormatFloat(x, 'f', min(digits, 12), 64)
}

// rateUnit is the unit of a rate in amounts per nanosecond.
func rateUnit(unit string) string {
	switch unit {
	case "flop":
		return "Gflop/s"
	case "B":
		return "GB/s"
	}
	return unit + "s/ns"
}

func formatBytes(n int) string {
	switch {
	case n >= 1<<20:
		return fmt.Sprintf("%d MiB", n>>20)
	case n >= 1<<10:
		return fmt.Sprintf("%d KiB", n>>10)
	}
	return fmt.Sprintf("%d B", n)
}
