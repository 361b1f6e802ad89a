package main

import (
	"fmt"
	"io"
	"math"
	"strings"
	"unicode/utf8"

	"github.com/revgen/revgen/engine"
)

// writeTable writes rows in aligned columns, the first column to the left and
// the others to the right, under a header and a rule.
func writeTable(w io.Writer, header []string, rows [][]string) error {
	width := make([]int, len(header))
	for _, row := range append([][]string{header}, rows...) {
		for i, cell := range row {
			width[i] = max(width[i], utf8.RuneCountInString(cell))
		}
	}
	rule := make([]string, len(header))
	for i, n := range width {
		rule[i] = strings.Repeat("─", n)
	}
	for _, row := range append([][]string{header, rule}, rows...) {
		var line strings.Builder
		for i, cell := range row {
			pad := strings.Repeat(" ", width[i]-utf8.RuneCountInString(cell))
			if i == 0 {
				line.WriteString(cell + pad)
			} else {
				line.WriteString("  " + pad + cell)
			}
		}
		if _, err := fmt.Fprintln(w, strings.TrimRight(line.String(), " ")); err != nil {
			return err
		}
	}
	return nil
}

// writeEvaluation writes the table that ends a training run.
func writeEvaluation(w io.Writer, e *engine.Evaluation) error {
	var rows [][]string
	for _, m := range e.Metrics {
		paper := "–"
		if m.Paper != nil {
			paper = deviation(*m.Paper, m.Relative)
		}
		rows = append(rows, []string{
			strings.ReplaceAll(m.Name, "_", " "),
			significant(m.Exact, m.Interval), significant(m.Generated, m.Interval),
			deviation(m.Error, m.Relative),
			"[" + significant(m.Interval[0], m.Interval) + ", " + significant(m.Interval[1], m.Interval) + "]",
			deviation(m.Floor, m.Relative), paper,
		})
	}
	return writeTable(w, []string{"metric", "exact", "generated", "error", "95 % interval", "sampling floor", "paper"}, rows)
}

// significant writes a value to one digit beyond the first that its
// confidence interval leaves open.
func significant(x float64, interval [2]float64) string {
	half := (interval[1] - interval[0]) / 2
	if !(half > 0) || math.IsInf(half, 0) {
		return fmt.Sprintf("%.6g", x)
	}
	decimals := 1 - int(math.Floor(math.Log10(half)))
	if decimals > 12 || decimals < 0 {
		return fmt.Sprintf("%.6g", x)
	}
	return fmt.Sprintf("%.*f", decimals, x)
}

// deviation writes an error, as a percentage if it is relative.
func deviation(x float64, relative bool) string {
	switch {
	case relative && x < 0.0001:
		return fmt.Sprintf("%.2g %%", 100*x)
	case relative:
		return fmt.Sprintf("%.2f %%", 100*x)
	case x != 0 && math.Abs(x) < 0.001:
		return fmt.Sprintf("%.1e", x)
	}
	return fmt.Sprintf("%.4f", x)
}
