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

// A shift is what weights say that the mean of an observable is off by, in its units.
type shift struct {
	name                string
	mean, standardError float64 // by weights
	reach               float64 // of measure.WeightedMean
	off                 float64 // mean by weights less the samples' mean
	apart               float64 // standard error of off
	floor               float64 // expected error of as many exact samples as were measured
	counts              float64 // error from which on off matters
	deviation           float64 // standard deviation of single samples
	z                   float64 // off in units of apart and of the noise of the samples' mean
	samples             int
	slow                bool // averages of the observable hardly converge, so that off does not count
}

const (
	// maxSpreadFloors replaces measure.Tolerated for ln π, its spread and that of a square. They are
	// fourth moments, and off by more than any average that is asked for.
	maxSpreadFloors   = 8
	drawMoves         = 16      // moves that the drawing of a sample and its density count as
	maxWeighed        = 1 << 18 // samples that are weighed, with their columns
	maxWeighedBriefly = 1 << 16 // in a brief diagnosis, which takes no more than a tenth of the training
	maxSearched       = 1 << 22 // samples of vectors of which only weights and sums are kept
	searchMoves       = 6       // moves that one of these counts as, and one more for each paramsPerMove
	paramsPerMove     = 1 << 12 // parameters of the generator
	maxUnseen         = 0.5     // of a mean's error by chance, which a tail may hold
)

// weigh finds the importance weights of the samples as drawn, where the density is known. It draws
// more samples as long as an average may have an error that counts and noise hides it.
func (d *diagnosis) weigh(ctx context.Context) (err error) {
	if d.logs == nil {
		return nil
	}
	within, cancel := d.deadline(ctx, 0.7) // the walk of the samples may take 0.6
	defer cancel()
	most := min(maxWeighed, stateBytes/(8*d.width+4*len(d.center)))
	if d.options.Need {
		most = min(most, maxWeighedBriefly)
	}
	if d.options.Moves > 0 {
		most = min(most, d.options.Moves/drawMoves)
	}
	values := slices.Clone(d.stages[0])
	d.computeShifts(values)
	d.walkWeights = d.weights
	if values, err = d.weighMore(within, values, most); err != nil {
		return err
	}
	trusted := d.weightsTrusted()
	if err := d.search(within); err != nil {
		return err
	}
	if d.steady() && !trusted {
		d.computeShifts(values)
		if _, err = d.weighMore(within, values, most); err != nil {
			return err
		}
	}
	d.adoptMany()
	return ctx.Err()
}

// weighMore weighs more samples, up to a limit in all, while noise may hide an error that counts.
// It takes the columns of the samples so far, and returns those of all.
func (d *diagnosis) weighMore(within context.Context, values []float64, most int) ([]float64, error) {
	n := d.options.Samples
	for d.weightsTrusted() && !d.resolved() && len(d.logs)+n <= most && within.Err() == nil {
		more := int(max(1, min(d.moreNeeded()-1, 8)) * float64(len(d.logs)))
		for more = min(more, most-len(d.logs)) / n; more > 0 && within.Err() == nil; more-- {
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

// A multitude is many more samples. Only their weights and sums of their columns are kept.
type multitude struct {
	Weights
	names  []string // of the columns
	summed int      // samples that the sums are of
	sums   []sums
}

// sums are taken over samples. v is a column less its mean by weights, w the weight in units of
// the mean weight.
type sums struct {
	drawn, weighed float64 // Σ v, Σ w v
	squares, terms float64 // Σ w v², Σ (w v)²
	differences    float64 // Σ ((w − 1) v)²
}

// search weighs many more samples of vectors whose densities are cheap. One of them may lie in a
// mode too narrow for chains to meet, or far from the target, and together they show what is in a
// tail.
func (d *diagnosis) search(within context.Context) error {
	n, most := d.options.Samples, maxSearched
	if d.options.Moves > 0 {
		most = min(most, d.options.Moves/(searchMoves+len(d.params)/paramsPerMove))
	}
	if d.many != nil || !d.cheap || !d.weightsTrusted() && !d.weights.Ample() {
		return nil
	}
	all := make([]sums, len(d.columns))
	r := make([]float64, len(d.logs), max(len(d.logs), most))
	for i, l := range d.logs {
		r[i] = -l
	}
	weight, drawn := slices.Index(d.observables, engine.LogWeight), make([]float64, n*len(d.observables))
	for len(r)+n <= most && within.Err() == nil {
		w, err := d.observer.Walk(d.params, d.options.First+uint64(len(r)), n)
		if err != nil {
			return err
		}
		w.Observe(drawn)
		for i := 0; i < len(drawn); i += len(d.observables) {
			r = append(r, -drawn[i+weight])
			d.add(all, drawn[i:][:len(d.observables)], drawn[i+weight])
		}
	}
	d.many = &multitude{measure.NewWeights(r), d.names, len(r) - len(d.logs), all}
	return nil
}

// add adds a sample with ln w = log to the sums.
func (d *diagnosis) add(all []sums, observables []float64, log float64) {
	w := math.Exp(log - d.weights.LogZ)
	for j := range all {
		c, a := &d.columns[j], &all[j]
		v := c.value(observables[c.of]) - d.shifts[j].mean
		a.drawn += v
		a.weighed += w * v
		a.squares += w * v * v
		a.terms += w * v * w * v
		a.differences += (w - 1) * v * (w - 1) * v
	}
}

// adoptMany replaces shifts of columns by those of many samples where these are more precise. Few
// samples hold hardly any that are far from the target.
func (d *diagnosis) adoptMany() {
	m := d.many
	if m == nil || !m.Trusted() || !d.weightsTrusted() || !slices.Equal(m.names, d.names) {
		return
	}
	n := float64(m.summed)
	for j, a := range m.sums {
		s := &d.shifts[j]
		if apart := min(math.Sqrt(a.differences), math.Hypot(math.Sqrt(a.terms), math.Sqrt(a.squares))) / n; apart < s.apart {
			s.off, s.apart, s.samples = (a.weighed-a.drawn)/n, apart, m.summed
			s.z = s.off / math.Hypot(apart, s.deviation/math.Sqrt(n))
		}
	}
}

// steady reports whether the weights of many more samples can be trusted, cover the target, and have
// too small a tail to show in averages, the tails of all fewer samples included.
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

// keepLogs appends the ln w of values of all observables.
func (d *diagnosis) keepLogs(values []float64) {
	for i := slices.Index(d.observables, engine.LogWeight); i < len(values); i += len(d.observables) {
		d.logs = append(d.logs, values[i])
	}
}

// computeShifts finds the weights of all samples in logs, and the shifts of their columns and of the
// coordinates that are no column.
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

// shiftOf returns the shift of a function with the given values. loose allows maxSpreadFloors.
func (d *diagnosis) shiftOf(estimate *measure.Reweighing, name string, values []float64, loose bool) shift {
	samples, by := stat.MeanOf(values), estimate.Mean(values)
	s := shift{name: name, mean: by.Value, standardError: by.StandardError, reach: by.Reach, apart: by.Apart, deviation: samples.Deviation(), samples: len(values), slow: loose && by.Slow()}
	if estimate.Trusted() {
		s.deviation = min(s.deviation, by.Deviation) // samples far from the target give the drawn one any value
	}
	s.floor, s.counts = d.floor(s.deviation, loose)
	if se := math.Hypot(s.apart, s.deviation/math.Sqrt(float64(len(values)))); se > 1e-12*(math.Abs(s.mean)+math.Abs(samples.Value())) {
		s.off = s.mean - samples.Value()
		s.z = s.off / se
	}
	return s
}

// floor returns the expected error of the mean of as many exact samples as were measured, by the
// standard deviation of one, and the error that counts.
func (d *diagnosis) floor(deviation float64, loose bool) (floor, counts float64) {
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

// counts returns the error that counts for a column with the given standard deviation, or with
// that by trusted weights if it is less.
func (d *diagnosis) counts(j int, deviation float64) float64 {
	if d.weightsTrusted() {
		deviation = min(deviation, d.shifts[j].deviation)
	}
	_, counts := d.floor(deviation, d.loose(j))
	return counts
}

// resolved reports whether every error that counts would show, or a larger one shows.
func (d *diagnosis) resolved() bool { return d.moreNeeded() <= 1 }

// moreNeeded returns how many times as many samples are needed for that, at least 1.
func (d *diagnosis) moreNeeded() float64 {
	most := 1.
	for _, s := range d.shifts {
		if shows, least := max(s.counts, math.Abs(s.off)), 2*measure.Plain*s.apart; !s.slow && least > shows {
			most = max(most, least/shows)
		}
	}
	return most * most
}

// weightsTrusted reports whether there are weights that can be used.
func (d *diagnosis) weightsTrusted() bool {
	return d.weights != nil && d.weights.Trusted()
}

// nearlyCounts is the share of an error that counts from which on weights may refute samples: the
// evaluation's own figures have errors, too.
const nearlyCounts = 5. / 6

// shifted returns the index of the shift that is largest beside the error that counts, among those that are more
// than chance and count.
func (d *diagnosis) shifted() (worst int, beyond bool) {
	var most float64
	for j, s := range d.shifts {
		if off := math.Abs(s.off) / s.counts; !s.slow && off > max(most, nearlyCounts) && math.Abs(s.off) > measure.Plain*s.apart {
			worst, most = j, off
		}
	}
	return worst, most > 0
}

// minGrown is the share of the effective size that more samples keep if their weights have no more
// variance. With less, chains that have not settled may have met the tail of the weights.
const minGrown = 0.9

// tail says why weights alone cannot tell that the samples leave out nothing, "" if they can. They
// cannot where they have no mean to speak of, or where more samples show much more variance: there
// may be a bias that they do not show. An infinite variance, k̂ above 0.5, only widens errors.
func (d *diagnosis) tail() string {
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
	return d.collapsed()
}

// allWeights returns those of the samples that take steps, of all samples that were weighed, and of
// the evaluation, as far as there are any.
func (d *diagnosis) allWeights() []*Weights {
	known := []*Weights{d.walkWeights, d.weights}
	if e := d.options.Evaluation; e != nil {
		known = append(known, e.Weights)
	}
	return slices.DeleteFunc(known, func(w *Weights) bool { return w == nil })
}

// outskirts says why weights cannot tell what the generator lacks of the target's outskirts. It is ""
// if they can, or if none show that the generator covers most of the target.
func (d *diagnosis) outskirts() string {
	some, all := false, true
	for _, w := range d.allWeights() {
		some, all = some || w.Ample(), all && w.Ample()
	}
	switch {
	case d.weights == nil || !some:
		return ""
	case !all:
		return d.collapsed()
	}
	return d.tail()
}

// collapsed says which samples have weights that others have not seen, "" if none have: their
// effective size is less than half of that of others, or they vary where others have a heavy tail.
func (d *diagnosis) collapsed() string {
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

// visible returns the bias from which on weights show one in any observable, in standard deviations.
func (d *diagnosis) visible() (least float64) {
	for _, s := range d.shifts {
		if s.deviation > 0 && !s.slow {
			least = max(least, max(s.counts, measure.Plain*s.apart)/s.deviation)
		}
	}
	return least
}
