package bench

import (
	"cmp"
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
	return fmt.Errorf("unknown format %q; the formats are %s", format, strings.Join(Formats, ", "))
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
	for _, w := range m.Warnings {
		fmt.Fprintf(b, "\n**Warning: %s.**\n", w)
	}
	r.writeBars(b)
	compared := slices.ContainsFunc(r.Rows, func(row Row) bool { return row.Change != nil })
	suite := ""
	for i := range r.Rows {
		row := &r.Rows[i]
		if row.Suite != suite {
			suite = row.Suite
			heading, rule := "| operation | path | threads | time | throughput | × one thread | of floor (fastest call) | peer | peer's time | ratio | its other settings |", "|---|---|--:|--:|--:|--:|--:|---|--:|--:|---|"
			if compared {
				heading, rule = heading+" change |", rule+"---|"
			}
			fmt.Fprintf(b, "\n### %s\n\n%s\n%s\n", suite, heading, rule)
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

// writeLines writes a row's line, and another for every program after the first
// that it is compared with.
func (r *Row) writeLines(b *strings.Builder, compared bool) {
	fraction, scaling := "–", ""
	if r.Floor.Nanoseconds > 0 {
		fraction = fmt.Sprintf("%.0f %%", 100*r.Fraction)
		if r.Undisturbed > 0 {
			fraction += fmt.Sprintf(" (%.0f %%)", 100*r.Undisturbed)
		}
	}
	if r.Scaling > 0 {
		scaling = fmt.Sprintf("%.2f", r.Scaling)
	}
	fmt.Fprintf(b, "| %s | %s | %d | %s | %s | %s | %s |", r.Name, r.Path, r.Threads,
		formatSpread(&r.Times), formatThroughput(r.Rate, r.Unit), scaling, fraction)
	change := r.Change
	end := func() { // of a line; only the first has the change
		if compared {
			change.write(b)
		}
		change = nil
		b.WriteString("\n")
	}
	programs := r.programs()
	if len(programs) == 0 {
		b.WriteString(" | | | |")
		end()
	}
	for i, rivals := range programs {
		if i > 0 {
			b.WriteString("| | | | | | | |")
		}
		best := rivals[0]
		if best.Status == Measured {
			fmt.Fprintf(b, " %s | %s | %.2f (%.2f–%.2f) |", best.setting(), formatSpread(best.Times), best.Ratio, best.RatioInterval[0], best.RatioInterval[1])
		} else {
			fmt.Fprintf(b, " %s | %s | |", best.setting(), best.failure())
		}
		var slower []string
		for _, v := range rivals[1:] {
			if v.Status == Measured {
				slower = append(slower, v.setting()+" "+formatTime(v.Median))
			} else {
				slower = append(slower, v.setting()+" "+v.failure())
			}
		}
		fmt.Fprintf(b, " %s |", strings.Join(slower, ", "))
		end()
	}
}

// programs returns the rivals by program, the best of each first.
func (r *Row) programs() (programs [][]*Rival) {
	for i := range r.Rivals {
		v := &r.Rivals[i]
		k := slices.IndexFunc(programs, func(p []*Rival) bool { return p[0].Program == v.Program })
		switch {
		case k < 0:
			programs = append(programs, []*Rival{v})
		case v.Best:
			programs[k] = slices.Insert(programs[k], 0, v)
		default:
			programs[k] = append(programs[k], v)
		}
	}
	return programs
}

// setting names a rival with its number of threads, and after a plus OpenBLAS's if that
// is another.
func (v *Rival) setting() string {
	text := fmt.Sprintf("%s, %d", v.Name, v.Threads)
	if v.BLAS != 0 {
		text += fmt.Sprintf("+%d", v.BLAS)
	}
	return text
}

// failure says why a rival has no time. A list above the tables says why one is missing.
func (v *Rival) failure() string {
	if v.Status == Missing {
		return v.Status
	}
	return v.Status + ": " + strings.ReplaceAll(v.Detail, "|", "/")
}

func (c *Change) write(b *strings.Builder) {
	if c == nil {
		b.WriteString(" |")
		return
	}
	fmt.Fprintf(b, " %s, %.3f (%.3f–%.3f)", c.Verdict, c.Ratio, c.Interval[0], c.Interval[1])
	if c.Detail != "" {
		fmt.Fprintf(b, ": %s", strings.ReplaceAll(c.Detail, "|", "/"))
	}
	b.WriteString(" |")
}

// writeCSV writes one line per repetition and side.
func (r *Report) writeCSV(w io.Writer) error {
	out := csv.NewWriter(w)
	warning := strings.Join(r.Machine.Warnings, "; ")
	out.Write([]string{"cpu", "suite", "operation", "path", "threads", "program", "program_threads", "program_blas_threads", "status", "repetition", "calls", "ns", "amount", "unit", "floor_ns", "detail", "warning"})
	for i := range r.Rows {
		row := &r.Rows[i]
		line := func(program string, threads, blas int, status string, repetition int, t *Times, amount float64, detail string) {
			fields := []string{r.Machine.CPU, row.Suite, row.Name, row.Path, strconv.Itoa(row.Threads), program, strconv.Itoa(threads), strconv.Itoa(cmp.Or(blas, threads)), status, "", "", "",
				formatNumber(amount), row.Unit, formatNumber(row.Floor.Nanoseconds), detail, warning}
			if t != nil {
				fields[9], fields[10], fields[11] = strconv.Itoa(repetition+1), strconv.Itoa(t.Calls), formatNumber(t.Nanoseconds[repetition])
			}
			out.Write(fields)
		}
		for k := range row.Nanoseconds {
			line("revgen", row.Threads, 0, Measured, k, &row.Times, row.Amount, row.Note)
		}
		for _, v := range row.Rivals {
			if v.Status != Measured {
				line(v.Name, v.Threads, v.BLAS, v.Status, 0, nil, v.Amount, v.Detail)
				continue
			}
			for k := range v.Nanoseconds {
				line(v.Name, v.Threads, v.BLAS, v.Status, k, v.Times, v.Amount, v.Detail)
			}
		}
	}
	out.Flush()
	return out.Error()
}

func formatNumber(x float64) string { return strconv.FormatFloat(x, 'g', -1, 64) }

// writeGo writes the form of "go test -bench", one line per repetition. A peer's lines
// differ from ours in the key program, in the number of threads if the peer has another,
// and in the key blas if OpenBLAS has yet another.
func (r *Report) writeGo(w io.Writer) error {
	b := &strings.Builder{}
	goos, goarch, _ := strings.Cut(r.Machine.Platform, "/")
	fmt.Fprintf(b, "goos: %s\ngoarch: %s\npkg: github.com/revgen/revgen/bench\ncpu: %s\n", goos, goarch, r.Machine.CPU)
	for _, w := range r.Machine.Warnings {
		fmt.Fprintf(b, "warning: %s\n", w)
	}
	for i := range r.Rows {
		row := &r.Rows[i]
		name := "Benchmark" + strings.ToUpper(row.Suite[:1]) + row.Suite[1:] + "/" + benchmarkName(row.Name) + "/path=" + row.Path + "/program="
		line := func(program string, threads int, t *Times, amount float64, floor bool) {
			for _, ns := range t.Nanoseconds {
				fmt.Fprintf(b, "%s%s-%d\t%d\t%s ns/op\t%s %s/s", name, benchmarkName(program), threads, t.Calls, formatNumber(ns),
					formatNumber(amount/ns*1e9), benchmarkName(row.Unit))
				if floor {
					fmt.Fprintf(b, "\t%s floor-ns/op", formatNumber(row.Floor.Nanoseconds))
				}
				b.WriteString("\n")
			}
		}
		line("revgen", row.Threads, &row.Times, row.Amount, true)
		for _, v := range row.Rivals {
			if v.Status == Measured {
				name := v.Name
				if v.BLAS != 0 {
					name += fmt.Sprintf("/blas=%d", v.BLAS)
				}
				line(name, v.Threads, v.Times, v.Amount, false)
			}
		}
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// benchmarkName replaces white space, which separates fields.
var benchmarkName = strings.NewReplacer(" ", "_", "\t", "_").Replace

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

// formatThroughput writes a rate, given in units per nanosecond, per second.
func formatThroughput(x float64, unit string) string {
	switch unit {
	case "flop":
		return formatRate(x) + " Gflop/s"
	case "B":
		return formatRate(x) + " GB/s"
	}
	x *= 1e9
	prefix := ""
	for _, larger := range []string{"k", "M", "G"} {
		if x < 1000 {
			break
		}
		x, prefix = x/1000, larger
	}
	return formatRate(x) + prefix + " " + unit + "s/s"
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
