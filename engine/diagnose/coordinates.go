package diagnose

import (
	"fmt"
	"math"
	"slices"

	"github.com/revgen/revgen/engine"
	"github.com/revgen/revgen/engine/chains"
	"github.com/revgen/revgen/internal/stat"
)

// Observables name the first coordinates of a vector, and a sum hides what is wrong with one
// of a hundred. If chains mix, they are compared with the samples by the mean of every
// coordinate, and by its mean squared distance from the samples' mean as drawn.

// fewCoordinates are all observables themselves.
const fewCoordinates = 8

// A moment is a mean with its standard error and the standard deviation of single states. A
// profile is those of all coordinates, and then of their squared distances.
type (
	moment  struct{ mean, standardError, deviation float64 }
	profile []moment
)

// coordinates returns those of a walk's states, nil if they are no vectors or of few
// coordinates.
func coordinates(w chains.Walk, states int) (x []float32, dim int) {
	v, ok := w.(chains.VectorWalk)
	if !ok {
		return nil, 0
	}
	x = v.Coordinates()
	if dim = len(x) / states; dim <= fewCoordinates {
		return nil, 0
	}
	return x, dim
}

// spins returns those of a walk's states, nil if they are none, or many: no observable is one of them.
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
	x, dim := coordinates(d.walked, d.options.Samples)
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

// A located sums the coordinates of chains over their draws.
type located struct {
	draws int
	sums  []float64 // [chains][2·dim], as of profile
	all   []stat.Mean
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

// profile returns that of the chains, whose errors are those of as many independent means.
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
	mean, chains, standardError  float64 // the latter of the chains'
	deviation, deviationOfChains float64
	z                            float64
}

// away returns the largest of the coordinates' at a stage, and whether it is too far for
// chance.
func (d *diagnosis) away(stage int) (worst gap, beyond bool) {
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
