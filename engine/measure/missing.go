package measure

import (
	"cmp"
	"math"
	"slices"

	"github.com/revgen/revgen/internal/stat"
)

// A Place is where a chain stays that the generator hardly draws: states x, [n][d], of the chain
// in the coordinates that it moves in, ln π of each in the units of Weights.LogZ, how many
// standard deviations of the samples the place is away from their mean, and how far the highest
// ln π there is above the mean of theirs.
type Place struct {
	X     []float64
	LogPi []float64
	Away  float64
	Above float64

	center, deviation []float64
	lack              float64
}

// Missing estimates how far averages are off because of places that the generator hardly draws, in
// standard deviations of a sample: the sum over places of the share of Z, which stat.LogMass finds by
// the chain's own states, times max(1, Away²). Chains near each other count as one place. It is NaN if
// a place of unknown mass is near none of known mass, and would matter if it were wide times as wide as
// the samples in every coordinate.
func (w *Weights) Missing(places []Place) (lack float64) {
	var known, silent, found []Place
	for _, p := range places {
		p.lack = math.Exp(stat.LogMass(p.X, p.LogPi)-w.LogZ) * max(1, p.Away*p.Away)
		p.locate()
		if math.IsNaN(p.lack) {
			silent = append(silent, p)
		} else {
			known = append(known, p)
		}
	}
	slices.SortStableFunc(known, func(a, b Place) int { return cmp.Compare(b.lack, a.lack) })
	for _, p := range known {
		if !slices.ContainsFunc(found, p.near) {
			found = append(found, p)
			lack += p.lack
		}
	}
	for _, p := range silent {
		if !slices.ContainsFunc(found, p.near) && !(p.most() <= negligible) {
			return math.NaN()
		}
	}
	return lack
}

// Places that are no wider than so many times the samples', and lack less than that even so, lack
// nothing.
const (
	wide       = 100
	negligible = 1e-6
)

// most returns what averages lack by a place as wide as that.
func (p *Place) most() float64 {
	return math.Exp(p.Above+float64(len(p.center))*math.Log(wide)) * max(1, p.Away*p.Away)
}

// locate finds the mean and the standard deviation of each coordinate.
func (p *Place) locate() {
	d := len(p.X) / max(1, len(p.LogPi))
	all := make([]stat.Mean, d)
	for i, v := range p.X {
		all[i%d].Add(v)
	}
	for i := range all {
		p.center, p.deviation = append(p.center, all[i].Value()), append(p.deviation, all[i].Deviation())
	}
}

// near reports whether the chains are at one place: within three standard deviations.
func (p *Place) near(other Place) bool {
	const apart = 3
	for i, c := range p.center {
		if !(math.Abs(c-other.center[i]) <= apart*max(p.deviation[i], other.deviation[i])) {
			return false
		}
	}
	return len(p.center) > 0
}

// Thin reports whether so much as is missing is less than averages of so many samples are off by
// by chance.
func Thin(lack float64, samples int) bool { return lack*math.Sqrt(float64(samples)) < 1 }
