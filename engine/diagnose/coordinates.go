package diagnose

import (
	"fmt"
	"math"
	"slices"

	"github.com/revgen/revgen/engine"
	"github.com/revgen/revgen/engine/chains"
	"github.com/revgen/revgen/internal/stat"
)

// Observables name only the first coordinates of a vector, and a sum over all hides an error of one
// in a hundred. So chains that mix are compared with the samples by every coordinate: by its mean
// and by its mean squared distance from the samples' mean as drawn.

// maxObserved is the number of coordinates up to which all are observables.
const maxObserved = 8

// A moment is a mean with its standard error and the standard deviation of single states.
type moment struct{ mean, standardError, deviation float64 }

// A profile holds the moments of the d coordinates, then those of their squared distances.
type profile []moment

// coordinates returns the coordinates of a walk's states, [states][dim]. It returns nil if the
// states are no vectors, or if observables name all coordinates.
func coordinates(w chains.Walk, states int) (x []float32, dim int) {
	v, ok := w.(chains.VectorWalk)
	if !ok {
		return nil, 0
	}
	x = v.Coordinates()
	if dim = len(x) / states; dim <= maxObserved {
		return nil, 0
	}
	return x, dim
}

// spins returns the spins of a walk's states, [states][spins]. It returns nil if the states have
// none or too many.
func (d *diagnosis) spins(w chains.Walk, states int) ([]float32, error) {
	s, ok := d.observer.(engine.Sampler)
	if !ok || s.Formats()[0].Name != "spins" || s.Formats()[0].RowBytes >= chains.ManyCoordinates {
		return nil, nil
	}
	bytes := make([]byte, states*s.Formats()[0].RowBytes)
	if err := w.States(bytes, "spins"); err != nil {
		return nil, err
	}
	x := make([]float32, len(bytes))
	for i, b := range bytes {
		x[i] = float32(int8(b))
	}
	return x, nil
}

// locate keeps the profile of samples at a stage of their walk.
func (d *diagnosis) locate() {
	x, dim := coordinates(d.sampleWalk, d.options.Samples)
	if x == nil {
		return
	}
	if d.center == nil {
		d.center = make([]float64, dim)
		if dim < chains.ManyCoordinates && d.logs != nil {
			d.spots = slices.Clone(x)
		}
		for i, v := range x {
			d.center[i%dim] += float64(v) / float64(d.options.Samples)
		}
	}
	all := make([]stat.Mean, 2*dim)
	for i, v := range x {
		j := i % dim
		from := float64(v) - d.center[j]
		all[j].Add(float64(v))
		all[dim+j].Add(from * from)
	}
	var p profile
	for _, m := range all {
		p = append(p, moment{m.Value(), m.StandardError(), m.Deviation()})
	}
	d.profiles = append(d.profiles, p)
}

// A located sums the coordinates of chains over their draws, and their squared distances.
type located struct {
	draws int
	sums  []float64   // of each chain, [chains][2·dim]
	all   []stat.Mean // of all chains, [2·dim]
}

// add adds a draw.
func (l *located) add(x []float32, dim int, center []float64) {
	if l.sums == nil {
		l.sums, l.all = make([]float64, 2*len(x)), make([]stat.Mean, 2*dim)
	}
	l.draws++
	for i, v := range x {
		chain, j := i/dim, i%dim
		from := float64(v) - center[j]
		l.sums[2*dim*chain+j] += float64(v)
		l.sums[2*dim*chain+dim+j] += from * from
		l.all[j].Add(float64(v))
		l.all[dim+j].Add(from * from)
	}
}

// profile returns the moments of the chains. Errors take each chain's mean for one independent number.
func (l *located) profile() (p profile) {
	width := len(l.all)
	for j := range width {
		var means stat.Mean
		for i := j; i < len(l.sums); i += width {
			means.Add(l.sums[i] / float64(l.draws))
		}
		p = append(p, moment{means.Value(), means.StandardError(), l.all[j].Deviation()})
	}
	return p
}

// A gap is how far a mean of samples is from that of the chains.
type gap struct {
	name                         string
	mean, chains, standardError  float64 // the samples' mean; the chains', with its standard error
	deviation, deviationOfChains float64
	z                            float64
}

// away returns the coordinate whose mean at a stage is farthest from the chains', and whether it is
// too far for chance.
func (d *diagnosis) away(stage int) (worst gap, significant bool) {
	if d.chain == nil || d.chain.coordinates == nil {
		return worst, false
	}
	dim := len(d.center)
	for j, s := range d.profiles[stage] {
		c := d.chain.coordinates[j]
		if z := (s.mean - c.mean) / math.Hypot(s.standardError, c.standardError); math.Abs(z) > math.Abs(worst.z) {
			worst = gap{fmt.Sprintf("coordinate %d", j), s.mean, c.mean, c.standardError, s.deviation, c.deviation, z}
			if j >= dim {
				worst.name = fmt.Sprintf("the spread of coordinate %d", j-dim)
			}
		}
	}
	return worst, math.Abs(worst.z) > -stat.NormalQuantile(familywise/4/float64(dim))
}
