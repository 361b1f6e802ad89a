package ising

import (
	"context"
	"fmt"
	"math"

	"github.com/revgen/revgen/bitspin"
	"github.com/revgen/revgen/engine"
)

// countable is the largest number of spins whose configurations are counted
// one by one for the total variation distance.
const countable = 20

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
	states []float64 // by configuration, nil beyond countable spins
	// Σ G(r) and Σ G(r) G(r′), where there is a reference for them.
	correlation, products []float64
	g                     []float64
	rows                  []uint32
}

func newTally(model bitspin.Model) *tally {
	t := &tally{joint: newJoint(model)}
	if model.N <= countable {
		t.states = make([]float64, 1<<model.N)
	}
	if chainable(model) {
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

// Evaluate draws samples and compares them with the reference: enumeration where
// that is feasible, and on larger lattices without a field Kaufman's formula for
// energy and specific heat, and long Metropolis runs for the rest.
func (s *system) Evaluate(ctx context.Context, params []float32, samples int) (*engine.Evaluation, error) {
	generated, err := s.sample(ctx, params, samples)
	if err != nil {
		return nil, err
	}
	reference, err := s.reference()
	if err != nil {
		return nil, err
	}
	return compare(reference, generated, samples), nil
}

// sample counts samples of the generator.
func (s *system) sample(ctx context.Context, params []float32, samples int) (*tally, error) {
	generated := newTally(s.model)
	err := s.draw(ctx, params, samples, 0, generated.count)
	return generated, err
}

// draw calls visit with all samples after refine Metropolis steps, batch by
// batch.
func (s *system) draw(ctx context.Context, params []float32, samples, refine int, visit func(batch []uint64)) error {
	const chunk = 1 << 16
	batch := make([]uint64, min(chunk, samples)*s.model.Words)
	sampler := s.newSampler(params)
	for first := 0; first < samples; first += chunk {
		if err := ctx.Err(); err != nil {
			return err
		}
		part := batch[:min(chunk, samples-first)*s.model.Words]
		sampler.draw(part, uint64(first), refine)
		visit(part)
	}
	return nil
}

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
func compare(r *reference, generated *tally, samples int) *engine.Evaluation {
	generated.joint.normalise()
	out := &engine.Evaluation{Samples: samples}
	got := generated.joint.moments(r.beta)
	root, size := math.Sqrt(float64(samples)), sizes(generated.joint.model, r.beta)
	for i, name := range observableNames {
		exact, known := r.value[i]
		if !known {
			continue
		}
		m := engine.Metric{
			Name: name, Exact: exact, Generated: got.value[i],
			Error:    math.Abs(got.value[i] - exact),
			Relative: i != absMagnetisation && math.Abs(exact) > rounding*size[i],
			Interval: interval(got.value[i], got.deviation[i]/root),
			Floor:    math.Sqrt(2/math.Pi) * math.Hypot(r.deviation[i]/root, r.uncertainty[i]),
			Paper:    r.paper[name],
		}
		if m.Relative {
			m.Error /= math.Abs(exact)
			m.Floor /= math.Abs(exact)
		}
		out.Metrics = append(out.Metrics, m)
	}
	if r.states != nil {
		out.Metrics = append(out.Metrics, totalVariation(r, generated.states, samples), divergence(r, generated.states, samples))
	}
	if r.chain != nil {
		out.Metrics = append(out.Metrics, r.chain.histogram(generated.joint, samples), r.chain.correlations(generated, samples))
	}
	out.Warnings = append(r.collapse(generated.joint), r.warnings...)
	return out
}

// histogram compares the laws of the energy: their total variation.
func (c *chain) histogram(generated *joint, samples int) engine.Metric {
	n := float64(samples)
	weights := map[int]float64{}
	generated.each(func(b, _ int, w float64) { weights[b] += w })
	var tv, sign, floor float64
	for b, e := range c.energies {
		floor += 0.5 * math.Sqrt(2/math.Pi) * math.Hypot(e.deviation/math.Sqrt(n), e.uncertainty)
		tv += 0.5 * math.Abs(weights[b]-e.value)
		if weights[b] > e.value {
			sign += weights[b]
		}
		delete(weights, b)
	}
	for _, w := range weights { // energies that the reference has not met
		tv += 0.5 * w
		sign += w
	}
	return engine.Metric{
		Name: "energy_histogram", Generated: tv, Error: tv, Floor: floor,
		Interval: interval(tv, math.Sqrt(max(0, sign*(1-sign))/n)),
	}
}

// correlations compares G(r): the mean of |ΔG(r)| over r.
func (c *chain) correlations(generated *tally, samples int) engine.Metric {
	n, distances := float64(samples), len(c.correlation)
	m := engine.Metric{Name: "correlation"}
	sign := make([]float64, distances)
	for r, e := range c.correlation {
		difference := generated.correlation[r]/n - e.value
		sign[r] = math.Copysign(1/float64(distances), difference)
		m.Error += sign[r] * difference
		m.Floor += math.Sqrt(2/math.Pi) * math.Hypot(e.deviation/math.Sqrt(n), e.uncertainty) / float64(distances)
	}
	var variance float64
	for r := range sign {
		for q := range sign {
			covariance := generated.products[r*distances+q]/n - generated.correlation[r]/n*generated.correlation[q]/n
			variance += sign[r] * sign[q] * covariance
		}
	}
	m.Generated = m.Error
	m.Interval = interval(m.Error, math.Sqrt(max(0, variance)/n))
	return m
}

func interval(value, standardError float64) [2]float64 {
	const z = 1.959963984540054 // of a 95 % confidence interval
	return [2]float64{value - z*standardError, value + z*standardError}
}

func totalVariation(r *reference, counts []float64, samples int) engine.Metric {
	var tv, sign, floor float64
	n := float64(samples)
	for i, pi := range r.states {
		p := counts[i] / n
		tv += 0.5 * math.Abs(p-pi)
		if p > pi {
			sign += p
		}
		floor += 0.5 * meanAbsoluteDeviation(samples, pi)
	}
	// d(TV) = ½ Σ sign(p−π) dp, so the influence is a Bernoulli variable.
	se := math.Sqrt(max(0, sign*(1-sign)) / n)
	return engine.Metric{
		Name: "total_variation", Generated: tv, Error: tv,
		Interval: interval(tv, se), Floor: floor, Paper: r.paper["total_variation"],
	}
}

// meanAbsoluteDeviation returns E|X/n − p| for X binomial(n, p), by De Moivre's
// formula 2 (k+1) C(n, k+1) p^{k+1} (1−p)^{n−k} / n with k = ⌊np⌋.
func meanAbsoluteDeviation(n int, p float64) float64 {
	if p <= 0 || p >= 1 {
		return 0
	}
	k := math.Floor(float64(n) * p)
	lg := func(x float64) float64 { v, _ := math.Lgamma(x + 1); return v }
	log := lg(float64(n)) - lg(k+1) - lg(float64(n)-k-1) + (k+1)*math.Log(p) + (float64(n)-k)*math.Log1p(-p)
	return 2 * (k + 1) * math.Exp(log) / float64(n)
}

// divergence is KL(p‖π) of the law p of the samples, counted. Exact samples have
// about (2^N − 1)/2n of it, as long as n is large against the number of
// configurations.
func divergence(r *reference, counts []float64, samples int) engine.Metric {
	var kl, square, floor float64
	n := float64(samples)
	floors := map[float64]float64{} // few probabilities are distinct
	for i, pi := range r.states {
		if counts[i] > 0 {
			p := counts[i] / n
			l := math.Log(p / pi)
			kl += p * l
			square += p * l * l
		}
		f, known := floors[pi]
		if !known {
			f = pi * meanLogarithm(samples, pi)
			floors[pi] = f
		}
		floor += f
	}
	m := engine.Metric{Name: "kl_to_target", Generated: kl, Error: kl, Interval: [2]float64{kl, kl}, Floor: floor}
	if !math.IsInf(kl, 1) { // it is where float64 has no weight left for a state that occurred
		m.Interval = interval(kl, math.Sqrt(max(0, square-kl*kl)/n))
	}
	return m
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
	lg := func(x float64) float64 { v, _ := math.Lgamma(x + 1); return v }
	log := lg(trials) - lg(first) - lg(trials-first) + first*math.Log(p) + (trials-first)*math.Log1p(-p)
	odds := math.Log(p) - math.Log1p(-p)
	var sum float64
	for y := first; y <= last; y++ {
		sum += math.Exp(log) * (math.Log(y+1) - math.Log(mean)) // a quotient might overflow
		log += odds + math.Log((trials-y)/(y+1))
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
	if gotGround > 0.5*(1+wantGround) {
		warnings = append(warnings, fmt.Sprintf("the generator has collapsed to its states of lowest energy: their weight is %.3f where the target has %.3f", gotGround, wantGround))
	}
	return warnings
}
