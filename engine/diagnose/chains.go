package diagnose

import (
	"context"
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/floats"

	"github.com/revgen/revgen/engine"
	"github.com/revgen/revgen/engine/chains"
	"github.com/revgen/revgen/engine/measure"
	"github.com/revgen/revgen/internal/number"
	"github.com/revgen/revgen/internal/stat"
)

// A chainResult is what the independent chains show.
type chainResult struct {
	Chains
	summaries   []stat.ChainSummary // of the columns
	climbs      []bool              // by chain: whether ln π rose, or stayed, over its draws
	trace       trace
	coordinates profile // of vectors
}

// chains runs independent chains, and doubles the steps between draws until they agree with each
// other. Every run begins where the one before ended, that of a glance too. Before its draws it
// burns in for half as many steps as these take.
func (d *diagnosis) chains(ctx context.Context) error {
	limited, cancel := d.deadline(ctx, 1)
	defer cancel()
	n, draws := d.options.Chains, d.options.Draws
	var err error
	if d.chainWalk == nil {
		if d.chainWalk, err = d.observer.Chains(d.params, n); err != nil {
			return err
		}
		if v, ok := d.chainWalk.(chains.VectorWalk); ok {
			v.Shape(d.options.First + uint64(d.options.Samples))
		}
	}
	w, steps := d.chainWalk, 0
	d.visits = make([]visits, n)
	if d.glance {
		if steps, d.arrived, err = d.approach(limited, w.(chains.VectorWalk), 8, prospectSteps, d.patient, func(came []bool) {
			if d.weights != nil {
				d.observe(w, n)
				d.visit(came)
			}
		}); err != nil {
			return err
		}
	}
	for between := 1; between <= d.options.Refine; between *= 2 {
		levels := 1
		if l, ok := w.(chains.LevelledWalk); ok {
			levels = l.Levels()
		}
		if !d.afford(1, draws*between*3/2*n*levels) && between > 1 {
			d.limits = append(d.limits, fmt.Sprintf("its share of work allowed chains %d steps", steps))
			break
		}
		c, err := d.runChains(limited, w, between)
		if late(ctx, err) {
			d.limits = append(d.limits, fmt.Sprintf("time allowed chains %d steps", steps))
			break
		}
		if err != nil {
			return err
		}
		steps += draws * between * 3 / 2
		c.Number, c.Steps = n, steps
		d.chain = c
		if c.Mixed || d.glance {
			break
		}
	}
	if d.chain == nil {
		return nil
	}
	var which []int
	d.chain.Far, which = d.far()
	d.chain.Beyond = len(which)
	if !d.chain.Mixed && d.thin(&d.chain.trace, which) {
		d.chain.Far, d.chain.Beyond, d.chain.Thin = 0, 0, len(which)
		for _, i := range which {
			d.visits[i] = visits{}
		}
	}
	d.widen()
	return nil
}

// visits counts the observed states of one chain.
type visits struct {
	states int
	beyond float64 // Σ (1 − w_max/w)₊ over them; w_max is the largest weight of all samples
}

// visit counts the states that were observed last, of those chains that have come to where samples
// are.
func (d *diagnosis) visit(came []bool) {
	if d.weights == nil {
		return
	}
	stride, weight, largest := len(d.observables), slices.Index(d.observables, engine.LogWeight), slices.Max(d.logs)
	if e := d.options.Evaluation; e != nil && e.Weights != nil {
		largest = max(largest, e.Weights.LogZ+math.Log(e.Weights.Largest))
	}
	for i, settled := range came {
		if !settled {
			continue
		}
		d.visits[i].states++
		if l := d.observed[i*stride+weight]; l > largest {
			d.visits[i].beyond -= math.Expm1(largest - l)
		}
	}
}

// widen widens all errors by weights. The part of Z that samples do not see is taken to be that of π
// beyond q times the largest weight: E[(1 − w_max/w)₊] over the chains' states.
func (d *diagnosis) widen() {
	var all visits
	for _, v := range d.visits {
		all.states, all.beyond = all.states+v.states, all.beyond+v.beyond
	}
	if d.weights == nil || all.beyond == 0 {
		return
	}
	d.chain.Unseen = all.beyond / float64(all.states)
	more := d.weights.Widen(d.chain.Unseen)
	for j := range d.shifts {
		s := &d.shifts[j]
		s.standardError = math.Hypot(s.standardError, more*s.reach)
	}
}

// A trace records the n states of a walk, draw by draw. It has no x and logs where states are no
// vectors or would take more than traceBytes.
type trace struct {
	n       int
	x       []float32 // coordinates in which the states move, [draws][n][d]
	logs    []float64 // ln π, [draws][n]
	columns []float64 // [draws][n][width]
}

const traceBytes = 1 << 27

// add adds a draw. draws is the number that there will be.
func (t *trace) add(w chains.Walk, columns []float64, draws int) {
	t.columns = append(t.columns, columns...)
	if v, ok := w.(chains.VectorWalk); ok && 4*draws*len(v.Moving()) <= traceBytes {
		t.x, t.logs = append(t.x, v.Moving()...), append(t.logs, v.LogDensities()...)
	}
}

// thin reports whether the places of the given states of a trace hold too little of the target to show
// in averages of the samples. The generator hardly draws these states.
func (d *diagnosis) thin(t *trace, states []int) bool {
	if len(t.logs) == 0 || len(states) == 0 {
		return false
	}
	means, deviations := make([]float64, d.width), make([]float64, d.width)
	for j := range means {
		means[j], deviations[j] = d.moments(j, 0)
	}
	places, dim := make([]measure.Place, len(states)), len(t.x)/len(t.logs)
	for i, c := range states {
		p := &places[i]
		p.Above = math.Inf(-1)
		for ; c < len(t.logs); c += t.n {
			for _, v := range t.x[c*dim : (c+1)*dim] {
				p.X = append(p.X, float64(v))
			}
			p.LogPi, p.Above = append(p.LogPi, t.logs[c]), max(p.Above, t.logs[c]-d.meanLogPi)
			for j, column := range d.columns {
				if deviations[j] > 0 && !column.squared && d.names[j] != logDensity {
					p.Away = max(p.Away, math.Abs(t.columns[c*d.width+j]-means[j])/deviations[j])
				}
			}
		}
	}
	samples := d.options.Samples
	if e := d.options.Evaluation; e != nil {
		samples = max(samples, e.Samples)
	}
	return measure.Negligible(d.weights.UnseenBias(places), samples)
}

func (d *diagnosis) runChains(ctx context.Context, w chains.Walk, between int) (*chainResult, error) {
	n, draws := d.options.Chains, d.options.Draws
	seen, logPi, came := trace{n: n}, []float64(nil), slices.Repeat([]bool{true}, n)
	if !d.glance { // a glance counts the second half of the chains' way
		clear(d.visits)
	}
	var at located
	for range draws / 2 {
		if err := w.Advance(ctx, between); err != nil {
			return nil, err
		}
	}
	for range draws {
		if err := w.Advance(ctx, between); err != nil {
			return nil, err
		}
		seen.add(w, d.observe(w, n), draws)
		d.visit(came)
		logPi = append(logPi, d.logPi...)
		if x, dim := coordinates(w, n); x != nil {
			at.add(x, dim, d.center)
		}
	}
	c := &chainResult{Chains: Chains{EffectiveSize: math.Inf(1)}, coordinates: at.profile(), trace: seen}
	c.summaries = stat.Columns(seen.columns, n, d.width)
	for _, s := range c.summaries {
		c.RHat, c.EffectiveSize = max(c.RHat, s.RHat), min(c.EffectiveSize, s.EffectiveSize)
	}
	c.climbs = climbs(logPi, n)
	for i, on := range c.climbs {
		if on && d.logPi[i] < d.lowLogPi {
			d.visits[i] = visits{}
		}
	}
	c.Mixed = c.RHat < maxRHat && c.EffectiveSize >= minEffectiveSize
	return c, nil
}

// approach moves chains by piece steps at a time, up to maxSteps in all, while moves are left. A chain
// has come once ln π was as high as that of samples. Unless patient, approach stops when more than 99
// of 100 have come. It returns the steps, and whether so many have. In the second half of maxSteps it
// calls visit, if not nil, every fourth time with the chains that have come.
func (d *diagnosis) approach(ctx context.Context, w chains.VectorWalk, piece, maxSteps int, patient bool, visit func(came []bool)) (steps int, near bool, err error) {
	came := make([]bool, len(w.LogDensities()))
	for ; (patient || !near) && steps < maxSteps && err == nil && d.afford(1, piece*len(came)); steps += piece {
		err = w.Advance(ctx, piece)
		away := 0
		for i, v := range w.LogDensities() {
			if came[i] = came[i] || v >= d.lowLogPi; !came[i] {
				away++
			}
		}
		near = 100*away < len(came)
		if visit != nil && 2*steps >= maxSteps && steps/piece%4 == 0 {
			visit(came)
		}
	}
	return steps, near, err
}

// climbs reports of each chain whether the mean ln π of the second half of its draws is no lower than
// the highest of the first half. Such a chain is on its way, or cannot move.
func climbs(logPi []float64, chains int) []bool {
	climbs, half := make([]bool, chains), len(logPi)/chains/2
	for i := range climbs {
		highest, later := math.Inf(-1), 0.0
		for t := range 2 * half {
			if v := logPi[t*chains+i]; t < half {
				highest = max(highest, v)
			} else {
				later += v / float64(half)
			}
		}
		climbs[i] = half > 0 && later >= highest
	}
	return climbs
}

// far counts the chains that ended where no walked sample is near, unless chains mix. Their distance to
// the nearest sample, in standard deviations of the observables, is more than twice the largest
// such distance of a part of the samples to the others. beyond are the chains whose weights are too
// large by CountBeyond, with samples near or not. Chains that climb, below the samples, do not count.
func (d *diagnosis) far() (count int, beyond []int) {
	if d.chain.Mixed && d.weights == nil {
		return 0, nil
	}
	stride, samples, scale := len(d.observables), []float64(nil), []float64(nil)
	ends := make([]float64, d.options.Chains*stride)
	if d.chain.Mixed {
		d.chainWalk.Observe(ends)
	} else {
		samples, ends, scale = d.ends()
	}
	settled, logs, logPi := ends[:0:0], []float64(nil), d.logDensities(d.chainWalk, ends)
	var which []int
	for i := 0; i < len(ends); i += stride {
		if d.chain.climbs[i/stride] && logPi[i/stride] < d.lowLogPi {
			continue
		}
		settled = append(settled, ends[i:i+stride]...)
		if d.weights != nil {
			logs = append(logs, ends[i+slices.Index(d.observables, engine.LogWeight)])
			which = append(which, i/stride)
		}
	}
	if d.weights != nil {
		for _, i := range largest(logs, d.weights.CountBeyond(logs)) {
			beyond = append(beyond, which[i])
		}
	}
	if d.chain.Mixed {
		return 0, beyond
	}
	probes := min(d.options.Chains, d.options.Samples/8) * stride
	return apart(settled, samples[:probes], samples[probes:], scale), beyond
}

// largest returns the indices of the n largest values.
func largest(values []float64, n int) []int {
	order := make([]int, len(values))
	floats.Argsort(slices.Clone(values), order)
	return order[len(order)-n:]
}

// unvisited returns the share of the samples that no chain ended near.
func (d *diagnosis) unvisited() float64 {
	samples, ends, scale := d.ends()
	probes := max(1, d.options.Chains/8) * len(d.observables)
	return float64(apart(samples, ends[:probes], ends[probes:], scale)) / float64(d.options.Samples)
}

// ends returns the observables of samples and of chains after their last steps. scale turns
// observables into units of the samples' standard deviations.
func (d *diagnosis) ends() (samples, ends, scale []float64) {
	stride := len(d.observables)
	samples, ends = make([]float64, d.options.Samples*stride), make([]float64, d.options.Chains*stride)
	d.sampleWalk.Observe(samples)
	d.chainWalk.Observe(ends)
	scale = make([]float64, stride)
	for j, name := range d.observables {
		var m stat.Mean
		for i := j; i < len(samples); i += stride {
			if number.Finite(samples[i]) {
				m.Add(samples[i])
			}
		}
		if s := m.Deviation(); s > 0 {
			scale[j] = 1 / s
		}
		if name == engine.LogWeight {
			scale[j] = min(scale[j], 1) // weights within e of each other are near
		}
	}
	return samples, ends, scale
}

// apart counts the points whose distance to the nearest of others is more than twice the largest
// such distance of probes. probes and others have the same law.
func apart(points, probes, others, scale []float64) (count int) {
	stride := len(scale)
	var typical float64
	for i := 0; i < len(probes); i += stride {
		typical = max(typical, nearest(probes[i:i+stride], others, scale))
	}
	for i := 0; i < len(points); i += stride {
		if nearest(points[i:i+stride], others, scale) > 4*typical { // squares
			count++
		}
	}
	return count
}

// nearest returns the least squared distance of a point from others.
func nearest(point, others, scale []float64) float64 {
	least := math.Inf(1)
	for ; len(others) > 0; others = others[len(point):] {
		var sum float64
		for j, v := range point {
			if x := (v - others[j]) * scale[j]; number.Finite(x) {
				sum += x * x
			}
			if sum >= least {
				break
			}
		}
		least = min(least, sum)
	}
	return least
}

// compare compares the samples' mean at a stage with the chains'.
func (d *diagnosis) compare(j, stage int) *Comparison {
	if d.chain == nil {
		return nil
	}
	s := d.chain.summaries[j]
	mean, deviation := d.moments(j, stage)
	c := &Comparison{Mean: s.Mean, StandardError: s.StandardError, RHat: s.RHat, EffectiveSize: s.EffectiveSize, RHatBoth: 1}
	difference := mean - s.Mean
	if se := math.Hypot(s.StandardError, deviation/math.Sqrt(float64(d.options.Samples))); se > 0 {
		c.Z = difference / se
	} else if difference != 0 {
		c.Z = math.Copysign(math.Inf(1), difference)
	}
	if within := (s.Deviation*s.Deviation + deviation*deviation) / 2; within > 0 {
		c.RHatBoth = math.Sqrt(1 + difference*difference/2/within)
	}
	return c
}

// disagree returns the mean at a stage that is farthest from the chains', and whether it is too far
// for chance. Observables take part if they are off by an error that counts.
func (d *diagnosis) disagree(stage int) (worst gap, significant bool) {
	if worst, significant = d.away(stage); significant {
		return worst, true
	}
	worst = gap{}
	for j, name := range d.names {
		c := d.compare(j, stage)
		if math.Abs(c.Z) <= math.Abs(worst.z) {
			continue
		}
		mean, deviation := d.moments(j, stage)
		if math.Abs(mean-c.Mean) > d.tolerance(j, deviation) {
			worst = gap{name, mean, c.Mean, c.StandardError, deviation, d.chain.summaries[j].Deviation, c.Z}
		}
	}
	return worst, math.Abs(worst.z) > d.chance()
}

// chance returns the |z| that normal errors of all observables exceed with a
// probability of familywise.
func (d *diagnosis) chance() float64 {
	return -stat.NormalQuantile(familywise / 2 / float64(d.width))
}
