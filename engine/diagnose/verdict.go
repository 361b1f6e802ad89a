package diagnose

import (
	"fmt"
	"math"
	"strings"
	"time"

	"github.com/revgen/revgen/internal/number"
	"github.com/revgen/revgen/internal/stat"
)

// report gathers what was seen and judges it.
func (d *diagnosis) report() *Report {
	o := d.options
	r := &Report{
		Refine: -1, Samples: o.Samples, First: o.First, Steps: d.steps[len(d.steps)-1],
		Resolution: (d.alarm() + 1) / math.Sqrt(float64(o.Samples)) * math.Sqrt2, Weights: d.weights, Prospect: d.found, Limits: d.limits,
	}
	if d.chain != nil {
		r.Chains = &d.chain.Chains
	}
	if d.many != nil {
		r.Many = &d.many.Weights
	}
	f := d.findings()
	stage := d.judge(r, f)
	d.refute(r)
	if why := d.collapseDoubt(); why != "" && d.weightsTrusted() {
		r.withdrawWeights(why)
	}
	if r.Verdict == Trustworthy {
		r.Sentence += d.describeProspect()
	}
	for j, name := range d.names {
		seen := Observable{Name: name, Settled: -1, Memory: d.memory(j)}
		seen.Mean, seen.Deviation = d.moments(j, 0)
		seen.Refined, _ = d.moments(j, stage)
		for to := 1; to < len(d.stages); to++ {
			seen.Drift = append(seen.Drift, d.change(j, 0, to))
		}
		if s := d.settled(j); d.watched(s) {
			seen.Settled = d.steps[s]
		}
		seen.Chains = d.compare(j, stage)
		if d.weightsTrusted() {
			s := d.shifts[j]
			seen.Weighted, seen.WeightedError, seen.WeightedZ = &s.mean, s.standardError, s.z
		}
		r.Observables = append(r.Observables, seen)
	}
	r.Seconds = time.Since(d.start).Seconds()
	return r
}

// describeProspect says what chains found where the generator draws no samples.
func (d *diagnosis) describeProspect() (text string) {
	thin := 0
	if d.chain != nil {
		thin = d.chain.Thin
	}
	if p := d.found; p != nil {
		thin += p.Thin
		found := "no other mode"
		if p.Thin > 0 {
			found = "no other mode that counts"
		}
		text = fmt.Sprintf("; %d chains started up to %g times the target's scale away and met %s", p.Chains, p.Scale, found)
	}
	if thin > 0 {
		text += fmt.Sprintf("; %s ended in states that the generator hardly draws, which hold too little of the target to show in averages", number.Count(thin, "chain"))
	}
	return text
}

// findings are what a verdict follows from.
type findings struct {
	moved     bool    // an average drifts by more than chance
	worst     int     // index of the observable that drifts most, by Z
	drift     float64 // drift of this observable, in standard deviations
	driftAt   int     // number of steps after which it drifts so far
	settled   int     // first stage from which on no average moves, 0 unless moved
	forgot    bool    // all observables have forgotten where samples began
	remembers int     // index of the observable with the longest memory
	mixed     bool    // chains agree with each other
	far       bool    // more than a few chains ended far from all samples
	reach     float64 // least bias that a comparison with chains shows, in standard deviations
}

func (d *diagnosis) findings() (f findings) {
	var maxZ, maxMemory float64
	for j := range d.width {
		_, deviation := d.moments(j, 0)
		_, later := d.moments(j, len(d.stages)-1)
		deviation = max(deviation, later)
		for to := 1; to < len(d.stages); to++ {
			c := d.change(j, 0, to)
			if z := math.Abs(c.Z); z > maxZ {
				maxZ, f.worst, f.drift, f.driftAt = z, j, c.Change/deviation, c.Steps
			}
		}
		f.settled = max(f.settled, d.settled(j))
		if m := d.memory(j); m > maxMemory {
			maxMemory, f.remembers = m, j
		}
	}
	f.moved = maxZ > d.alarm() && !(d.watched(f.settled) && d.driftsSlightly())
	f.forgot = maxMemory < minRemembered
	if d.chain != nil {
		f.mixed, f.far = d.chain.Mixed, d.chain.Far > max(2, d.options.Chains/100)
		for j := range d.width {
			c := d.chain.summaries[j]
			if c.Deviation > 0 {
				f.reach = max(f.reach, d.chance()*math.Hypot(c.StandardError/c.Deviation, 1/math.Sqrt(float64(d.options.Samples))))
			}
		}
	}
	if !f.moved {
		f.settled = 0
	}
	return f
}

// driftsSlightly reports whether no average drifts by more than its tolerance at any stage.
func (d *diagnosis) driftsSlightly() bool {
	for j := range d.width {
		_, deviation := d.moments(j, 0)
		tolerance := d.tolerance(j, deviation)
		for to := 1; to < len(d.stages); to++ {
			if math.Abs(d.change(j, 0, to).Change) > tolerance {
				return false
			}
		}
	}
	return true
}

// judge sets the verdict, and returns the stage whose means the report shows.
func (d *diagnosis) judge(r *Report, f findings) (stage int) {
	steps := r.Steps
	say := func(v Verdict, format string, args ...any) {
		r.Verdict, r.Sentence = v, lead[v]+fmt.Sprintf(format, args...)
	}
	drifts := fmt.Sprintf("%s drifts by %.2g standard deviations within %s", d.names[f.worst], math.Abs(f.drift), number.Count(f.driftAt, "Metropolis step"))
	switch {
	case f.moved && !d.watched(f.settled):
		say(Wrong, "%s, and has not come to rest, or not for long, within %d", drifts, steps)
		return 0
	case f.mixed:
		return d.judgeMixed(r, f, drifts, say)
	case d.chain != nil && !f.mixed && d.chain.Beyond > 0:
		return d.judgeBeyond(r, fmt.Sprintf("and chains do not mix (R̂ = %.3g): a mode or a tail is missing, or the chains are still on their way%s", d.chain.RHat, driftSuffix(f, drifts)), say)
	case f.far:
		say(Unknown, "%d of %d independent Markov chains ended where no sample is near, and chains do not mix (R̂ = %.3g): a mode may be missing%s",
			d.chain.Far, d.options.Chains, d.chain.RHat, driftSuffix(f, drifts))
		r.withdrawWeights("chains ended where no sample is near")
		return 0
	}
	unmixed := "independent Markov chains were not run"
	if d.chain != nil {
		unmixed = fmt.Sprintf("independent Markov chains do not mix within %d steps (R̂ = %.3g)", d.chain.Steps, d.chain.RHat)
	}
	if !f.moved && d.weightsTrusted() {
		if d.judgeBias("which Metropolis steps do not mend; "+unmixed, say) {
			return 0
		}
		if d.chain == nil {
			say(Unknown, "%s and importance weights give the same, but the time was too short for independent Markov chains, which look for what the samples leave out", atRest(steps))
			return 0
		}
		if tail := d.tailDoubt(); tail != "" {
			say(Unknown, "%s and importance weights give the same, but %s, and %s: nothing here has seen what the samples leave out", atRest(steps), tail, unmixed)
			return 0
		}
		chains := fmt.Sprintf("end where samples are, but do not mix within %d steps (R̂ = %.3g)", d.chain.Steps, d.chain.RHat)
		if d.glance {
			chains = fmt.Sprintf("came to where samples are within %d steps", d.chain.Steps)
		}
		say(Trustworthy, "%s, and importance weights give the same (effective size %.4g, k̂ %s; a difference of more than %.2g standard deviations would show); independent Markov chains %s",
			atRest(steps), d.weights.EffectiveSize, stat.ShapeText(d.weights.ParetoK), d.visibleBias(), chains)
		r.Refine = 0
		return 0
	}
	why := unmixed
	if d.weights != nil && !d.weightsTrusted() {
		why = d.weights.Warning + ", and " + unmixed
	}
	if !f.forgot {
		why = fmt.Sprintf("nothing crosses between the values of %s, and %s", d.names[f.remembers], why)
	}
	if f.moved {
		say(Unknown, "as drawn, %s; after %s averages stay put, but %s", drifts, number.Count(d.steps[f.settled], "step"), why)
		return f.settled
	}
	say(Unknown, "%s, but %s", atRest(steps), why)
	return 0
}

// refute makes a verdict Wrong that a lost mode or the evaluation contradicts. Only lost modes
// contradict Refine: the rest of the evaluation is of samples as drawn.
func (d *diagnosis) refute(r *Report) {
	if p := d.found; p != nil && p.Lost > 0 && r.Verdict != Wrong {
		r.Verdict, r.Refine = Wrong, -1
		r.Sentence = lead[Wrong] + fmt.Sprintf("%d of %d chains, started up to %g times the target's scale away, ended in states that are as likely as the samples and that the generator hardly draws: a mode is lost, near %s",
			p.Lost, p.Chains, p.Scale, p.Near)
		r.withdrawWeights("a mode is lost, near " + p.Near)
		return
	}
	e := d.options.Evaluation
	if e == nil || r.Verdict == Wrong || r.Verdict == Refine && len(e.Lost) == 0 {
		return
	}
	if why := e.Refuted(); len(why) > 0 {
		r.Verdict, r.Refine = Wrong, -1
		r.Sentence = fmt.Sprintf("wrong, as %d samples show: %s", e.Samples, strings.Join(why, "; "))
	}
}

// judgeMixed is judge for chains that mix, whose averages are the target's.
func (d *diagnosis) judgeMixed(r *Report, f findings, drifts string, say func(Verdict, string, ...any)) (stage int) {
	n := d.options.Chains
	// Find the first stage at rest whose means agree with the chains'.
	for stage = f.settled; stage < len(d.stages); stage++ {
		if _, significant := d.disagree(stage); !significant {
			break
		}
	}
	if stage == len(d.stages) {
		stage--
		g, _ := d.disagree(stage)
		if !f.moved && d.weights != nil && d.tailDoubt() == "" {
			if _, biased := d.largestShift(); !biased {
				return d.judgeDisagreement(r, g, say)
			}
		}
		say(Wrong, "%d independent Markov chains, which mix, have %s at %.4g ± %.1g, and samples after %s have it at %.4g, %.2g standard deviations off: modes are missing, or their weights are wrong",
			n, g.name, g.chains, g.standardError, number.Count(d.steps[stage], "Metropolis step"), g.mean, math.Abs(g.mean-g.chains)/max(g.deviation, g.deviationOfChains))
		return stage
	}
	r.Refine = d.steps[stage]
	if stage == 0 && d.chain.Beyond > 0 {
		return d.judgeBeyond(r, "though all of them find the same averages as the samples: a small mode or a tail is missing", say)
	}
	if stage == 0 && d.weights != nil && d.tailDoubt() == "" && d.judgeBias("which is too little for chains to see", say) {
		r.Refine = -1
		return stage
	}
	if why := d.outskirtsDoubt(); stage == 0 && why != "" {
		say(Unknown, "%s, and %d independent Markov chains find the same, which would show a difference of more than %.2g standard deviations, but %s: less than that only weights would show",
			atRest(r.Steps), n, f.reach, why)
		r.Refine = -1
		return stage
	}
	if stage == 0 {
		say(Trustworthy, "%s, and %d independent Markov chains find the same (a difference of more than %.2g standard deviations would show)", atRest(r.Steps), n, f.reach)
		return stage
	}
	if !f.moved {
		g, _ := d.disagree(0)
		drifts = fmt.Sprintf("%s differs from that of chains", g.name)
	}
	say(Refine, "--refine %d: as drawn, %s; after %s averages stay put, and %d independent Markov chains find the same (a difference of more than %.2g standard deviations would show)",
		r.Refine, drifts, number.Count(r.Refine, "step"), n, f.reach)
	return stage
}

// judgeBias says Wrong if weights contradict averages as drawn, and reports whether they do.
func (d *diagnosis) judgeBias(why string, say func(Verdict, string, ...any)) bool {
	worst, biased := d.largestShift()
	if s := d.shifts[worst]; biased {
		say(Wrong, "importance weights of %d samples say that %s is off by %.2g standard deviations, %.1f sampling floors, %s",
			s.samples, s.name, math.Abs(s.difference)/s.deviation, math.Abs(s.difference)/s.floor, why)
	}
	return biased
}

// judgeBeyond is judge for chains that ended in states that the generator hardly draws.
func (d *diagnosis) judgeBeyond(r *Report, why string, say func(Verdict, string, ...any)) (stage int) {
	say(Unknown, "%d of %d independent Markov chains ended where the generator's density is too small for so many, %s", d.chain.Beyond, d.options.Chains, why)
	r.Refine = -1
	r.withdrawWeights("chains ended where the generator's density is too small")
	return 0
}

// maxUnvisited is the largest share of the samples that may be far from all chains by chance.
const maxUnvisited = 0.1

// judgeDisagreement is judge if chains mix and contradict the samples, but weights do not. Chains
// that never entered a mode cannot tell its weight; the density can.
func (d *diagnosis) judgeDisagreement(r *Report, g gap, say func(Verdict, string, ...any)) (stage int) {
	chains := fmt.Sprintf("%d independent Markov chains have %s at %.4g ± %.1g, and the samples at %.4g", d.options.Chains, g.name, g.chains, g.standardError, g.mean)
	if share := d.unvisited(); share > maxUnvisited {
		say(Trustworthy, "%s, and importance weights give the same (effective size %.4g, k̂ %s; a difference of more than %.2g standard deviations would show); %s, but %s of the samples are where no chain came, so chains cannot decide",
			atRest(r.Steps), d.weights.EffectiveSize, stat.ShapeText(d.weights.ParetoK), d.visibleBias(), chains, number.Percent(share))
		r.Refine = 0
		return 0
	}
	say(Unknown, "two pieces of evidence contradict each other: %s, while importance weights (effective size %.4g, k̂ %s) agree with the samples; longer chains decide: revgen mcmc",
		chains, d.weights.EffectiveSize, stat.ShapeText(d.weights.ParetoK))
	r.withdrawWeights("chains that agree with each other contradict them")
	return 0
}

// lead holds the beginning of each verdict's sentence.
var lead = map[Verdict]string{
	Trustworthy: "trustworthy: ",
	Refine:      "usable after ",
	Wrong:       "wrong, do not use: ",
	Unknown:     "cannot tell: ",
}

// atRest says that nothing drifts.
func atRest(steps int) string {
	return "averages stay put over " + number.Count(steps, "Metropolis step")
}

// driftSuffix adds the drift to a sentence on something else.
func driftSuffix(f findings, drifts string) string {
	if f.moved {
		return "; as drawn, " + drifts
	}
	return ""
}
