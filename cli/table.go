package cli

import (
	"fmt"
	"io"
	"math"

	"github.com/revgen/revgen/engine"
	"github.com/revgen/revgen/internal/report"
)

// writeEvaluation writes the table that ends a training run.
func writeEvaluation(w io.Writer, e *engine.Evaluation) error {
	t := report.Table{Header: []string{"metric", "exact", "generated", "error", "95 % interval", "sampling floor", "paper"}, Left: 1}
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
	}
	return t.WriteText(w)
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
