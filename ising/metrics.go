package ising

import (
	"context"
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/stat/distuv"

	"github.com/revgen/revgen/bitspin"
	"github.com/revgen/revgen/engine/measure"
	"github.com/revgen/revgen/internal/stat"
)

// countable is the largest side whose configurations are counted one by one for the total
// variation distance.
const countable = 4

// listed is the largest side whose table has neither the law of the energy nor
// correlations.
const listed = 5

// A joint is a distribution over (Σ_<ij> s_i s_j, Σ_i s_i), which determines
// every observable of the paper's table. It holds the pairs that occur, in the
// order in which they were added.
type joint struct {
	model  bitspin.Model
	cell   map[sums]int // index of a pair
	sums   []sums
	weight []float64
}

// sums are a bond sum and a magnetisation.
type sums struct{ bonds, magnetisation int }

func newJoint(model bitspin.Model) *joint {
	return &joint{model: model, cell: map[sums]int{}}
}

func (p *joint) add(bonds, magnetisation int, w float64) {
	key := sums{bonds, magnetisation}
	i, known := p.cell[key]
	if !known {
		i = len(p.sums)
		p.cell[key] = i
		p.sums, p.weight = append(p.sums, key), append(p.weight, 0)
	}
	p.weight[i] += w
}

// each calls visit with every pair of positive weight.
func (p *joint) each(visit func(bonds, magnetisation int, w float64)) {
	for i, w := range p.weight {
		if w > 0 {
			visit(p.sums[i].bonds, p.sums[i].magnetisation, w)
		}
	}
}

func (p *joint) normalise() {
	var sum float64
	for _, w := range p.weight {
		sum += w
	}
	for i := range p.weight {
		p.weight[i] /= sum
	}
}

// moments are the observables' values under a joint and, for each, the
// standard deviation of its influence function: an estimate from n samples has
// the standard error deviation/√n.
type moments struct {
	value, deviation [4]float64
}

// Indices of the observables.
const (
	energy = iota
	absMagnetisation
	specificHeat
	susceptibility
)

var observableNames = [4]string{"energy", "abs_magnetisation", "specific_heat", "susceptibility"}

func (p *joint) moments(beta float64) moments {
	n := float64(p.model.N)
	var e, a float64
	p.each(func(b, m int, w float64) {
		e += w * p.model.EnergyOf(b, m)
		a += w * math.Abs(float64(m)/n)
	})
	// Sums of squared deviations, because differences of moments cancel when
	// nearly all weight is on the ground states.
	var energyVariance, absVariance float64
	p.each(func(b, m int, w float64) {
		energy, abs := p.model.EnergyOf(b, m)-e, math.Abs(float64(m)/n)-a
		energyVariance += w * energy * energy
		absVariance += w * abs * abs
	})
	result := moments{value: [4]float64{e, a, beta * beta * energyVariance, beta * n * absVariance}}
	p.each(func(b, m int, w float64) {
		energy, abs := p.model.EnergyOf(b, m)-e, math.Abs(float64(m)/n)-a
		for i, influence := range [4]float64{
			energy, abs, beta * beta * (energy*energy - energyVariance), beta * n * (abs*abs - absVariance),
		} {
			result.deviation[i] += w * influence * influence
		}
	})
	for i, v := range result.deviation {
		result.deviation[i] = math.Sqrt(v)
	}
	return result
}

// tally counts a sample.
type tally struct {
	joint  *joint
	states []float64 // by configuration, nil beyond the side countable
	// Σ G(r) and Σ G(r) G(r′), where there is a reference for them.
	correlation, products []float64
	g                     []float64
	rows                  []uint32
}

func newTally(model bitspin.Model) *tally {
	t := &tally{joint: newJoint(model)}
	if model.L <= countable {
		t.states = make([]float64, 1<<model.N)
	}
	if model.L > listed && model.L <= largestChain {
		n := axialDistances(model.L)
		t.correlation, t.products, t.g, t.rows = make([]float64, n), make([]float64, n*n), make([]float64, n), make([]uint32, model.L)
	}
	return t
}

func (t *tally) count(batch []uint64) {
	model := t.joint.model
	for ; len(batch) > 0; batch = batch[model.Words:] {
		t.joint.add(model.BondSum(batch), model.Magnetisation(batch), 1)
		if t.states != nil {
			t.states[batch[0]]++
		}
		if t.correlation != nil {
			axial(t.g, batch, t.rows)
			for i, g := range t.g {
				t.correlation[i] += g
				for j, h := range t.g {
					t.products[i*len(t.g)+j] += g * h
				}
			}
		}
	}
}

// Evaluate draws samples and compares them with the reference: the density of
// states where that can be counted, and on larger lattices long heat-bath runs,
// for energy and specific heat without a field Kaufman's formula. It adds what a density says,
// whose ln Z is compared with Kaufman's or with the sum over all configurations.
func (s *measured) Evaluate(ctx context.Context, params []float32, samples int) (*measure.Evaluation, error) {
	generated, err := s.sample(ctx, params, samples)
	if err != nil {
		return nil, err
	}
	reference, err := s.reference(ctx)
	if err != nil {
		return nil, err
	}
	e := compare(reference, generated, samples)
	if s.Weigher == nil {
		return e, nil
	}
	logZ, _, err := s.LogZ(ctx)
	if err != nil {
		return nil, err
	}
	return e, s.Reweigh(ctx, params, e, logZ, 0, s.absMagnetisation)
}

// sample counts samples of the generator.
func (s *measured) sample(ctx context.Context, params []float32, samples int) (*tally, error) {
	generated := newTally(s.target.Model)
	err := s.Measure(ctx, params, samples, 0, atOnce, func(batch []uint64, _ []float64) { generated.count(batch) })
	return generated, err
}

// atOnce is how many samples are drawn before they are looked at.
const atOnce = 1 << 16

// rounding is what an observable whose exact value is 0 may be computed as, by
// its size. An error relative to that would be one relative to noise.
const rounding = 1e-12

// sizes returns the largest magnitudes that the observables could have.
func sizes(model bitspin.Model, beta float64) (all [4]float64) {
	n := float64(model.N)
	largest := (2*math.Abs(model.J) + math.Abs(model.H)) * n
	all[energy], all[absMagnetisation] = largest, 1
	all[specificHeat], all[susceptibility] = beta*beta*largest*largest, beta*n
	return all
}

// compare makes the table of a sample. Errors of observables whose exact value
// is 0 are absolute.
func compare(r *reference, generated *tally, samples int) *measure.Evaluation {
	generated.joint.normalise()
	out := &measure.Evaluation{Samples: samples}
	got := generated.joint.moments(r.target.Beta)
	root, size := math.Sqrt(float64(samples)), sizes(generated.joint.model, r.target.Beta)
	for i, name := range observableNames {
		if !r.known[i] {
			continue
		}
		exact := measure.Estimate{Value: r.value[i], Uncertainty: r.uncertainty[i]}
		relative := i != absMagnetisation && math.Abs(exact.Value) > rounding*size[i]
		m := measure.Average(name, exact, got.value[i], got.deviation[i]/root, math.Sqrt(2/math.Pi)*r.deviation[i]/root, relative)
		m.Paper = r.paper[name]
		out.Metrics = append(out.Metrics, m)
	}
	if r.states != nil {
		out.Metrics = append(out.Metrics, r.countDistances(generated.states, samples)...)
	}
	if r.bonds != nil {
		out.Metrics = append(out.Metrics, r.histogram(generated.joint, samples))
	}
	if r.correlation != nil {
		out.Metrics = append(out.Metrics, r.correlations(generated, samples))
	}
	out.Lost = r.collapse(generated.joint)
	out.Warnings = slices.Concat(out.Lost, r.warnings)
	return out
}

// histogramName names the total variation of the laws of the bond sum, which
// without a field is the energy's.
func histogramName(t Target) string {
	if t.H != 0 {
		return "bond_histogram"
	}
	return "energy_histogram"
}

// histogram compares the laws of the bond sum: their total variation.
func (r *reference) histogram(generated *joint, samples int) measure.Metric {
	counts := make([]float64, len(r.bonds))
	for level, g := range generated.bondLaw() {
		counts[level] = math.Round(g.Value * float64(samples))
	}
	return measure.Variation(histogramName(r.target), r.bonds, counts)
}

// correlations compares G(r): the mean of |ΔG(r)| over r.
func (r *reference) correlations(generated *tally, samples int) measure.Metric {
	n, distances := float64(samples), len(r.correlation)
	m := measure.Metric{Name: "correlation"}
	sign := make([]float64, distances)
	for i, e := range r.correlation {
		difference := generated.correlation[i]/n - e.Value
		sign[i] = math.Copysign(1/float64(distances), difference)
		m.Error += sign[i] * difference
		m.Floor += math.Sqrt(2/math.Pi) * e.deviation / math.Sqrt(n) / float64(distances)
		m.Uncertainty += e.Uncertainty / float64(distances)
	}
	var variance float64
	for i := range sign {
		for j := range sign {
			covariance := generated.products[i*distances+j]/n - generated.correlation[i]/n*generated.correlation[j]/n
			variance += sign[i] * sign[j] * covariance
		}
	}
	m.Generated = m.Error
	m.Interval = stat.Interval(m.Error, math.Sqrt(max(0, variance)/n))
	return m.Judged(m.Floor, r.correlationLaw(generated, n))
}

// meanLogarithm returns E[X ln(X/np)]/np for X binomial(n, p), which is
// E[ln((Y+1)/np)] for Y binomial(n−1, p).
func meanLogarithm(n int, p float64) float64 {
	if p <= 0 || p >= 1 {
		return 0
	}
	mean, trials := float64(n)*p, float64(n-1)
	width := 12*math.Sqrt(mean) + 40 // what lies beyond has less than 1e-20
	first, last := max(0, math.Floor(mean-width)), min(trials, math.Ceil(mean+width))
	law := distuv.Binomial{N: trials, P: p}
	var sum float64
	for y := first; y <= last; y++ {
		sum += law.Prob(y) * (math.Log(y+1) - math.Log(mean)) // a quotient might overflow
	}
	return sum
}

// collapse describes what a sample has lost of its target: a sector of the
// magnetisation, or all but a few of the energies.
func (r *reference) collapse(generated *joint) []string {
	if r.joint == nil {
		return nil
	}
	up := func(p *joint) (plus, ground float64) {
		top := math.Inf(1)
		p.each(func(b, m int, _ float64) { top = min(top, p.model.EnergyOf(b, m)) })
		p.each(func(b, m int, w float64) {
			if m > 0 {
				plus += w
			}
			if p.model.EnergyOf(b, m) == top {
				ground += w
			}
		})
		return plus, ground
	}
	wantPlus, wantGround := up(r.joint)
	gotPlus, gotGround := up(generated)
	var warnings []string
	if math.Abs(gotPlus-wantPlus) > 0.2 {
		warnings = append(warnings, fmt.Sprintf("one sector of the magnetisation prevails: P(M > 0) is %.3f where the target has %.3f", gotPlus, wantPlus))
	}
	const mostly = 0.99 // where the target is so itself, it is no collapse
	if wantGround < mostly && gotGround > 0.5*(1+wantGround) {
		warnings = append(warnings, fmt.Sprintf("the generator has collapsed to its states of lowest energy: their weight is %.3f where the target has %.3f", gotGround, wantGround))
	}
	return warnings
}
