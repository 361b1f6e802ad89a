package measure

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/revgen/revgen/internal/number"
	"github.com/revgen/revgen/internal/stat"
)

// Tolerated is how many times the sampling floor an error may be, alarm with what
// probability one of a table's errors may be called far by chance, and Plain how many
// standard errors what weights say must be off.
const (
	Tolerated = 3
	alarm     = 0.001
	Plain     = 4
)

// rounding is what float32 leaves of a figure, of which no error is the generator's.
const rounding = 1e-6

// Inexact and Unknown begin the warnings that say with what else errors are compared
// than with exact values, and which with nothing. They are none of the generator.
const (
	Inexact = "there is no exact reference "
	Unknown = "no reference: "
	// Unsettled is that for chains that do not agree with each other.
	Unsettled = Unknown + "the reference chains have not converged "
)

// Floors returns the error in units of the expected error of as many exact samples,
// which are compared with the same reference: what that is off by is in theirs, too.
// An error that rounding may make is 0.
func (m *Metric) Floors() float64 {
	if m.Relative && m.Error < rounding || !m.Relative && m.Error < rounding*max(1, math.Abs(m.Exact)) {
		return 0
	}
	return m.Error / math.Hypot(m.Floor, stat.MeanAbsolute(m.Uncertainty))
}

// far reports an error, of a table of so many, that is not chance: infinite, or more than three
// floors, which a law that is narrow exceeds without being off by much, and more than one of a
// thousand tables of exact samples has anywhere. Three floors by themselves are no contradiction:
// of ten averages of exact samples one exceeds them in a sixth of the tables, of thirty in two of
// five. Nothing is far from a reference that has not settled.
func (m *Metric) far(rows int) bool {
	if m.Unsettled || math.IsInf(m.Error, 0) || !(m.Floor > 0) {
		return !m.Unsettled && math.IsInf(m.Error, 0)
	}
	return m.Floors() > Tolerated && m.Floors() > m.chance(alarm/float64(rows))
}

// explained reports whether an error beside an exact reference is chance for the most part: the
// average by weights is within what is tolerated of the reference, and of that of the samples as
// drawn, with which it shares the chance.
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

// chance returns how many floors an error of exact samples exceeds with a probability of
// level: that of an average exactly, another as far out as its 95 % are.
func (m *Metric) chance(level float64) float64 {
	if len(m.Law) == 0 {
		return m.Law.Quantile(1-level, 1)
	}
	const at = 0.95
	return 1 + (m.Quantile/m.Floor-1)*stat.NormalQuantile(1-level)/stat.NormalQuantile(at)
}

// biased returns by how many times the expected error of as many exact samples a figure as
// drawn differs from that by weights, and by how much, as an Error; 0 where that may be
// chance. Weights that contradict an exact reference are not asked.
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

// far reports whether an error of the table is neither chance nor explained.
func (e *Evaluation) far(m *Metric) bool {
	return m.far(len(e.Metrics)) && !(e.weightsTrusted() && m.explained())
}

// Refuted says why the samples are not the target's: modes are missing, or errors are far
// from an exact reference, or from what trusted weights make of the samples. A reference
// that is not known exactly may be to blame itself, and refutes nothing.
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

// against names an error, and that of as many exact samples.
func (m *Metric) against() string {
	if !number.Finite(m.Error) {
		return m.Name + " (infinite)"
	}
	return fmt.Sprintf("%s (%s where as many exact samples have %s, %.1f times that)", m.Name, m.figure(m.Error), m.figure(m.Error/m.Floors()), m.Floors())
}

// Warn adds to an evaluation's warnings which metrics are far from their reference,
// and which have none.
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
