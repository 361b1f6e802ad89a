package bench

import "github.com/revgen/revgen/internal/stat"

// The verdicts of a comparison with a former report.
const (
	Faster       = "faster"
	Slower       = "slower"
	Inconclusive = "inconclusive"
)

// A Change compares a row with the same row of a former report.
type Change struct {
	Verdict string `json:"verdict"`
	// Ratio is the present median divided by the former one.
	Ratio    float64    `json:"ratio"`
	Interval [2]float64 `json:"interval"` // 95 % confidence
	Control  [2]float64 `json:"control"`  // of the ratio of the control's times
	Detail   string     `json:"detail,omitempty"`
}

// drift bounds the relative difference of a row's median between two runs of one program
// on an idle machine, where memory lies elsewhere and clocks run at another rate.
const drift = 0.05

// Compare sets the Change of every row that also stands in the former report.
//
// The confidence interval of the ratio of times covers the scatter within the two runs,
// but not a change of the machine between them. The control, the same work before each
// repetition of both runs, measures that change, with an interval of its own. The verdict
// is faster or slower only where the row's interval lies beyond both the control's and 1 by
// more than drift. It is inconclusive if others kept the machine busy in either run.
func (r *Report) Compare(former *Report) {
	rows := map[string]*Row{}
	for i := range former.Rows {
		rows[former.Rows[i].ID()] = &former.Rows[i]
	}
	busy := ""
	switch {
	case len(r.Machine.Warnings) > 0:
		busy = r.Machine.Warnings[0]
	case len(former.Machine.Warnings) > 0:
		busy = "formerly " + former.Machine.Warnings[0]
	}
	for i := range r.Rows {
		row := &r.Rows[i]
		formerRow, ok := rows[row.ID()]
		if !ok {
			continue
		}
		c := compareRows(formerRow, row)
		switch {
		case formerRow.Amount != row.Amount:
			c.Verdict, c.Detail = Inconclusive, "the former row did another amount of work"
		case former.Machine.CPU != r.Machine.CPU:
			c.Verdict, c.Detail = Inconclusive, "measured on another CPU: "+former.Machine.CPU
		case busy != "":
			c.Verdict, c.Detail = Inconclusive, busy
		}
		row.Change = &c
	}
}

// Slower returns the names of the rows whose verdict is slower.
func (r *Report) Slower() (names []string) {
	for i := range r.Rows {
		if c := r.Rows[i].Change; c != nil && c.Verdict == Slower {
			names = append(names, r.Rows[i].ID())
		}
	}
	return names
}

// compareRows compares the times of two rows and of their controls.
func compareRows(before, after *Row) Change {
	c := Change{Verdict: Inconclusive, Ratio: stat.Median(after.Nanoseconds) / stat.Median(before.Nanoseconds)}
	var confident, controlConfident bool
	c.Interval, confident = ratioInterval(before.Nanoseconds, after.Nanoseconds)
	c.Control, controlConfident = ratioInterval(before.Control, after.Control)
	if len(before.Control) == 0 || len(after.Control) == 0 {
		c.Control = [2]float64{1, 1} // in place of NaN, which JSON lacks
	}
	switch {
	case !confident:
		c.Detail = "too few repetitions for a verdict of 95 % confidence"
	case !controlConfident:
		c.Detail = "there is no control to tell the machine's part"
	case c.Interval[1]*(1+drift) < min(1, c.Control[0]):
		c.Verdict = Faster
	case c.Interval[0] > max(1, c.Control[1])*(1+drift):
		c.Verdict = Slower
	}
	return c
}
