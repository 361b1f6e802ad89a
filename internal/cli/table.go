package cli

import (
	"fmt"
	"io"
	"math"
	"slices"

	"github.com/revgen/revgen/engine/measure"
	"github.com/revgen/revgen/internal/report"
)

// writeEvaluation writes the table that ends a training run by a preset. Errors of the
// paper's are of its own method; where another trained, the column's head says so.
func writeEvaluation(w io.Writer, preset string, e *measure.Evaluation) error {
	t := report.Table{Header: []string{"metric", "exact", "generated", "error", "95 % interval", "sampling floor"}, Left: 1}
	published := slices.ContainsFunc(e.Metrics, func(m measure.Metric) bool { return m.Paper != nil })
	switch {
	case published && preset == "paper":
		t.Header = append(t.Header, "paper")
	case published:
		t.Header = append(t.Header, "paper (MMD of pairs)")
	}
	reweighted := reweightedTitle(e)
	if reweighted != "" {
		t.Header = append(t.Header, reweighted, "error")
	}
	for _, m := range e.Metrics {
		t.Rows = append(t.Rows, []string{
			report.Label(m.Name),
			exact(m), report.Value(m.Generated, m.Interval),
			report.Deviation(m.Error, m.Relative),
			"[" + report.Value(m.Interval[0], m.Interval) + ", " + report.Value(m.Interval[1], m.Interval) + "]",
			report.Deviation(m.Floor, m.Relative),
		})
		last := &t.Rows[len(t.Rows)-1]
		switch {
		case m.Paper != nil:
			*last = append(*last, report.Deviation(*m.Paper, m.Relative))
		case published:
			*last = append(*last, "–")
		}
		if reweighted != "" {
			*last = append(*last, byWeights(m)...)
		}
	}
	return t.WriteText(w)
}

// reweightedTitle heads the column of means by weights, "" if there are none.
func reweightedTitle(e *measure.Evaluation) string {
	switch {
	case !slices.ContainsFunc(e.Metrics, func(m measure.Metric) bool { return m.Reweighted != nil }):
		return ""
	case e.Weights != nil && !e.Weights.Trusted():
		return "by weights (not to be trusted)"
	default:
		return "by weights"
	}
}

// byWeights writes a figure by weights, half its 95 % interval, and its error.
func byWeights(m measure.Metric) []string {
	r := m.Reweighted
	if r == nil {
		return []string{"", ""}
	}
	return []string{fmt.Sprintf("%s ± %.2g", report.Value(r.Value, r.Interval), (r.Interval[1]-r.Interval[0])/2), report.Deviation(r.Error, m.Relative)}
}

// exact writes what a metric is compared with, with its standard error if it is
// not exact after all.
func exact(m measure.Metric) string {
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
