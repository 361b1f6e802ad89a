package cli

import (
	"fmt"
	"io"
	"math"
	"slices"

	"github.com/revgen/revgen/engine"
	"github.com/revgen/revgen/internal/report"
)

// writeEvaluation writes the table that ends a training run.
func writeEvaluation(w io.Writer, e *engine.Evaluation) error {
	t := report.Table{Header: []string{"metric", "exact", "generated", "error", "95 % interval", "sampling floor", "paper"}, Left: 1}
	reweighted := reweightedTitle(e)
	if reweighted != "" {
		t.Header = append(t.Header, reweighted, "error")
	}
	for _, m := range e.Metrics {
		paper := "–"
		if m.Paper != nil {
			paper = report.Deviation(*m.Paper, m.Relative)
		}
		t.Rows = append(t.Rows, []string{
			report.Label(m.Name),
			exact(m), report.Value(m.Generated, m.Interval),
			report.Deviation(m.Error, m.Relative),
			"[" + report.Value(m.Interval[0], m.Interval) + ", " + report.Value(m.Interval[1], m.Interval) + "]",
			report.Deviation(m.Floor, m.Relative), paper,
		})
		if reweighted != "" {
			last := &t.Rows[len(t.Rows)-1]
			*last = append(*last, byWeights(m)...)
		}
	}
	return t.WriteText(w)
}

// reweightedTitle heads the column of means by weights, "" if there are none.
func reweightedTitle(e *engine.Evaluation) string {
	switch {
	case !slices.ContainsFunc(e.Metrics, func(m engine.Metric) bool { return m.Reweighted != nil }):
		return ""
	case e.Weights != nil && !e.Weights.Trusted():
		return "by weights (not to be trusted)"
	default:
		return "by weights"
	}
}

// byWeights writes a figure by weights, half its 95 % interval, and its error.
func byWeights(m engine.Metric) []string {
	r := m.Reweighted
	if r == nil {
		return []string{"", ""}
	}
	return []string{fmt.Sprintf("%s ± %.2g", report.Value(r.Value, r.Interval), (r.Interval[1]-r.Interval[0])/2), report.Deviation(r.Error, m.Relative)}
}

// exact writes what a metric is compared with, with its standard error if it is
// not exact after all.
func exact(m engine.Metric) string {
	value := report.Value(m.Exact, m.Interval)
	if m.Uncertainty == 0 {
		return value
	}
	uncertainty := m.Uncertainty
	if m.Relative {
		uncertainty *= math.Abs(m.Exact)
	}
	return fmt.Sprintf("%s ± %.1g", value, uncertainty)
}
