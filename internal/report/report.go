// Package report writes metrics for people, in aligned columns for a terminal and in Markdown, with
// the same digits in both.
package report

import (
	"bytes"
	"fmt"
	"io"
	"math"
	"strings"
	"time"
	"unicode/utf8"
)

// A Table is rows of cells under a header. The first Left columns are words, and aligned left; the
// others are numbers, and aligned right.
type Table struct {
	Header []string
	Rows   [][]string
	Left   int
}

// WriteText writes aligned columns, the header over a rule.
func (t *Table) WriteText(w io.Writer) error {
	width := make([]int, len(t.Header))
	for _, row := range append([][]string{t.Header}, t.Rows...) {
		for i, cell := range row {
			width[i] = max(width[i], utf8.RuneCountInString(cell))
		}
	}
	rule := make([]string, len(t.Header))
	for i, n := range width {
		rule[i] = strings.Repeat("─", n)
	}
	var b bytes.Buffer
	for _, row := range append([][]string{t.Header, rule}, t.Rows...) {
		var line strings.Builder
		for i, cell := range row {
			if i > 0 {
				line.WriteString("  ")
			}
			pad := strings.Repeat(" ", width[i]-utf8.RuneCountInString(cell))
			if i < t.Left {
				line.WriteString(cell + pad)
			} else {
				line.WriteString(pad + cell)
			}
		}
		fmt.Fprintln(&b, strings.TrimRight(line.String(), " "))
	}
	_, err := b.WriteTo(w)
	return err
}

// WriteMarkdown writes a Markdown table.
func (t *Table) WriteMarkdown(w io.Writer) error {
	rule := make([]string, len(t.Header))
	for i := range rule {
		rule[i] = "--:"
		if i < t.Left {
			rule[i] = "---"
		}
	}
	var b bytes.Buffer
	for _, row := range append([][]string{t.Header, rule}, t.Rows...) {
		cells := make([]string, len(row))
		for i, cell := range row {
			cells[i] = strings.ReplaceAll(cell, "|", `\|`)
		}
		fmt.Fprintf(&b, "| %s |\n", strings.Join(cells, " | "))
	}
	_, err := b.WriteTo(w)
	return err
}

// Plain returns a word for a CSV file, with an apostrophe before it if a spreadsheet would take it
// for a formula.
func Plain(word string) string {
	if word != "" && strings.IndexByte("=+-@\t\r", word[0]) >= 0 {
		return "'" + word
	}
	return word
}

// acronyms are the parts of metrics' names that people write otherwise.
var acronyms = map[string]string{
	"l1": "L1", "l2": "L2", "w1": "W1", "kl": "KL", "mmd": "MMD", "mmd2": "MMD²", "tv": "TV",
}

// Label writes a metric's name for people.
func Label(metric string) string {
	parts := strings.Split(metric, "_")
	for i, part := range parts {
		if name, ok := acronyms[part]; ok {
			parts[i] = name
		}
	}
	return strings.Join(parts, " ")
}

// unknown stands for NaN: a number that could not be computed, as a warning explains.
const unknown = "unknown"

// Value writes a number with at most six digits, and one decimal beyond the leading digit of half
// its interval.
func Value(x float64, interval [2]float64) string {
	if math.IsNaN(x) {
		return unknown
	}
	half := (interval[1] - interval[0]) / 2
	decimals := 1 - math.Floor(math.Log10(half))
	if !(half > 0) || decimals < 0 {
		return fmt.Sprintf("%.6g", x)
	}
	if x == 0 {
		return "0"
	}
	exponent := math.Floor(math.Log10(math.Abs(x)))
	decimals = min(decimals, max(0, 5-exponent))
	if exponent < -4 {
		return fmt.Sprintf("%.*e", int(max(0, decimals+exponent)), x)
	}
	return fmt.Sprintf("%.*f", int(decimals), x)
}

// Deviation writes an error, as a percentage if it is relative.
func Deviation(x float64, relative bool) string {
	switch {
	case math.IsNaN(x):
		return unknown
	case x == 0:
		return "0"
	case relative && x < 0.0001:
		return fmt.Sprintf("%.2g %%", 100*x)
	case relative:
		return fmt.Sprintf("%.2f %%", 100*x)
	case math.Abs(x) < 0.001:
		return fmt.Sprintf("%.1e", x)
	case math.Abs(x) >= 1000:
		return fmt.Sprintf("%.4g", x)
	}
	return fmt.Sprintf("%.4f", x)
}

// Seconds writes a time.
func Seconds(s float64) string {
	if s < 60 {
		return fmt.Sprintf("%.1f s", s)
	}
	return time.Duration(s * float64(time.Second)).Round(time.Second).String()
}

// Seeds writes seeds, in ascending order, as ranges: 11–15, 18.
func Seeds(seeds []uint64) string {
	var parts []string
	for i := 0; i < len(seeds); {
		j := i
		for j+1 < len(seeds) && seeds[j+1] == seeds[j]+1 {
			j++
		}
		part := fmt.Sprint(seeds[i])
		if j > i {
			part = fmt.Sprintf("%d–%d", seeds[i], seeds[j])
		}
		parts, i = append(parts, part), j+1
	}
	return strings.Join(parts, ", ")
}
