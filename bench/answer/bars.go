package answer

import (
	"fmt"
	"slices"
	"strings"
)

// A bar is what the project asks of itself beside a contender, on one thread of a processor with
// AVX-512. A bar is not moved.
type bar struct {
	problem, contender, what string
	bound                    float64
	most                     bool // at most the bound, not at least
	of                       func(ours, other *Outcome) float64
}

// bars lists them in the order of the problems.
func bars() (all []bar) {
	drawn := func(ours, other *Outcome) float64 { return ours.slowest().Independent / other.slowest().Independent }
	answered := func(ours, other *Outcome) float64 { return ours.slowest().Seconds / other.slowest().Seconds }
	for i, lattice := range []string{"ising-16", "ising-32", "ising-64"} {
		all = append(all,
			bar{lattice, "Wolff", "samples/s, times those of", 12, false, drawn},
			bar{lattice, "Wolff", "paid after samples of", []float64{5e5, 3e5, 3e5}[i], true, (*Outcome).Paid})
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
		outcomes := r.Answers[i].Outcomes
		other := slices.IndexFunc(outcomes, func(o Outcome) bool { return o.Missing == "" && o.Contender == bar.contender })
		if other < 0 {
			continue
		}
		var values []float64
		for j := range outcomes {
			if o := &outcomes[j]; o.Missing == "" && o.Preset != "" && o.Right() {
				values = append(values, bar.of(o, &outcomes[other]))
			}
		}
		if len(values) == 0 {
			continue
		}
		value, bound, verdict := slices.Max(values), "at least ", "missed"
		met := value >= bar.bound
		if bar.most {
			value, bound = slices.Min(values), "at most "
			met = value <= bar.bound
		}
		if met {
			verdict = "met"
		}
		fmt.Fprintf(b, "%s| %s | %s %s | %s | %s | %s |\n", heading, bar.problem, bar.what, bar.contender, bound+quantity(bar.bound), quantity(value), verdict)
		heading = ""
	}
}
