package measure

import (
	"cmp"
	"math"
	"slices"

	"github.com/revgen/revgen/internal/stat"
)

// A Place is where a chain stays that the generator hardly draws.
type Place struct {
	X     []float64 // the chain's states in the coordinates that it moves in, [n][d]
	LogPi []float64 // their ln π, in the units of Weights.LogZ
	Away  float64   // the place's distance from the samples' mean, in their standard deviations
	Above float64   // the highest ln π of the place, less the mean ln π of the samples

	center, deviation []float64 // of X, [d]
	bias              float64   // what averages miss by the place; NaN where its mass is unknown
}

// UnseenBias estimates the bias of averages because of places that the generator hardly draws, in
// standard deviations of a sample. It is the sum over places of their share of Z, which
// stat.LogMass estimates by the chain's own states, times max(1, Away²). Chains near each other
// count as one place. The result is NaN if some place has an unknown mass, is near none of known
// mass, and would matter if it were maxWidth times as wide as the samples in every coordinate.
func (w *Weights) UnseenBias(places []Place) (bias float64) {
	var known, unknown, counted []Place
	for _, p := range places {
		p.bias = math.Exp(stat.LogMass(p.X, p.LogPi)-w.LogZ) * max(1, p.Away*p.Away)
		p.locate()
		if math.IsNaN(p.bias) {
			unknown = append(unknown, p)
		} else {
			known = append(known, p)
		}
	}
	slices.SortStableFunc(known, func(a, b Place) int { return cmp.Compare(b.bias, a.bias) })
	for _, p := range known {
		if !slices.ContainsFunc(counted, p.near) {
			counted = append(counted, p)
			bias += p.bias
		}
	}
	for _, p := range unknown {
		if !slices.ContainsFunc(counted, p.near) && !(p.maxBias() <= maxUnknownBias) {
			return math.NaN()
		}
	}
	return bias
}

const (
	maxWidth       = 100  // of a place of unknown mass, in widths of the samples
	maxUnknownBias = 1e-6 // bias of places of unknown mass that does not matter, in standard deviations
)

// maxBias returns the bias by a place that is maxWidth times as wide as the samples.
func (p *Place) maxBias() float64 {
	return math.Exp(p.Above+float64(len(p.center))*math.Log(maxWidth)) * max(1, p.Away*p.Away)
}

// locate finds the mean and the standard deviation of each coordinate.
func (p *Place) locate() {
	coordinates := make([]stat.Mean, len(p.X)/max(1, len(p.LogPi)))
	for i, v := range p.X {
		coordinates[i%len(coordinates)].Add(v)
	}
	for _, m := range coordinates {
		p.center, p.deviation = append(p.center, m.Value()), append(p.deviation, m.Deviation())
	}
}

// near reports whether the chains are at one place: within three standard deviations.
func (p *Place) near(other Place) bool {
	const maxDeviations = 3
	for i, c := range p.center {
		if !(math.Abs(c-other.center[i]) <= maxDeviations*max(p.deviation[i], other.deviation[i])) {
			return false
		}
	}
	return len(p.center) > 0
}

// Negligible reports whether a bias is less than the error by chance of an average of so many samples.
func Negligible(bias float64, samples int) bool { return bias*math.Sqrt(float64(samples)) < 1 }
