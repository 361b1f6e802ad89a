package answer

import (
	"fmt"
	"math"
	"slices"
	"strings"
)

// A bar is what the project asks of itself beside a contender, on one thread of a processor with
// AVX-512. A bar is not moved.
type bar struct {
	problem, contender, what string
	bound                    float64
	most                     bool // at most the bound, not at least
	of                       func(ours []*Outcome, other *Outcome) float64
}

// bars lists them in the order of the problems.
func bars() (all []bar) {
	drawn := func(ours []*Outcome, other *Outcome) (most float64) {
		for _, o := range ours {
			most = max(most, o.slowest().Independent/other.slowest().Independent)
		}
		return most
	}
	least := func(of func(o, other *Outcome) float64) func([]*Outcome, *Outcome) float64 {
		return func(ours []*Outcome, other *Outcome) float64 {
			best := math.Inf(1)
			for _, o := range ours {
				best = min(best, of(o, other))
			}
			return best
		}
	}
	paid := least((*Outcome).Paid)
	answered := least(func(o, other *Outcome) float64 { return o.slowest().Seconds / other.slowest().Seconds })
	for i, lattice := range []string{"ising-16", "ising-32", "ising-64"} {
		all = append(all,
			bar{lattice, "Wolff", "samples/s, times those of", 12, false, drawn},
			bar{lattice, "Wolff", "paid after samples of", []float64{5e5, 3e5, 3e5}[i], true, paid})
	}
	for _, glass := range []string{"glass-8", "glass-16"} {
		all = append(all, bar{glass, "replica exchange", "time to 1 %, times that of", 1, true, answered})
	}
	for _, posterior := range []string{"logistic", "schools", "funnel"} {
		all = append(all,
			bar{posterior, "Stan's NUTS", "time to 1 %, times that of", 3, true, answered},
			bar{posterior, "Stan's NUTS", "samples/s, times those of", 100, false, drawn})
	}
	return all
}

// writeBars writes a table of the bars whose contender has run.
func (r *Report) writeBars(b *strings.Builder) {
	heading := "\n| target | bar | | measured | |\n|---|---|--:|--:|---|\n"
	for _, bar := range bars() {
		i := slices.IndexFunc(r.Answers, func(a Answer) bool { return a.Problem == bar.problem })
		if i < 0 {
			continue
		}
		var ours []*Outcome
		var other *Outcome
		for j := range r.Answers[i].Outcomes {
			switch o := &r.Answers[i].Outcomes[j]; {
			case o.Missing != "":
			case o.Preset != "" && o.Right():
				ours = append(ours, o)
			case o.Contender == bar.contender:
				other = o
			}
		}
		if len(ours) == 0 || other == nil {
			continue
		}
		value, bound, verdict := bar.of(ours, other), "at least ", "missed"
		if bar.most {
			bound = "at most "
		}
		if bar.most && value <= bar.bound || !bar.most && value >= bar.bound {
			verdict = "met"
		}
		fmt.Fprintf(b, "%s| %s | %s %s | %s | %s | %s |\n", heading, bar.problem, bar.what, bar.contender, bound+quantity(bar.bound), quantity(value), verdict)
		heading = ""
	}
}
