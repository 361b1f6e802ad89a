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
	// Ratio is the present median divided by the former one; below one is
	// faster.
	Ratio    float64    `json:"ratio"`
	Interval [2]float64 `json:"interval"` // 95 % confidence
	Control  [2]float64 `json:"control"`  // the same of the control's times
	Detail   string     `json:"detail,omitempty"`
}

// drift is by how much the median of a row may differ between two runs of one
// program on an idle machine: memory lies elsewhere, clocks run at another rate.
const drift = 0.05

// Compare sets the Change of every row that also stands in the former report.
//
// The 95 % confidence interval of the ratio of times knows the scatter within
// the two runs, not what differs between them. So the verdict is faster or
// slower only where the interval leaves out all ratios that the machine may
// account for: those that the control, the same work before each repetition of
// both runs, leaves possible with 95 % confidence, and a drift of 5 % beyond
// them. If others kept the machine busy in either run it is inconclusive.
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
		before, ok := rows[row.ID()]
		if !ok {
			continue
		}
		c := change(before, row)
		switch {
		case before.Amount != row.Amount:
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

func change(before, after *Row) Change {
	c := Change{Verdict: Inconclusive, Ratio: stat.Median(after.Nanoseconds) / stat.Median(before.Nanoseconds)}
	var enough, controlled bool
	c.Interval, enough = ratioInterval(before.Nanoseconds, after.Nanoseconds)
	c.Control, controlled = ratioInterval(before.Control, after.Control)
	if len(before.Control) == 0 || len(after.Control) == 0 {
		c.Control = [2]float64{1, 1} // there is no number to write
	}
	switch {
	case !enough:
		c.Detail = "too few repetitions for a verdict of 95 % confidence"
	case !controlled:
		c.Detail = "there is no control to tell the machine's part"
	case c.Interval[1]*(1+drift) < min(1, c.Control[0]):
		c.Verdict = Faster
	case c.Interval[0] > max(1, c.Control[1])*(1+drift):
		c.Verdict = Slower
	}
	return c
}
