package answer

import (
	"fmt"
	"slices"
	"strings"
)

// A bar bounds a performance of RevGen relative to a contender, on one thread of a processor
// with AVX-512. A bar is not moved.
type bar struct {
	problem, contender string
	measure            string // the value in words, before the contender's name
	bound              float64
	atMost             bool // the value is to be at most the bound; else at least
	value              func(ours, other *Outcome) float64
}

// bars returns all bars in the order of the problems.
func bars() (list []bar) {
	sampleRatio := func(ours, other *Outcome) float64 { return ours.slowest().Independent / other.slowest().Independent }
	timeRatio := func(ours, other *Outcome) float64 { return ours.slowest().Seconds / other.slowest().Seconds }
	atLeast := func(problem, contender, measure string, bound float64, value func(ours, other *Outcome) float64) {
		list = append(list, bar{problem, contender, measure, bound, false, value})
	}
	atMost := func(problem, contender, measure string, bound float64, value func(ours, other *Outcome) float64) {
		list = append(list, bar{problem, contender, measure, bound, true, value})
	}
	for i, lattice := range []string{"ising-16", "ising-32", "ising-64"} {
		atLeast(lattice, "Wolff", "samples/s, times those of", 12, sampleRatio)
		atMost(lattice, "Wolff", "paid after samples of", []float64{5e5, 3e5, 3e5}[i], (*Outcome).Paid)
	}
	for _, glass := range []string{"glass-8", "glass-16"} {
		atMost(glass, "replica exchange", "time to 1 %, times that of", 1, timeRatio)
	}
	for _, posterior := range []string{"logistic", "schools", "funnel"} {
		atMost(posterior, "Stan's NUTS", "time to 1 %, times that of", 3, timeRatio)
		atLeast(posterior, "Stan's NUTS", "samples/s, times those of", 100, sampleRatio)
	}
	return list
}

// writeBars writes a table of the bars whose contender has run, each with RevGen's best preset.
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
			if o := &outcomes[j]; o.Missing == "" && o.Preset != "" && o.Consistent() {
				values = append(values, bar.value(o, &outcomes[other]))
			}
		}
		if len(values) == 0 {
			continue
		}
		value, bound, verdict := slices.Max(values), "at least ", "missed"
		met := value >= bar.bound
		if bar.atMost {
			value, bound = slices.Min(values), "at most "
			met = value <= bar.bound
		}
		if met {
			verdict = "met"
		}
		fmt.Fprintf(b, "%s| %s | %s %s | %s | %s | %s |\n", heading, bar.problem, bar.measure, bar.contender, bound+quantity(bar.bound), quantity(value), verdict)
		heading = ""
	}
}
