package diagnose

import (
	"context"
	"fmt"
	"math"
	"slices"

	"github.com/revgen/revgen/engine"
	"github.com/revgen/revgen/engine/measure"
	"github.com/revgen/revgen/internal/stat"
)

// A shift is how far the samples' mean of an observable is from its mean by weights.
type shift struct {
	name                string
	mean, standardError float64 // mean by weights, with its error
	reach               float64 // WeightedMean.Reach of the observable
	difference          float64 // mean by weights less the samples' mean
	apart               float64 // standard error of difference
	floor               float64 // expected error of as many exact samples as were measured
	tolerance           float64 // largest error that does not count, some floors
	deviation           float64 // standard deviation of single samples
	z                   float64 // difference in units of apart and the error of the samples' mean, in quadrature
	samples             int
	slow                bool // averages of the observable hardly converge, so that difference says nothing
}

const (
	// maxSpreadFloors replaces measure.Tolerated for ln π, and for the spreads of ln π and of squares.
	// These fourth moments have larger errors than the averages that users ask for.
	maxSpreadFloors   = 8
	drawMoves         = 16      // moves that a sample with its density counts as
	maxWeighed        = 1 << 18 // limit of samples whose columns are kept
	maxWeighedBriefly = 1 << 16 // maxWeighed of a brief diagnosis, which takes a tenth of the training
	maxSearched       = 1 << 22 // limit of samples of vectors, for which only weights and sums are kept
	searchMoves       = 6       // moves that one such sample counts as, plus one for each paramsPerMove
	paramsPerMove     = 1 << 12 // parameters of the generator
	maxUnseen         = 0.5     // share of a mean's error by chance that a harmless tail may add
)

// weigh finds the importance weights of the samples as drawn, if the density is known. It draws
// more samples while noise may hide an error that counts.
func (d *diagnosis) weigh(ctx context.Context) (err error) {
	if d.logs == nil {
		return nil
	}
	limited, cancel := d.deadline(ctx, 0.7) // the walk of the samples may take 0.6
	defer cancel()
	maxSamples := min(maxWeighed, stateBytes/(8*d.width+4*len(d.center)))
	if d.options.Need {
		maxSamples = min(maxSamples, maxWeighedBriefly)
	}
	if d.options.Moves > 0 {
		maxSamples = min(maxSamples, d.options.Moves/drawMoves)
	}
	values := slices.Clone(d.stages[0])
	d.computeShifts(values)
	d.walkWeights = d.weights
	if values, err = d.weighMore(limited, values, maxSamples); err != nil {
		return err
	}
	trusted := d.weightsTrusted()
	if err := d.search(limited); err != nil {
		return err
	}
	if d.steady() && !trusted {
		d.computeShifts(values)
		if _, err = d.weighMore(limited, values, maxSamples); err != nil {
			return err
		}
	}
	d.adoptMany()
	return ctx.Err()
}

// weighMore weighs more samples, up to maxSamples in all, while noise may hide an error that counts.
// values are the columns of the samples so far, and weighMore returns the columns of all samples.
func (d *diagnosis) weighMore(ctx context.Context, values []float64, maxSamples int) ([]float64, error) {
	n := d.options.Samples
	for d.weightsTrusted() && !d.resolved() && len(d.logs)+n <= maxSamples && ctx.Err() == nil {
		extra := int(max(1, min(d.growthNeeded()-1, 8)) * float64(len(d.logs)))
		for walks := min(extra, maxSamples-len(d.logs)) / n; walks > 0 && ctx.Err() == nil; walks-- {
			w, err := d.observer.Walk(d.params, d.options.First+uint64(len(d.logs)), n)
			if err != nil {
				return nil, err
			}
			drawn := make([]float64, n*len(d.observables))
			w.Observe(drawn)
			d.keepLogs(drawn)
			values = append(values, d.columnsOf(drawn)...)
			if d.spots != nil {
				x, err := d.spins(w, n)
				if err != nil {
					return nil, err
				}
				if x == nil {
					x, _ = coordinates(w, n)
				}
				d.spots = append(d.spots, x...)
			}
		}
		d.computeShifts(values)
	}
	return values, nil
}

// A multitude is what is kept of many more samples: their weights and sums of their columns.
type multitude struct {
	Weights
	names  []string // names of the columns
	summed int      // number of samples in sums; the weights have those of diagnosis.logs too
	sums   []sums   // sums of each column
}

// sums are sums over samples. v is a column less its mean by weights, and w a sample's weight
// divided by the mean weight.
type sums struct {
	drawn, weighed float64 // Σ v, Σ w v
	squares, terms float64 // Σ w v², Σ (w v)²
	differences    float64 // Σ ((w − 1) v)²
}

// search weighs many more samples of vectors if their densities are cheap. A sample may lie in a
// mode too narrow for chains to meet, or far from the target. All together show the weights' tail.
func (d *diagnosis) search(ctx context.Context) error {
	n, maxSamples := d.options.Samples, maxSearched
	if d.options.Moves > 0 {
		maxSamples = min(maxSamples, d.options.Moves/(searchMoves+len(d.params)/paramsPerMove))
	}
	if d.many != nil || !d.cheap || !d.weightsTrusted() && !d.weights.Ample() {
		return nil
	}
	totals := make([]sums, len(d.columns))
	r := make([]float64, len(d.logs), max(len(d.logs), maxSamples))
	for i, l := range d.logs {
		r[i] = -l
	}
	weight, drawn := slices.Index(d.observables, engine.LogWeight), make([]float64, n*len(d.observables))
	for len(r)+n <= maxSamples && ctx.Err() == nil {
		w, err := d.observer.Walk(d.params, d.options.First+uint64(len(r)), n)
		if err != nil {
			return err
		}
		w.Observe(drawn)
		for i := 0; i < len(drawn); i += len(d.observables) {
			r = append(r, -drawn[i+weight])
			d.addSums(totals, drawn[i:][:len(d.observables)], drawn[i+weight])
		}
	}
	d.many = &multitude{measure.NewWeights(r), d.names, len(r) - len(d.logs), totals}
	return nil
}

// addSums adds a sample to the sums of each column.
func (d *diagnosis) addSums(totals []sums, observables []float64, logWeight float64) {
	w := math.Exp(logWeight - d.weights.LogZ)
	for j := range totals {
		c, a := &d.columns[j], &totals[j]
		v := c.value(observables[c.observable]) - d.shifts[j].mean
		a.drawn += v
		a.weighed += w * v
		a.squares += w * v * v
		a.terms += w * v * w * v
		a.differences += (w - 1) * v * (w - 1) * v
	}
}

// adoptMany replaces shifts of columns by those of many samples where these have a smaller error. A
// small set hardly has any samples far from the target.
func (d *diagnosis) adoptMany() {
	m := d.many
	if m == nil || !m.Trusted() || !d.weightsTrusted() || !slices.Equal(m.names, d.names) {
		return
	}
	n := float64(m.summed)
	for j, a := range m.sums {
		s := &d.shifts[j]
		if apart := min(math.Sqrt(a.differences), math.Hypot(math.Sqrt(a.terms), math.Sqrt(a.squares))) / n; apart < s.apart {
			s.difference, s.apart, s.samples = (a.weighed-a.drawn)/n, apart, m.summed
			s.z = s.difference / math.Hypot(apart, s.deviation/math.Sqrt(n))
		}
	}
}

// steady reports whether the weights of many more samples can be trusted, cover the target, and have a
// tail too small to show in averages. The tails of the smaller sets are taken as part of it.
func (d *diagnosis) steady() bool {
	m := d.many
	if m == nil || !m.Trusted() || !m.Ample() {
		return false
	}
	var tail float64
	for _, w := range d.allWeights() {
		tail = max(tail, w.Largest, w.Tail*float64(w.Samples))
	}
	return (m.Unseen+tail/float64(m.Samples))*math.Sqrt(float64(d.measured())) < maxUnseen
}

// keepLogs appends the ln w of states to logs. values are the states' observables.
func (d *diagnosis) keepLogs(values []float64) {
	for i := slices.Index(d.observables, engine.LogWeight); i < len(values); i += len(d.observables) {
		d.logs = append(d.logs, values[i])
	}
}

// computeShifts finds the weights of all samples in logs, and the shifts of their columns and of
// coordinates that have no column.
func (d *diagnosis) computeShifts(columns []float64) {
	n := len(d.logs)
	r := make([]float64, n)
	for i, l := range d.logs {
		r[i] = -l
	}
	estimate := measure.NewReweighing(r)
	d.weights, d.shifts = &estimate.Weights, d.shifts[:0]
	if d.steady() {
		d.weights.Warning = ""
	}
	values := make([]float64, n)
	for j, name := range d.names {
		for i := range values {
			values[i] = columns[i*d.width+j]
		}
		d.shifts = append(d.shifts, d.shiftOf(estimate, name, values, d.loose(j)))
	}
	first, dim := maxObserved, len(d.spots)/n
	if d.center == nil {
		first = 0
	}
	for j := first; j < dim; j++ {
		for i := range values {
			values[i] = float64(d.spots[i*dim+j])
		}
		if d.center == nil {
			d.shifts = append(d.shifts, d.shiftOf(estimate, fmt.Sprintf("s%d", j), values, false))
			continue
		}
		name := fmt.Sprintf("coordinate %d", j)
		d.shifts = append(d.shifts, d.shiftOf(estimate, name, values, false))
		for i, v := range values {
			values[i] = (v - d.center[j]) * (v - d.center[j])
		}
		d.shifts = append(d.shifts, d.shiftOf(estimate, "the spread of "+name, values, false))
	}
}

// shiftOf returns the shift of a function with the given values, with maxSpreadFloors if loose.
func (d *diagnosis) shiftOf(estimate *measure.Reweighing, name string, values []float64, loose bool) shift {
	samples, weighted := stat.MeanOf(values), estimate.Mean(values)
	s := shift{name: name, mean: weighted.Value, standardError: weighted.StandardError, reach: weighted.Reach, apart: weighted.Apart, deviation: samples.Deviation(), samples: len(values), slow: loose && weighted.Slow()}
	if estimate.Trusted() {
		s.deviation = min(s.deviation, weighted.Deviation) // samples far from the target can make the other arbitrarily large
	}
	s.floor, s.tolerance = d.floor(s.deviation, loose)
	if se := math.Hypot(s.apart, s.deviation/math.Sqrt(float64(len(values)))); se > 1e-12*(math.Abs(s.mean)+math.Abs(samples.Value())) {
		s.difference = s.mean - samples.Value()
		s.z = s.difference / se
	}
	return s
}

// floor returns the expected error of the mean of as many exact samples as were measured, and the
// largest error that does not count. deviation is the standard deviation of one sample.
func (d *diagnosis) floor(deviation float64, loose bool) (floor, tolerance float64) {
	floors := measure.Tolerated
	if loose {
		floors = maxSpreadFloors
	}
	floor = stat.MeanAbsolute(deviation / math.Sqrt(float64(d.measured())))
	return floor, float64(floors) * floor
}

// measured returns the number of samples of the evaluation.
func (d *diagnosis) measured() int {
	if e := d.options.Evaluation; e != nil && e.Samples > 0 {
		return e.Samples
	}
	return d.options.Samples
}

// loose reports whether a column is a fourth moment or ln π.
func (d *diagnosis) loose(j int) bool { return d.columns[j].fourth || d.names[j] == logDensity }

// tolerance returns the largest error that does not count for a column with the given standard
// deviation. The deviation by trusted weights replaces it if it is less.
func (d *diagnosis) tolerance(j int, deviation float64) float64 {
	if d.weightsTrusted() {
		deviation = min(deviation, d.shifts[j].deviation)
	}
	_, tolerance := d.floor(deviation, d.loose(j))
	return tolerance
}

// resolved reports whether every error that counts would show, or a larger one shows.
func (d *diagnosis) resolved() bool { return d.growthNeeded() <= 1 }

// growthNeeded returns the factor, at least 1, by which the number of samples must grow until resolved.
func (d *diagnosis) growthNeeded() float64 {
	ratio := 1. // visible error over present error; errors fall as 1/√n
	for _, s := range d.shifts {
		if present, visible := max(s.tolerance, math.Abs(s.difference)), 2*measure.Plain*s.apart; !s.slow && visible > present {
			ratio = max(ratio, visible/present)
		}
	}
	return ratio * ratio
}

// weightsTrusted reports whether the samples have weights and these can be used.
func (d *diagnosis) weightsTrusted() bool {
	return d.weights != nil && d.weights.Trusted()
}

// refutingShare is the share of its tolerance above which a difference may refute samples. It is less
// than 1 since the evaluation's own figures have errors, too.
const refutingShare = 5. / 6

// largestShift returns the index of the shift with the largest difference in units of its tolerance.
// significant says whether there is a shift that is more than chance and may refute samples.
func (d *diagnosis) largestShift() (worst int, significant bool) {
	var maxRatio float64
	for j, s := range d.shifts {
		if ratio := math.Abs(s.difference) / s.tolerance; !s.slow && ratio > max(maxRatio, refutingShare) && math.Abs(s.difference) > measure.Plain*s.apart {
			worst, maxRatio = j, ratio
		}
	}
	return worst, maxRatio > 0
}

// minGrown is the least effective size of the evaluation, as a share of that of the diagnosed samples.
// With less, the weights vary more, and chains that have not settled may have met their tail.
const minGrown = 0.9

// tailDoubt says why weights alone cannot show that the samples leave out nothing, "" if they can. They
// cannot if they are not trusted, or if more samples show much more variance: they may then hide a
// bias. An infinite variance, k̂ above 0.5, only widens errors.
func (d *diagnosis) tailDoubt() string {
	if !d.weightsTrusted() {
		return d.weights.Warning
	}
	if e := d.options.Evaluation; e != nil && e.Weights != nil {
		m := e.Weights
		if !m.Trusted() && !d.steady() {
			return fmt.Sprintf("of %d samples that were measured %s", m.Samples, m.Warning)
		}
		if e.Doubt != "" && m.EffectiveSize < minGrown*d.weights.EffectiveSize {
			return e.Doubt
		}
	}
	return d.collapseDoubt()
}

// allWeights returns the weights of the samples that take steps, of all samples that were weighed, and
// of the evaluation. It leaves out missing ones.
func (d *diagnosis) allWeights() []*Weights {
	list := []*Weights{d.walkWeights, d.weights}
	if e := d.options.Evaluation; e != nil {
		list = append(list, e.Weights)
	}
	return slices.DeleteFunc(list, func(w *Weights) bool { return w == nil })
}

// outskirtsDoubt says why weights cannot tell how much of the target's outskirts the generator lacks. It
// is "" if they can, or if no set of weights shows that the generator covers most of the target.
func (d *diagnosis) outskirtsDoubt() string {
	anyAmple, allAmple := false, true
	for _, w := range d.allWeights() {
		anyAmple, allAmple = anyAmple || w.Ample(), allAmple && w.Ample()
	}
	switch {
	case d.weights == nil || !anyAmple:
		return ""
	case !allAmple:
		return d.collapseDoubt()
	}
	return d.tailDoubt()
}

// collapseDoubt says which samples have weights that other samples have not seen, "" if none have. Their
// effective size is less than half the others', or they vary and the others have a heavy tail.
func (d *diagnosis) collapseDoubt() string {
	known := d.allWeights()
	all := known
	if d.many != nil {
		all = append(all, &d.many.Weights)
	}
	steady := d.steady()
	for _, w := range all {
		for _, others := range known {
			if w.EffectiveSize < others.EffectiveSize/2 {
				return fmt.Sprintf("the weights of %d samples have an effective size of %.2g, where those of %d have %.2g: a few weights, up to %.3g times the mean, make the difference",
					w.Samples, w.EffectiveSize, others.Samples, others.EffectiveSize, w.Largest)
			}
			if !steady && others.HeavyTailed() && !w.Even() && (d.many == nil || w != &d.many.Weights) {
				return fmt.Sprintf("the weights of %d samples have a tail of Pareto's k̂ = %.2f, and those of %d an effective size of %.3g: what the tail holds is not known",
					others.Samples, others.ParetoK, w.Samples, w.EffectiveSize)
			}
		}
	}
	return ""
}

// visibleBias returns the least bias that weights show in any observable, in standard deviations.
func (d *diagnosis) visibleBias() (least float64) {
	for _, s := range d.shifts {
		if s.deviation > 0 && !s.slow {
			least = max(least, max(s.tolerance, measure.Plain*s.apart)/s.deviation)
		}
	}
	return least
}
