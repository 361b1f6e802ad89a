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

// A shift is what weights say that an observable's mean is off by, in units of the observable.
// apart is the standard error of off, floor the expected error of as many exact samples as were
// measured, and counts what off is to exceed. z is in units of the noise of the samples' mean, too.
type shift struct {
	name                                                                string
	mean, standardError, reach, off, apart, floor, counts, deviation, z float64
	samples                                                             int
	slow                                                                bool // no average of it converges, so that none counts
}

const (
	// Sampling floors that ln π, its spread and that of a square may be off by, where an average
	// and a variance may be measure.Tolerated: they are fourth moments, and off by more than any
	// average that is asked for.
	spreading = 8
	drawing   = 16      // moves that the drawing of a sample and its density count as
	mostDrawn = 1 << 18 // samples that are weighed,
	fewDrawn  = 1 << 16 // and in a brief diagnosis, which takes no more than a tenth of the training
	searched  = 1 << 22 // samples of vectors of which only weights and sums are kept,
	searching = 6       // moves that such a one counts as, and one more for each
	network   = 1 << 12 // parameters of the generator

	mostUnseen = 0.5 // of a mean's error by chance, which a tail may hold
)

// weigh takes what importance weights tell, where the density is known: of the samples as
// drawn, and of more as long as an average may be off by what counts and not show it.
func (d *diagnosis) weigh(ctx context.Context) (err error) {
	if d.logs == nil {
		return nil
	}
	within, cancel := d.deadline(ctx, 0.7)
	defer cancel()
	most := min(mostDrawn, stateBytes/(8*d.width+4*len(d.center)))
	if d.options.Need {
		most = min(most, fewDrawn)
	}
	if d.options.Moves > 0 {
		most = min(most, d.options.Moves/drawing)
	}
	values := slices.Clone(d.stages[0])
	d.shifts(values)
	d.few = d.weight
	if values, err = d.sharpen(within, values, most); err != nil {
		return err
	}
	trusted := d.weightsTrusted()
	if err := d.search(within); err != nil {
		return err
	}
	if d.steady() && !trusted {
		d.shifts(values)
		if _, err = d.sharpen(within, values, most); err != nil {
			return err
		}
	}
	d.believe()
	return ctx.Err()
}

// sharpen weighs more samples than those whose columns are given, up to so many, as long as it
// tells something. It returns the columns of all.
func (d *diagnosis) sharpen(within context.Context, values []float64, most int) ([]float64, error) {
	n := d.options.Samples
	for d.weightsTrusted() && !d.sharp() && len(d.logs)+n <= most && within.Err() == nil {
		more := int(max(1, min(d.blur()-1, 8)) * float64(len(d.logs)))
		for more = min(more, most-len(d.logs)) / n; more > 0 && within.Err() == nil; more-- {
			w, err := d.observer.Walk(d.params, d.options.First+uint64(len(d.logs)), n)
			if err != nil {
				return nil, err
			}
			drawn := make([]float64, n*len(d.all))
			w.Observe(drawn)
			d.keepLogs(drawn)
			values = append(values, d.take(drawn)...)
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
		d.shifts(values)
	}
	return values, nil
}

// A multitude is many more samples, of whose columns only sums are kept.
type multitude struct {
	Weights
	names  []string // of the columns
	summed int      // samples that the sums are of
	sums   []sums
}

// Sums are those of a column v less a mean that is known, with w in units of the mean.
type sums struct {
	drawn, weighed float64 // Σ v, Σ w v
	squares, terms float64 // Σ w v², Σ (w v)²
	differences    float64 // Σ ((w − 1) v)²
}

// search weighs many more samples of vectors whose densities are cheap: one of them may lie in a
// mode too narrow for chains to meet, or astray, and they tell what a tail holds that few show.
func (d *diagnosis) search(within context.Context) error {
	n, most := d.options.Samples, searched
	if d.options.Moves > 0 {
		most = min(most, d.options.Moves/(searching+len(d.params)/network))
	}
	if d.many != nil || !d.cheap || !d.weightsTrusted() && !d.weight.Ample() {
		return nil
	}
	all := make([]sums, len(d.columns))
	r := make([]float64, len(d.logs), max(len(d.logs), most))
	for i, l := range d.logs {
		r[i] = -l
	}
	weight, drawn := slices.Index(d.all, engine.LogWeight), make([]float64, n*len(d.all))
	for len(r)+n <= most && within.Err() == nil {
		w, err := d.observer.Walk(d.params, d.options.First+uint64(len(r)), n)
		if err != nil {
			return err
		}
		w.Observe(drawn)
		for i := 0; i < len(drawn); i += len(d.all) {
			r = append(r, -drawn[i+weight])
			d.add(all, drawn[i:][:len(d.all)], drawn[i+weight])
		}
	}
	d.many = &multitude{measure.NewWeights(r), d.names, len(r) - len(d.logs), all}
	return nil
}

// add adds a sample of so large a ln w to the sums.
func (d *diagnosis) add(all []sums, observables []float64, log float64) {
	w := math.Exp(log - d.weight.LogZ)
	for j := range all {
		c, a := &d.columns[j], &all[j]
		v := c.value(observables[c.of]) - d.shift[j].mean
		a.drawn += v
		a.weighed += w * v
		a.squares += w * v * v
		a.terms += w * v * w * v
		a.differences += (w - 1) * v * (w - 1) * v
	}
}

// believe takes what many samples say of columns, where they say it more precisely: of those astray
// there are few among fewer.
func (d *diagnosis) believe() {
	m := d.many
	if m == nil || !m.Trusted() || !d.weightsTrusted() || !slices.Equal(m.names, d.names) {
		return
	}
	n := float64(m.summed)
	for j, a := range m.sums {
		s := &d.shift[j]
		if apart := min(math.Sqrt(a.differences), math.Hypot(math.Sqrt(a.terms), math.Sqrt(a.squares))) / n; apart < s.apart {
			s.off, s.apart, s.samples = (a.weighed-a.drawn)/n, apart, m.summed
			s.z = s.off / math.Hypot(apart, s.deviation/math.Sqrt(n))
		}
	}
}

// steady reports whether many more samples' weights hardly vary, and have so little in their tail,
// with what fewer had in theirs, that it does not show in averages.
func (d *diagnosis) steady() bool {
	m := d.many
	if m == nil || !m.Trusted() || !m.Ample() {
		return false
	}
	var tail float64
	for _, w := range d.known() {
		tail = max(tail, w.Largest, w.Tail*float64(w.Samples))
	}
	return (m.Unseen+tail/float64(m.Samples))*math.Sqrt(float64(d.measured())) < mostUnseen
}

// keepLogs appends the ln w of values of all observables.
func (d *diagnosis) keepLogs(values []float64) {
	for i := slices.Index(d.all, engine.LogWeight); i < len(values); i += len(d.all) {
		d.logs = append(d.logs, values[i])
	}
}

// shifts computes what the weights say of the columns of as many samples as there are logs, and of
// the coordinates that are no column.
func (d *diagnosis) shifts(columns []float64) {
	n := len(d.logs)
	r := make([]float64, n)
	for i, l := range d.logs {
		r[i] = -l
	}
	estimate := measure.NewReweighing(r)
	d.weight, d.shift = &estimate.Weights, d.shift[:0]
	if d.steady() {
		d.weight.Warning = ""
	}
	values := make([]float64, n)
	for j, name := range d.names {
		for i := range values {
			values[i] = columns[i*d.width+j]
		}
		d.shift = append(d.shift, d.shiftOf(estimate, name, values, d.loose(j)))
	}
	first, dim := fewCoordinates, len(d.spots)/n
	if d.center == nil {
		first = 0
	}
	for j := first; j < dim; j++ {
		for i := range values {
			values[i] = float64(d.spots[i*dim+j])
		}
		if d.center == nil {
			d.shift = append(d.shift, d.shiftOf(estimate, fmt.Sprintf("s%d", j), values, false))
			continue
		}
		name := fmt.Sprintf("coordinate %d", j)
		d.shift = append(d.shift, d.shiftOf(estimate, name, values, false))
		for i, v := range values {
			values[i] = (v - d.center[j]) * (v - d.center[j])
		}
		d.shift = append(d.shift, d.shiftOf(estimate, "the spread of "+name, values, false))
	}
}

// shiftOf returns what weights say of a function's values.
func (d *diagnosis) shiftOf(estimate *measure.Reweighing, name string, values []float64, loose bool) shift {
	samples, by := stat.MeanOf(values), estimate.Mean(values)
	s := shift{name: name, mean: by.Value, standardError: by.StandardError, reach: by.Reach, apart: by.Apart, deviation: samples.Deviation(), samples: len(values), slow: loose && by.Slow()}
	if estimate.Trusted() {
		s.deviation = min(s.deviation, by.Deviation) // of samples astray the drawn one is any number
	}
	s.floor, s.counts = d.floor(s.deviation, loose)
	if se := math.Hypot(s.apart, s.deviation/math.Sqrt(float64(len(values)))); se > 1e-12*(math.Abs(s.mean)+math.Abs(samples.Value())) {
		s.off = s.mean - samples.Value()
		s.z = s.off / se
	}
	return s
}

// floor returns the expected error of the mean of as many exact samples as were measured, of
// something of so large a deviation, and the error that counts.
func (d *diagnosis) floor(deviation float64, loose bool) (floor, counts float64) {
	floors := measure.Tolerated
	if loose {
		floors = spreading
	}
	floor = stat.MeanAbsolute(deviation / math.Sqrt(float64(d.measured())))
	return floor, float64(floors) * floor
}

// measured returns how many samples a table has.
func (d *diagnosis) measured() int {
	if e := d.options.Evaluation; e != nil && e.Samples > 0 {
		return e.Samples
	}
	return d.options.Samples
}

// loose reports whether a column is a fourth moment or ln π.
func (d *diagnosis) loose(j int) bool { return d.columns[j].fourth || d.names[j] == logDensity }

// counts returns the error that counts of a column, of so large a deviation or of the target's.
func (d *diagnosis) counts(j int, deviation float64) float64 {
	if d.weightsTrusted() {
		deviation = min(deviation, d.shift[j].deviation)
	}
	_, counts := d.floor(deviation, d.loose(j))
	return counts
}

// sharp reports whether an error that counts would show by far, or shows.
func (d *diagnosis) sharp() bool { return d.blur() <= 1 }

// blur returns how many times as many samples are needed for that, 1 if none.
func (d *diagnosis) blur() float64 {
	most := 1.
	for _, s := range d.shift {
		if shows, least := max(s.counts, math.Abs(s.off)), 2*measure.Plain*s.apart; !s.slow && least > shows {
			most = max(most, least/shows)
		}
	}
	return most * most
}

// weightsTrusted reports whether the weights can be used at all.
func (d *diagnosis) weightsTrusted() bool {
	return d.weight != nil && d.weight.Trusted()
}

// nearly is how much of what counts is held for it: what the judge measures has an error, too.
const nearly = 5. / 6

// shifted returns the observable whose mean the weights move most, of those that they move by
// more than chance and by what counts.
func (d *diagnosis) shifted() (worst int, beyond bool) {
	var most float64
	for j, s := range d.shift {
		if off := math.Abs(s.off) / s.counts; !s.slow && off > max(most, nearly) && math.Abs(s.off) > measure.Plain*s.apart {
			worst, most = j, off
		}
	}
	return worst, most > 0
}

// grown is what is left of the effective size where more weights have more variance, so that
// chains that have not settled may well have met the tail of it.
const grown = 0.9

// tail says why weights cannot tell alone that the samples leave out nothing, "" if they can:
// where they have no mean to speak of, or more samples show much more of their variance, so may
// be the bias that they do not show. A variance that is infinite, of k̂ above 0.5, widens errors.
func (d *diagnosis) tail() string {
	if !d.weightsTrusted() {
		return d.weight.Warning
	}
	if e := d.options.Evaluation; e != nil && e.Weights != nil {
		m := e.Weights
		if !m.Trusted() && !d.steady() {
			return fmt.Sprintf("of %d samples that were measured %s", m.Samples, m.Warning)
		}
		if e.Doubt != "" && m.EffectiveSize < grown*d.weight.EffectiveSize {
			return e.Doubt
		}
	}
	return d.collapsed()
}

// known are the weights of the samples that walk, of all that were weighed and of those measured.
func (d *diagnosis) known() []*Weights {
	known := []*Weights{d.few, d.weight}
	if e := d.options.Evaluation; e != nil {
		known = append(known, e.Weights)
	}
	return slices.DeleteFunc(known, func(w *Weights) bool { return w == nil })
}

// outskirts says why weights, of which some show that the generator covers most of the target, cannot
// tell what it lacks beyond, "" if they can or none show that.
func (d *diagnosis) outskirts() string {
	some, all := false, true
	for _, w := range d.known() {
		some, all = some || w.Ample(), all && w.Ample()
	}
	switch {
	case d.weight == nil || !some:
		return ""
	case !all:
		return d.collapsed()
	}
	return d.tail()
}

// collapsed says that some samples' weights are worth less than half of what others showed, or not
// level where others have a heavy tail, "" if none are: a few of them hold what the others have not
// seen.
func (d *diagnosis) collapsed() string {
	known := d.known()
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
			if !steady && others.Heavy() && !w.Even() && (d.many == nil || w != &d.many.Weights) {
				return fmt.Sprintf("the weights of %d samples have a tail of Pareto's k̂ = %.2f, and those of %d an effective size of %.3g: what the tail holds is not known",
					others.Samples, others.ParetoK, w.Samples, w.EffectiveSize)
			}
		}
	}
	return ""
}

// visible returns the least bias that the weights show, in standard deviations.
func (d *diagnosis) visible() (least float64) {
	for _, s := range d.shift {
		if s.deviation > 0 && !s.slow {
			least = max(least, max(s.counts, measure.Plain*s.apart)/s.deviation)
		}
	}
	return least
}
