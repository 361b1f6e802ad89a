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

// A Null is the law of an error under exact sampling: its quantiles at the levels (i+½)/len,
// ascending. An empty one is half-normal, the law of an average's error.
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

// Quantile returns the quantile of the error at a level. mean is the mean error, which only a
// half-normal law needs.
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

// MedianQuantile returns the quantile at a level of the median error of several exact samples.
// They are compared with one reference, whose own error is normal with standard deviation off.
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

// shift turns errors into errors against a reference that is itself off by a number. An average's
// error has either sign; a distance from a law has none.
func (l Null) shift(errors []float64, by float64, r *rand.Rand) {
	for i, e := range errors {
		if len(l) == 0 && r.Uint64()&1 == 0 {
			e = -e
		}
		errors[i] = math.Abs(e + by)
	}
}

// source returns a stream for simulations. The seed is fixed: equal samples get equal verdicts.
func source(stream uint64) *rand.Rand { return rand.New(rand.NewPCG(0x6e756c6c, stream)) }

// A binomial draws the number of successes of independent trials.
type binomial struct {
	p          float64 // probability of the rarer outcome, at most ½
	odds       float64 // p/(1 − p)
	logNone    float64 // ln(1 − p)
	complement bool    // the rarer outcome is a failure
}

func newBinomial(p float64) binomial {
	b := binomial{p: p}
	if p > 0.5 && p < 1 {
		b.p, b.complement = 1-p, true
	}
	b.odds, b.logNone = b.p/(1-b.p), math.Log1p(-b.p)
	return b
}

// draw draws the number of successes of n trials.
func (b *binomial) draw(r *rand.Rand, n float64) float64 {
	switch {
	case n <= 0 || b.p <= 0 && !b.complement:
		return 0
	case b.p >= 1:
		return n
	}
	k := b.rarer(r, n)
	if b.complement {
		return n - k
	}
	return k
}

// rarer draws how often the rarer outcome occurs: by inverting the law, and from a mean of 30 on
// by rounding a normal number that is given the law's skewness.
func (b *binomial) rarer(r *rand.Rand, n float64) float64 {
	p := b.p
	if mean := n * p; mean > 30 {
		z := r.NormFloat64()
		x := mean + math.Sqrt(mean*(1-p))*z + (1-2*p)*(z*z-1)/6
		return min(max(math.Round(x), 0), n)
	}
	mass := math.Exp(n * b.logNone)
	u := r.Float64()
	var k float64
	for u > mass && k < n {
		u -= mass
		mass *= b.odds * (n - k) / (k + 1)
		k++
	}
	return k
}

// Counts holds the simulated laws of two distances between the frequencies of exact samples and
// their probabilities: the total variation and the Kullback–Leibler divergence.
type Counts struct {
	Variation, Divergence Null

	law      *multinomial
	variance [2]float64 // of each distance, for exact samples
	excess   [2]float64 // mean first-order estimate of variance for exact samples, less variance
}

// A CountDistance is a distance of frequencies from probabilities with its
// standard error.
type CountDistance struct{ Value, StandardError float64 }

// Share returns the 95 % interval of a distance that lies between 0 and 1, such as a total variation.
func (d CountDistance) Share() [2]float64 {
	i := Interval(d.Value, d.StandardError)
	return [2]float64{max(0, i[0]), min(1, i[1])}
}

// NewCounts returns the laws for n samples of probabilities p. Equal arguments share one result.
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

// simulateCounts simulates n samples of probabilities p. Where there are many states, those that
// are equally likely are drawn together, in lumps.
func simulateCounts(p []float64, n int) *Counts {
	law, smallest := newMultinomial(p, n), minLump
	if len(p) <= maxSeparate {
		smallest = len(p) + 1
	}
	s := newSimulation(law, smallest)
	const maxWork, minRepeats, maxRepeats = 1 << 23, 128, 2000
	return law.newCounts(min(max(maxWork/s.work(), minRepeats), maxRepeats), s.distances)
}

// newCounts takes the laws from a number of simulations.
func (m *multinomial) newCounts(repeats int, simulate func(r *rand.Rand) [2]distance) *Counts {
	r := source(0)
	var values, variances [2][]float64
	for range repeats {
		for k, d := range simulate(r) {
			values[k], variances[k] = append(values[k], d.value), append(variances[k], d.variance)
		}
	}
	c := &Counts{Variation: NewNull(values[0]), Divergence: NewNull(values[1]), law: m}
	for k := range values {
		deviation := MeanOf(values[k]).Deviation()
		c.variance[k] = deviation * deviation
		c.excess[k] = MeanOf(variances[k]).Value() - c.variance[k]
	}
	return c
}

// conditionals returns the laws by which multinomial counts are drawn one after the other: each
// count is binomial given those before it.
func conditionals(p []float64) []binomial {
	laws := make([]binomial, len(p))
	mass := 1.0
	for j, pj := range p {
		laws[j] = newBinomial(pj / mass)
		mass = max(mass-pj, 1e-300)
	}
	return laws
}

// Distances returns the total variation and the divergence of the frequencies of
// n samples from p. The variances are first-order estimates less their excess for exact samples:
// there the differences are small and their signs are chance.
func (c *Counts) Distances(counts []float64) (variation, divergence CountDistance) {
	v := c.law.distances(counts)
	finish := func(k int) CountDistance {
		return CountDistance{v[k].value, math.Sqrt(max(v[k].variance-c.excess[k], c.variance[k]/4))}
	}
	return finish(0), finish(1)
}

type distance struct{ value, variance float64 }

// A multinomial is the law of the counts X of n samples, with what the variances of distances need.
type multinomial struct {
	n        float64
	p        []float64
	variance []float64 // of X/n, by state
	// deficit is (E|X/n − p|)²/E[exp(−2t²)] of each state, where t is X/n − p in standard
	// deviations: |X/n − p| has a smaller variance than X/n has.
	deficit []float64
}

// A term is what a state contributes to the distances.
type term struct {
	q    float64 // frequency
	d    float64 // q − p
	near float64 // estimate of (E|d|)², by which |d| varies less than d
	log  float64 // ln(q/p), 0 where q is
}

// term returns what a count of state i contributes.
func (m *multinomial) term(i int, x float64) term {
	q, p := x/m.n, m.p[i]
	t := term{q: q, d: q - p}
	if s := m.variance[i]; s > 0 {
		t.near = m.deficit[i] * math.Exp(-2*t.d*t.d/s)
	}
	if x > 0 {
		t.log = math.Log(q / p)
	}
	return t
}

func newMultinomial(p []float64, n int) *multinomial {
	m := &multinomial{n: float64(n), p: p, variance: make([]float64, len(p)), deficit: make([]float64, len(p))}
	deficits := map[float64]float64{} // by probability: few are distinct
	for i, pi := range p {
		m.variance[i] = pi * (1 - pi) / m.n
		d, seen := deficits[pi]
		if !seen && m.variance[i] > 0 {
			mad := MeanAbsoluteDeviation(n, pi)
			d = mad * mad / m.meanNearness(pi)
			deficits[pi] = d
		}
		m.deficit[i] = d
	}
	return m
}

// meanNearness returns E[exp(−2t²)].
func (m *multinomial) meanNearness(p float64) float64 {
	mean := m.n * p
	if mean > 30 || m.n*(1-p) < 30 {
		return 1 / math.Sqrt(5) // of a normal t
	}
	var sum float64
	mass := math.Exp(m.n * math.Log1p(-p))
	for k := 0.0; k < mean+12*math.Sqrt(mean)+12 && k <= m.n; k++ {
		sum += mass * math.Exp(-2*(k-mean)*(k-mean)/(mean*(1-p)))
		mass *= p / (1 - p) * (m.n - k) / (k + 1)
	}
	return sum
}

// distances returns the total variation and the divergence with first-order estimates of their
// variances. The variance of Σ|D_i|, D_i = X_i/n − p_i, is less than that of Σ±D_i where D_i is
// small against its standard deviation σ_i: by (E|D_i|)² for exact samples. The difference falls
// off with |D_i| nearly as exp(−2D_i²/σ_i²) does.
func (m *multinomial) distances(counts []float64) [2]distance {
	var s termSums
	for i, x := range counts {
		s.add(m.term(i, x))
	}
	return s.distances(m.n)
}

// termSums are the sums over states from which both distances and their variances follow.
type termSums struct {
	variation  float64 // Σ |d|/2
	signed     float64 // Σ ±q, by the sign of d
	near       float64 // −Σ near
	divergence float64 // Σ q ln(q/p)
	squares    float64 // Σ q ln²(q/p)
}

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

// Bridges simulates W₁ of n exact samples from their own law, ∫|F_n − F| dx, averaged over
// coordinates. columns holds many points of the law by coordinate; entries of one index are one
// point. F_n − F is taken for a Brownian bridge: each point has a normal number, less their mean,
// and these are summed in the order of the coordinate. Different streams are independent.
func Bridges(columns [][]float64, n float64, stream uint64) []float64 {
	const repeats = 500
	rows := len(columns[0])
	order := make([][]int, len(columns))
	for c, x := range columns {
		order[c] = ascending(x)
	}
	r := source(1<<32 + stream)
	z, errors := make([]float64, rows), make([]float64, repeats)
	for repeat := range errors {
		var mean float64
		for i := range z {
			z[i] = r.NormFloat64()
			mean += z[i] / float64(rows)
		}
		for c, x := range columns {
			var level, area float64
			for k, i := range order[c][:rows-1] {
				level += z[i] - mean
				area += math.Abs(level) * (x[order[c][k+1]] - x[i])
			}
			errors[repeat] += area / math.Sqrt(float64(rows)*n) / float64(len(columns))
		}
	}
	return errors
}

// AbsoluteSums simulates Σ|x_i| of n numbers that draw sets, such as normal errors of averages.
func AbsoluteSums(n int, draw func(r *rand.Rand, x []float64)) []float64 {
	const repeats = 1000
	r := source(1 << 33)
	x, sums := make([]float64, n), make([]float64, repeats)
	for i := range sums {
		draw(r, x)
		for _, v := range x {
			sums[i] += math.Abs(v)
		}
	}
	return sums
}

// Independent returns a draw function for AbsoluteSums: independent normal numbers of the given
// standard deviations.
func Independent(deviations []float64) func(r *rand.Rand, x []float64) {
	return func(r *rand.Rand, x []float64) {
		for i, d := range deviations {
			x[i] = d * r.NormFloat64()
		}
	}
}
