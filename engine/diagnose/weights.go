package diagnose

import (
	"fmt"
	"math"

	"github.com/revgen/revgen/engine/measure"
)

// A shift is what weights say that an observable's mean is off by. noise is what z is in
// units of, in standard deviations of the samples.
type shift struct{ mean, standardError, z, noise float64 }

// weigh takes what importance weights tell, where the density is known.
func (d *diagnosis) weigh() {
	if d.logs == nil {
		return
	}
	n, logs := len(d.logs), d.logs
	r := make([]float64, n)
	for i, l := range logs {
		r[i] = -l
	}
	estimate := measure.NewReweighing(r)
	d.weight = &estimate.Weights
	d.shift = make([]shift, d.width)
	values := make([]float64, n)
	for j := range d.width {
		var sum float64
		for i := range values {
			values[i] = d.stages[0][i*d.width+j]
			sum += values[i] / float64(n)
		}
		weighted, standardError, apart := estimate.Mean(values)
		d.shift[j].mean, d.shift[j].standardError = weighted, standardError
		// Weights that hardly vary tell of errors that so many samples do not show.
		_, deviation := d.moments(j, 0)
		if se := math.Hypot(apart, deviation/math.Sqrt(float64(n))); se > 1e-12*(math.Abs(weighted)+math.Abs(sum)) {
			d.shift[j].z = (weighted - sum) / se
			d.shift[j].noise = se / deviation
		}
	}
}

// weightsTrusted reports whether the weights can be used at all.
func (d *diagnosis) weightsTrusted() bool {
	return d.weight != nil && d.weight.Trusted()
}

// shifted returns the observable whose mean the weights move most, and whether by
// more than chance.
func (d *diagnosis) shifted() (worst int, beyond bool) {
	var most float64
	for j := range d.width {
		if z := math.Abs(d.shift[j].z); z > most {
			worst, most = j, z
		}
	}
	return worst, most > d.chance()
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
		if !m.Trusted() {
			return fmt.Sprintf("of %d samples that were measured %s", m.Samples, m.Warning)
		}
		if e.Doubt != "" && m.EffectiveSize < grown*d.weight.EffectiveSize {
			return e.Doubt
		}
		if m.EffectiveSize < d.weight.EffectiveSize/2 {
			return fmt.Sprintf("the weights of the %d samples that were measured have an effective size of %.2g, where %d have %.2g: a few weights, up to %.3g times the mean, make the difference",
				m.Samples, m.EffectiveSize, d.weight.Samples, d.weight.EffectiveSize, m.Largest)
		}
	}
	return ""
}

// visible returns the least bias that the weights show, in standard deviations.
func (d *diagnosis) visible() (least float64) {
	for _, s := range d.shift {
		least = max(least, d.chance()*s.noise)
	}
	return least
}
