package measure

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/revgen/revgen/internal/number"
	"github.com/revgen/revgen/internal/stat"
)

const (
	Tolerated = 3     // sampling floors that an error may have
	Plain     = 4     // standard errors from which on a difference by weights is no chance
	alarm     = 0.001 // probability that some error of a table is called far by chance
	rounding  = 1e-6  // error that float32 may make
)

// These begin warnings about the reference, not about the generator.
const (
	Inexact   = "there is no exact reference "                       // errors are compared with estimates
	Unknown   = "no reference: "                                     // errors are compared with nothing
	Unsettled = Unknown + "the reference chains have not converged " // chains do not agree with each other
)

// Floors returns the error in units of the expected error of as many exact samples. These would be
// compared with the same reference, so their error includes its uncertainty. An error that rounding
// may make is 0.
func (m *Metric) Floors() float64 {
	if m.Relative && m.Error < rounding || !m.Relative && m.Error < rounding*max(1, math.Abs(m.Exact)) {
		return 0
	}
	return m.Error / math.Hypot(m.Floor, stat.MeanAbsolute(m.Uncertainty))
}

// far reports whether an error in a table of a number of rows is not chance. It is infinite; or it
// is more than Tolerated floors, since small errors with a narrow law do not matter, and more than
// any error in 999 of 1000 tables of exact samples. Tolerated floors alone are no contradiction:
// some error exceeds them in a sixth of the tables with ten averages of exact samples, and in two
// of five tables with thirty. Nothing is far from a reference that has not settled.
func (m *Metric) far(rows int) bool {
	if m.Unsettled || math.IsInf(m.Error, 0) || !(m.Floor > 0) {
		return !m.Unsettled && math.IsInf(m.Error, 0)
	}
	return m.Floors() > Tolerated && m.Floors() > m.chance(alarm/float64(rows))
}

// explained reports whether an error beside an exact reference is mostly chance. The average by
// weights must be within Tolerated floors of the reference, and within as many of the average
// without weights, with which it shares the chance.
func (m *Metric) explained() bool {
	if m.Reweighted == nil || m.Uncertainty > 0 || m.Unsettled || !(m.Floor > 0) || math.IsInf(m.Error, 0) {
		return false
	}
	r, scale := m.Reweighted, 1.0
	if m.Relative {
		scale = 1 / math.Abs(m.Exact)
	}
	difference := math.Abs(m.Generated-r.Value) + 2*r.Apart
	return r.Error <= Tolerated*m.Floor && difference*scale <= Tolerated*m.Floor
}

// chance returns how many floors an error of exact samples exceeds with a probability of level. It
// is exact for an average. Other laws are extended from their 95 % quantile like a normal one.
func (m *Metric) chance(level float64) float64 {
	if len(m.Law) == 0 {
		return m.Law.Quantile(1-level, 1)
	}
	const at = 0.95
	return 1 + (m.Quantile/m.Floor-1)*stat.NormalQuantile(1-level)/stat.NormalQuantile(at)
}

// biased returns the difference between a figure as drawn and by weights, in floors and as an
// Error. Both are 0 where the difference may be chance, and where the weights contradict an exact
// reference.
func (m *Metric) biased() (floors, difference float64) {
	if m.Reweighted == nil || !(m.Floor > 0) {
		return 0, 0
	}
	scale := 1.0
	if m.Relative {
		scale = 1 / math.Abs(m.Exact)
	}
	of, noise := *m, m.Reweighted.StandardError*scale
	if m.Unsettled {
		of.Floor = stat.MeanAbsolute((m.Interval[1]-m.Interval[0])/2/-stat.NormalQuantile(0.025)) * scale
	} else if m.Uncertainty == 0 && m.Reweighted.Error > Plain*noise {
		return 0, 0
	}
	of.Uncertainty, of.Error = 0, math.Abs(m.Generated-m.Reweighted.Value)*scale
	if of.Floors() <= Tolerated || of.Error <= Plain*m.Reweighted.Apart*scale {
		return 0, 0
	}
	return of.Floors(), of.Error
}

func (e *Evaluation) weightsTrusted() bool { return e.Weights != nil && e.Weights.Trusted() }

// far reports whether an error of the table is neither chance nor explained by weights.
func (e *Evaluation) far(m *Metric) bool {
	return m.far(len(e.Metrics)) && !(e.weightsTrusted() && m.explained())
}

// Refuted says why the samples are not the target's. Modes are missing, figures are far from an
// exact reference, or averages differ from those by trusted weights. A reference that is not exact
// may itself be wrong, so it refutes nothing.
func (e *Evaluation) Refuted() (why []string) {
	why = slices.Clone(e.Lost)
	for _, m := range e.Metrics {
		if m.Uncertainty == 0 && e.far(&m) {
			why = append(why, m.against())
		} else if floors, _ := m.biased(); floors > 0 && e.weightsTrusted() {
			why = append(why, fmt.Sprintf("%s is %.1f sampling floors from its importance-weighted average (use weights or exact draws)", m.Name, floors))
		}
	}
	return why
}

// against names the metric, its error, and the error of as many exact samples.
func (m *Metric) against() string {
	if !number.Finite(m.Error) {
		return m.Name + " (infinite)"
	}
	return fmt.Sprintf("%s (%s where as many exact samples have %s, %.1f times that)", m.Name, m.figure(m.Error), m.figure(m.Error/m.Floors()), m.Floors())
}

// Warn adds warnings about weights that cannot be used and metrics that are far from their
// reference, differ from their average by weights, or have no reference.
func (e *Evaluation) Warn() {
	switch neither := "by weights there are neither ln Z nor averages: "; {
	case len(e.Lost) > 0:
		e.Withdraw(neither + e.Lost[0])
	case e.Doubt != "" && e.Weights != nil && !e.Weights.Ample():
		e.Withdraw(neither + e.Doubt)
	}
	if e.Weights != nil && !e.weightsTrusted() {
		e.Warnings = append(e.Warnings, e.Weights.Warning)
	}
	var far, unknown, biased []string
	for _, m := range e.Metrics {
		if floors, difference := m.biased(); floors > 0 && e.weightsTrusted() {
			biased = append(biased, fmt.Sprintf("%s (by %s where as many exact samples are off by %s, %.1f times that)", m.Name, m.figure(difference), m.figure(difference/floors), floors))
		}
		switch {
		case math.IsNaN(m.Error):
			unknown = append(unknown, m.Name)
		case e.far(&m):
			far = append(far, m.against())
		}
	}
	if far != nil {
		e.Warnings = append(e.Warnings, "far from the reference: "+strings.Join(far, "; "))
	}
	if biased != nil {
		e.Warnings = append(e.Warnings, "the samples as drawn differ from their importance-weighted averages: "+strings.Join(biased, "; ")+"; use the weights, or exact draws")
	}
	if unknown != nil {
		e.Warnings = append(e.Warnings, Unknown+strings.Join(unknown, ", "))
	}
}

// figure writes an error of the metric.
func (m *Metric) figure(x float64) string {
	if m.Relative {
		return number.Percent(x)
	}
	return fmt.Sprintf("%.2g", x)
}
