package stat

import (
	"crypto/sha256"
	"encoding/binary"
	"math"
	"math/rand/v2"
	"slices"

	"gonum.org/v1/gonum/floats"

	"github.com/revgen/revgen/internal/shared"
)

// A Null is the law of an error under exact sampling: its quantiles at the levels
// (i+½)/len, ascending. An empty one is half-normal, which is that of an average's
// error, with a given mean.
type Null []float64

const nullLevels = 40

// NewNull returns the law of simulated errors.
func NewNull(errors []float64) Null {
	sorted := slices.Sorted(slices.Values(errors))
	law := make(Null, nullLevels)
	for i := range law {
		law[i] = between(sorted, (float64(i)+0.5)/nullLevels)
	}
	return law
}

// between interpolates quantiles at the levels (i+½)/len linearly.
func between(quantiles []float64, level float64) float64 {
	n := len(quantiles)
	at := min(max(level*float64(n)-0.5, 0), float64(n-1))
	i := min(int(at), n-2)
	if n == 1 {
		return quantiles[0]
	}
	return quantiles[i] + (at-float64(i))*(quantiles[i+1]-quantiles[i])
}

// Quantile returns the error that a share level of exact samples do not exceed;
// mean is that of the errors.
func (l Null) Quantile(level, mean float64) float64 {
	if len(l) > 0 {
		return between(l, level)
	}
	return mean * math.Sqrt(math.Pi) * math.Erfinv(level)
}

// Scale returns the law of the errors times a factor.
func (l Null) Scale(factor float64) Null {
	return floats.ScaleTo(make(Null, len(l)), factor, l)
}

// MedianQuantile returns what the median of the errors of several exact samples
// does not exceed with a probability of level, when what all of them are compared
// with is off itself by a normal number of standard deviation off.
func (l Null) MedianQuantile(level, mean, off float64, samples int) float64 {
	if samples <= 1 && off == 0 {
		return l.Quantile(level, mean)
	}
	const repeats = 1 << 14
	r := source(uint64(samples))
	medians, errors := make([]float64, repeats), make([]float64, samples)
	for i := range medians {
		for j := range errors {
			errors[j] = l.Quantile(r.Float64(), mean)
		}
		if off > 0 {
			l.shift(errors, off*r.NormFloat64(), r)
		}
		slices.Sort(errors)
		medians[i] = (errors[(samples-1)/2] + errors[samples/2]) / 2
	}
	slices.Sort(medians)
	return between(medians, level)
}

// shift makes errors those that are seen from a place off by a distance: averages
// are wrong in either direction, distances from a law in none.
func (l Null) shift(errors []float64, by float64, r *rand.Rand) {
	for i, e := range errors {
		if len(l) == 0 && r.Uint64()&1 == 0 {
			e = -e
		}
		errors[i] = math.Abs(e + by)
	}
}

// source returns a stream for simulations. Its seed is fixed, so that the same
// samples are always judged alike.
func source(stream uint64) *rand.Rand { return rand.New(rand.NewPCG(0x6e756c6c, stream)) }

// A trial has a probability, and what binomial draws need of it.
type trial struct {
	p, odds, none float64 // p ≤ ½; ln(1 − p)
	failure       bool    // p is that of a failure
}

func newTrial(p float64) trial {
	t := trial{p: p}
	if p > 0.5 && p < 1 {
		t.p, t.failure = 1-p, true
	}
	t.odds, t.none = t.p/(1-t.p), math.Log1p(-t.p)
	return t
}

// draw draws from the binomial law of n trials. Beyond a mean of 30 it is a rounded
// normal number with the law's skewness.
func (t *trial) draw(r *rand.Rand, n float64) float64 {
	switch {
	case n <= 0 || t.p <= 0 && !t.failure:
		return 0
	case t.p >= 1:
		return n
	}
	k := t.successes(r, n)
	if t.failure {
		return n - k
	}
	return k
}

func (t *trial) successes(r *rand.Rand, n float64) float64 {
	p := t.p
	if mean := n * p; mean > 30 {
		z := r.NormFloat64()
		x := mean + math.Sqrt(mean*(1-p))*z + (1-2*p)*(z*z-1)/6
		return min(max(math.Round(x), 0), n)
	}
	mass := math.Exp(n * t.none)
	u := r.Float64()
	var k float64
	for u > mass && k < n {
		u -= mass
		mass *= t.odds * (n - k) / (k + 1)
		k++
	}
	return k
}

// Counts are exact samples' distances from their law when they are counted: the
// total variation and the divergence of the frequencies from the probabilities,
// by simulation.
type Counts struct {
	Variation, Divergence Null
	// Of both: the variance for exact samples, and what estimates of it exceed that by.
	null, excess [2]float64
	law          *folds
}

// A CountDistance is a distance of frequencies from probabilities with its
// standard error.
type CountDistance struct{ Value, StandardError float64 }

// Share is Interval of a distance that lies between 0 and 1, as variations do.
func (d CountDistance) Share() [2]float64 {
	i := Interval(d.Value, d.StandardError)
	return [2]float64{max(0, i[0]), min(1, i[1])}
}

// NewCounts returns the laws of n samples of the law p, which runs that ask for them
// again share.
func NewCounts(p []float64, n int) *Counts {
	hash := sha256.New()
	_ = binary.Write(hash, binary.LittleEndian, p)
	return counts.Get(countsKey{[sha256.Size]byte(hash.Sum(nil)), n}, func() *Counts { return simulateCounts(slices.Clone(p), n) })
}

type countsKey struct {
	law     [sha256.Size]byte
	samples int
}

var counts shared.Cache[countsKey, *Counts]

// simulateCounts simulates n samples of the law p. If many of many states
// are equally likely, these are taken together, in lumps.
func simulateCounts(p []float64, n int) *Counts {
	law, least := newFolds(p, n), leastLump
	if len(p) <= lumpedBeyond {
		least = len(p) + 1
	}
	s := newLumped(law, least)
	const budget, fewest, most = 1 << 23, 128, 2000
	return law.newCounts(min(max(budget/s.work(), fewest), most), s.distances)
}

// newCounts takes the laws from so many simulations.
func (f *folds) newCounts(repeats int, simulate func(r *rand.Rand) [2]distance) *Counts {
	r := source(0)
	var values, variances [2][]float64
	for range repeats {
		for k, d := range simulate(r) {
			values[k], variances[k] = append(values[k], d.value), append(variances[k], d.variance)
		}
	}
	c := &Counts{Variation: NewNull(values[0]), Divergence: NewNull(values[1]), law: f}
	for k := range values {
		deviation := MeanOf(values[k]).Deviation()
		c.null[k] = deviation * deviation
		c.excess[k] = MeanOf(variances[k]).Value() - c.null[k]
	}
	return c
}

// chained returns the trials of a multinomial law: a count is binomial given those
// before it.
func chained(p []float64) []trial {
	given := make([]trial, len(p))
	mass := 1.0
	for j, pj := range p {
		given[j] = newTrial(pj / mass)
		mass = max(mass-pj, 1e-300)
	}
	return given
}

// Distances returns the total variation and the divergence of the frequencies of
// n samples from p. Standard errors are those of the distances' scatter about
// their means: what is known of it to first order, corrected for small
// differences, whose signs are chance, so that it is right for exact samples.
func (c *Counts) Distances(counts []float64) (variation, divergence CountDistance) {
	v := c.law.distances(counts)
	finish := func(k int) CountDistance {
		return CountDistance{v[k].value, math.Sqrt(max(v[k].variance-c.excess[k], c.null[k]/4))}
	}
	return finish(0), finish(1)
}

type distance struct{ value, variance float64 }

// folds say how much less |X/n − p| scatters than X/n does.
type folds struct {
	n float64
	p []float64
	// For each state: the variance of X/n, and E|X/n − p|²/E[exp(−2t²)] where t is
	// X/n − p in standard deviations.
	variance, deficit []float64
}

// A term is what a state contributes to the distances.
type term struct{ q, d, near, log float64 }

// term returns what a count of state i contributes.
func (f *folds) term(i int, x float64) term {
	q, p := x/f.n, f.p[i]
	t := term{q: q, d: q - p}
	if s := f.variance[i]; s > 0 {
		t.near = f.deficit[i] * math.Exp(-2*t.d*t.d/s)
	}
	if x > 0 {
		t.log = math.Log(q / p)
	}
	return t
}

func newFolds(p []float64, n int) *folds {
	f := &folds{n: float64(n), p: p, variance: make([]float64, len(p)), deficit: make([]float64, len(p))}
	known := map[float64]float64{} // few probabilities are distinct
	for i, pi := range p {
		f.variance[i] = pi * (1 - pi) / f.n
		d, seen := known[pi]
		if !seen && f.variance[i] > 0 {
			mad := MeanAbsoluteDeviation(n, pi)
			d = mad * mad / f.meanNearness(pi)
			known[pi] = d
		}
		f.deficit[i] = d
	}
	return f
}

// meanNearness returns E[exp(−2t²)].
func (f *folds) meanNearness(p float64) float64 {
	mean := f.n * p
	if mean > 30 || f.n*(1-p) < 30 {
		return 1 / math.Sqrt(5)
	}
	var sum float64
	mass := math.Exp(f.n * math.Log1p(-p))
	for k := 0.0; k < mean+12*math.Sqrt(mean)+12 && k <= f.n; k++ {
		sum += mass * math.Exp(-2*(k-mean)*(k-mean)/(mean*(1-p)))
		mass *= p / (1 - p) * (f.n - k) / (k + 1)
	}
	return sum
}

// distances returns both with first estimates of their variance. That of Σ|D_i|,
// D_i = X_i/n − p_i, is less than that of Σ±D_i where D_i is small against its
// scatter σ_i, by E|D_i|² if it is that of exact samples. E[exp(−2D²/σ²)] falls
// off nearly as that does.
func (f *folds) distances(counts []float64) [2]distance {
	var s termSums
	for i, x := range counts {
		s.add(f.term(i, x))
	}
	return s.distances(f.n)
}

// termSums are sums over states that both distances and their variances follow from.
type termSums struct{ variation, signed, near, divergence, squares float64 }

func (s *termSums) add(t term) {
	s.variation += math.Abs(t.d) / 2
	if t.d > 0 {
		s.signed += t.q
	} else {
		s.signed -= t.q
	}
	s.near -= t.near
	s.divergence += t.q * t.log
	s.squares += t.q * t.log * t.log
}

func (s *termSums) distances(n float64) [2]distance {
	return [2]distance{
		{s.variation, (s.near + (1-s.signed*s.signed)/n) / 4},
		{s.divergence, (s.squares - s.divergence*s.divergence) / n},
	}
}

// MeanAbsoluteDeviation returns E|X/n − p| for X binomial(n, p), by De Moivre's
// formula 2 (k+1) C(n, k+1) p^{k+1} (1−p)^{n−k} / n with k = ⌊np⌋.
func MeanAbsoluteDeviation(n int, p float64) float64 {
	if p <= 0 || p >= 1 {
		return 0
	}
	k := math.Floor(float64(n) * p)
	lg := func(x float64) float64 { v, _ := math.Lgamma(x + 1); return v }
	log := lg(float64(n)) - lg(k+1) - lg(float64(n)-k-1) + (k+1)*math.Log(p) + (float64(n)-k)*math.Log1p(-p)
	return 2 * (k + 1) * math.Exp(log) / float64(n)
}

// Bridges simulates W₁ of n exact samples from their own law, ∫|F_n − F| dx. It
// takes points of the law, of several coordinates whose distances are averaged:
// rows of them belong together. F_n − F is a sum of normal numbers, one for each
// row, in the order of the coordinate's points. Different streams are independent.
func Bridges(columns [][]float64, n float64, stream uint64) []float64 {
	const repeats = 500
	rows := len(columns[0])
	order := make([][]int, len(columns))
	for c, x := range columns {
		order[c] = ascending(x)
	}
	r := source(1<<32 + stream)
	xi, all := make([]float64, rows), make([]float64, repeats)
	for repeat := range all {
		var mean float64
		for i := range xi {
			xi[i] = r.NormFloat64()
			mean += xi[i] / float64(rows)
		}
		for c, x := range columns {
			var level, area float64
			for k, i := range order[c][:rows-1] {
				level += xi[i] - mean
				area += math.Abs(level) * (x[order[c][k+1]] - x[i])
			}
			all[repeat] += area / math.Sqrt(float64(rows)*n) / float64(len(columns))
		}
	}
	return all
}

// AbsoluteSums simulates Σ|x_i| of n numbers that draw sets: errors of averages,
// say, that are normal.
func AbsoluteSums(n int, draw func(r *rand.Rand, x []float64)) []float64 {
	const repeats = 1000
	r := source(1 << 33)
	x, all := make([]float64, n), make([]float64, repeats)
	for i := range all {
		draw(r, x)
		for _, v := range x {
			all[i] += math.Abs(v)
		}
	}
	return all
}

// Independent is the draw of AbsoluteSums for independent normal numbers of the
// given standard deviations.
func Independent(deviations []float64) func(r *rand.Rand, x []float64) {
	return func(r *rand.Rand, x []float64) {
		for i, d := range deviations {
			x[i] = d * r.NormFloat64()
		}
	}
}
