package cli

import (
	"fmt"
	"math"
	"slices"

	"github.com/revgen/revgen/engine/diagnose"
	"github.com/revgen/revgen/engine/measure"
	"github.com/revgen/revgen/internal/report"
)

// evaluationTable is the table of a run's metrics, on the terminal and on its page. If another
// preset than the paper's made the run, the header of the paper's errors names the paper's method.
func evaluationTable(preset string, e *measure.Evaluation) *report.Table {
	t := &report.Table{Header: []string{"metric", referenceTitle(e), "generated", "error", "95 % interval", "sampling floor"}, Left: 1}
	hasPaper := slices.ContainsFunc(e.Metrics, func(m measure.Metric) bool { return m.Paper != nil })
	switch {
	case hasPaper && preset == "paper":
		t.Header = append(t.Header, "paper")
	case hasPaper:
		t.Header = append(t.Header, "paper (MMD of pairs)")
	}
	title := weightedTitle(e) // "" without averages by weights
	if title != "" {
		t.Header = append(t.Header, title, "error")
	}
	for _, m := range e.Metrics {
		t.Rows = append(t.Rows, []string{
			report.Label(m.Name),
			referenceText(m), report.Value(m.Generated, m.Interval),
			report.Deviation(m.Error, m.Relative),
			"[" + report.Value(m.Interval[0], m.Interval) + ", " + report.Value(m.Interval[1], m.Interval) + "]",
			report.Deviation(m.Floor, m.Relative),
		})
		last := &t.Rows[len(t.Rows)-1]
		switch {
		case m.Paper != nil:
			*last = append(*last, report.Deviation(*m.Paper, m.Relative))
		case hasPaper:
			*last = append(*last, "–")
		}
		if title != "" {
			*last = append(*last, weightedCells(m)...)
		}
	}
	return t
}

// referenceTitle is the header of the column of references.
func referenceTitle(e *measure.Evaluation) string {
	switch {
	case slices.ContainsFunc(e.Metrics, func(m measure.Metric) bool { return m.Unsettled }):
		return "reference (unreliable)"
	case slices.ContainsFunc(e.Metrics, func(m measure.Metric) bool { return m.Uncertainty > 0 }):
		return "reference"
	default:
		return "exact"
	}
}

// weightedTitle is the header of the column of weighted means, "" if there are none.
func weightedTitle(e *measure.Evaluation) string {
	switch {
	case !slices.ContainsFunc(e.Metrics, func(m measure.Metric) bool { return m.Reweighted != nil }):
		return ""
	case e.Weights != nil && !e.Weights.Trusted():
		return "by weights (not to be trusted)"
	default:
		return "by weights"
	}
}

// weightedCells returns the cells of a weighted mean with half its 95 % interval, and of its error.
func weightedCells(m measure.Metric) []string {
	r := m.Reweighted
	if r == nil {
		return []string{"", ""}
	}
	half := "unknown"
	if !math.IsNaN(r.StandardError) {
		half = fmt.Sprintf("%.2g", (r.Interval[1]-r.Interval[0])/2)
	}
	return []string{report.Value(r.Value, r.Interval) + " ± " + half, report.Deviation(r.Error, m.Relative)}
}

// referenceText writes the reference of a metric, with its standard error unless it is exact.
func referenceText(m measure.Metric) string {
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

// diagnosisLegend explains the columns of diagnosisTable.
const diagnosisLegend = "drift: change of the mean after all steps; ends after: number of steps after which the mean stays put; memory: correlation between the first and the last state, 1 if nothing moves; off by: difference from the mean of the samples, in standard errors (se)"

// diagnosisTable is the table of a diagnosis by observables, on the terminal and on a run's page.
func diagnosisTable(r *diagnose.Report) *report.Table {
	t := &report.Table{Header: []string{"observable", "as drawn", "deviation", "drift", "± 95 %", "ends after", "memory"}, Left: 1}
	if r.Chains != nil {
		t.Header = append(t.Header, "chains", "off by", "R̂")
	}
	hasWeights := r.Weights != nil && r.Weights.Trusted()
	if hasWeights {
		t.Header = append(t.Header, "by weights", "off by")
	}
	for _, o := range r.Observables {
		row := []string{report.Label(o.Name), digits(o.Mean), digits(o.Deviation), "–", "–", "–", fmt.Sprintf("%.2f", o.Memory)}
		if n := len(o.Drift); n > 0 {
			last := o.Drift[n-1]
			row[3], row[4] = digits(last.Change), digits(1.96*last.StandardError)
		}
		if o.Settled >= 0 {
			row[5] = fmt.Sprint(o.Settled)
		}
		switch c := o.Chains; {
		case c != nil:
			row = append(row, digits(c.Mean), fmt.Sprintf("%+.1f se", c.Z), fmt.Sprintf("%.3f", c.RHat))
		case r.Chains != nil:
			row = append(row, "–", "–", "–")
		}
		switch {
		case !hasWeights:
		case o.Weighted != nil:
			row = append(row, fmt.Sprintf("%s ± %.2g", digits(*o.Weighted), 1.96*o.WeightedError), fmt.Sprintf("%+.1f se", -o.WeightedZ))
		default:
			row = append(row, "–", "–")
		}
		t.Rows = append(t.Rows, row)
	}
	return t
}

func digits(x float64) string { return fmt.Sprintf("%.4g", x) }
