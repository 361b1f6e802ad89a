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

// Which rows the table of a lattice has.
const (
	maxListedSide    = 4 // largest side whose configurations are counted one by one, for total_variation and kl_to_target
	minHistogramSide = 6 // smallest side with rows for the law of the energy and correlations
)

// A tally counts samples.
type tally struct {
	joint       *jointLaw
	states      []float64 // counts of configurations, nil beyond maxListedSide
	correlation []float64 // Σ G(r), nil where G has no reference
	products    []float64 // Σ G(r) G(r′), [r][r′], nil where correlation is
	g           []float64 // G(r) of one sample
	rows        []uint32  // scratch of axialCorrelations
}

func newTally(model bitspin.Model) *tally {
	t := &tally{joint: newJointLaw(model)}
	if model.L <= maxListedSide {
		t.states = make([]float64, 1<<model.N)
	}
	if model.L >= minHistogramSide && model.L <= maxChainSide {
		n := axialDistances(model.L)
		t.correlation, t.products, t.g, t.rows = make([]float64, n), make([]float64, n*n), make([]float64, n), make([]uint32, model.L)
	}
	return t
}

// count adds the samples of a batch.
func (t *tally) count(batch []uint64) {
	model := t.joint.model
	for ; len(batch) > 0; batch = batch[model.Words:] {
		t.joint.add(model.BondSum(batch), model.Magnetisation(batch), 1)
		if t.states != nil {
			t.states[batch[0]]++
		}
		if t.correlation != nil {
			axialCorrelations(t.g, batch, t.rows)
			for i, g := range t.g {
				t.correlation[i] += g
				for j, h := range t.g {
					t.products[i*len(t.g)+j] += g * h
				}
			}
		}
	}
}

// covariance returns the covariance of G(i+1) and G(j+1) of n samples.
func (t *tally) covariance(i, j int, n float64) float64 {
	return t.products[i*len(t.correlation)+j]/n - t.correlation[i]/n*t.correlation[j]/n
}

// Evaluate draws samples and compares them with the reference (newReference). If the generator
// has a density, it adds the effective sample size and ln Z, which is compared with the exact
// one of LogZ.
func (s *evaluator) Evaluate(ctx context.Context, params []float32, samples int) (*measure.Evaluation, error) {
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
func (s *evaluator) sample(ctx context.Context, params []float32, samples int) (*tally, error) {
	generated := newTally(s.target.Model)
	err := s.Measure(ctx, params, samples, 0, batchSamples, func(batch []uint64, _ []float64) { generated.count(batch) })
	return generated, err
}

// batchSamples is the number of samples that are drawn before they are counted.
const batchSamples = 1 << 16

// rounding bounds the computed value of an observable whose exact value is 0, relative to
// largestMagnitudes. An error relative to such a value would be relative to noise.
const rounding = 1e-12

// largestMagnitudes bounds the magnitudes of the observables.
func largestMagnitudes(model bitspin.Model, beta float64) (bounds [4]float64) {
	n := float64(model.N)
	e := (2*math.Abs(model.J) + math.Abs(model.H)) * n
	bounds[energy], bounds[absMagnetisation] = e, 1
	bounds[specificHeat], bounds[susceptibility] = beta*beta*e*e, beta*n
	return bounds
}

// compare makes the table of samples. Errors of observables whose exact value is 0 are absolute.
func compare(r *reference, generated *tally, samples int) *measure.Evaluation {
	generated.joint.normalise()
	out := &measure.Evaluation{Samples: samples}
	got := generated.joint.observables(r.target.Beta)
	root, magnitudes := math.Sqrt(float64(samples)), largestMagnitudes(generated.joint.model, r.target.Beta)
	for i, name := range observableNames {
		if !r.known[i] {
			continue
		}
		exact := r.observables[i]
		relative := i != absMagnetisation && math.Abs(exact.Value) > rounding*magnitudes[i]
		m := measure.Average(name, exact.Estimate, got[i].Value, got[i].deviation/root, math.Sqrt(2/math.Pi)*exact.deviation/root, relative)
		m.Paper = r.paper[name]
		out.Metrics = append(out.Metrics, m)
	}
	if r.states != nil {
		out.Metrics = append(out.Metrics, r.countDistances(generated.states, samples)...)
	}
	if r.bonds != nil {
		out.Metrics = append(out.Metrics, r.compareBonds(generated.joint, samples))
	}
	if r.correlation != nil {
		out.Metrics = append(out.Metrics, r.compareCorrelations(generated, samples))
	}
	out.Lost = r.collapse(generated.joint)
	out.Warnings = slices.Concat(out.Lost, r.warnings)
	return out
}

// histogramName names the total variation of the laws of the bond sum, which determines the
// energy if there is no field.
func histogramName(t Target) string {
	if t.H != 0 {
		return "bond_histogram"
	}
	return "energy_histogram"
}

// compareBonds returns the row of the total variation between the laws of the bond sum.
func (r *reference) compareBonds(generated *jointLaw, samples int) measure.Metric {
	counts := make([]float64, len(r.bonds))
	for level, g := range generated.bondLaw() {
		counts[level] = math.Round(g.Value * float64(samples))
	}
	return measure.Variation(histogramName(r.target), r.bonds, counts)
}

// compareCorrelations returns the row of the mean of |ΔG(r)| over r.
func (r *reference) compareCorrelations(generated *tally, samples int) measure.Metric {
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
			variance += sign[i] * sign[j] * generated.covariance(i, j, n)
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
	width := 12*math.Sqrt(mean) + 40 // the probability beyond is less than 1e-20
	first, last := max(0, math.Floor(mean-width)), min(trials, math.Ceil(mean+width))
	law := distuv.Binomial{N: trials, P: p}
	var sum float64
	for y := first; y <= last; y++ {
		sum += law.Prob(y) * (math.Log(y+1) - math.Log(mean)) // the quotient might overflow
	}
	return sum
}

// collapse describes what samples have lost of their target: a sign of the magnetisation, or all
// energies but the lowest.
func (r *reference) collapse(generated *jointLaw) []string {
	if r.joint == nil {
		return nil
	}
	// weights returns the probabilities of M > 0 and of the lowest energy.
	weights := func(p *jointLaw) (plus, ground float64) {
		lowest := math.Inf(1)
		p.each(func(b, m int, _ float64) { lowest = min(lowest, p.model.EnergyOf(b, m)) })
		p.each(func(b, m int, w float64) {
			if m > 0 {
				plus += w
			}
			if p.model.EnergyOf(b, m) == lowest {
				ground += w
			}
		})
		return plus, ground
	}
	wantPlus, wantGround := weights(r.joint)
	gotPlus, gotGround := weights(generated)
	var warnings []string
	if math.Abs(gotPlus-wantPlus) > 0.2 {
		warnings = append(warnings, fmt.Sprintf("one sector of the magnetisation prevails: P(M > 0) is %.3f where the target has %.3f", gotPlus, wantPlus))
	}
	const frozen = 0.99 // a target with so much weight on its lowest energy is frozen itself
	if wantGround < frozen && gotGround > 0.5*(1+wantGround) {
		warnings = append(warnings, fmt.Sprintf("the generator has collapsed to its states of lowest energy: their weight is %.3f where the target has %.3f", gotGround, wantGround))
	}
	return warnings
}
