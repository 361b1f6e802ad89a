package bench

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
	Detail   string     `json:"detail,omitempty"`
}

// Compare sets the Change of every row that also stands in the former report.
// The verdict is faster or slower where the 95 % confidence interval of the
// ratio of times leaves out one. The interval knows only the scatter within the
// two runs: if the machines differ, or one was busy, so do the times.
func (r *Report) Compare(former *Report) {
	rows := map[string]*Row{}
	for i := range former.Rows {
		rows[former.Rows[i].ID()] = &former.Rows[i]
	}
	for i := range r.Rows {
		row := &r.Rows[i]
		before, ok := rows[row.ID()]
		if !ok {
			continue
		}
		c := change(before.Nanoseconds, row.Nanoseconds)
		switch {
		case before.Amount != row.Amount:
			c.Verdict, c.Detail = Inconclusive, "the former row did another amount of work"
		case former.Machine.CPU != r.Machine.CPU:
			c.Detail = "measured on another CPU: " + former.Machine.CPU
		}
		row.Change = &c
	}
}

func change(before, after []float64) Change {
	c := Change{Verdict: Inconclusive, Ratio: median(after) / median(before)}
	var enough bool
	c.Interval, enough = ratioInterval(before, after)
	switch {
	case !enough:
		c.Detail = "too few repetitions for a verdict of 95 % confidence"
	case c.Interval[1] < 1:
		c.Verdict = Faster
	case c.Interval[0] > 1:
		c.Verdict = Slower
	}
	return c
}
