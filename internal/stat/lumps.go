package stat

import (
	"math"
	"math/rand/v2"
)

const (
	maxSeparate = 1 << 13 // states that are all simulated one by one
	minLump     = 1 << 6  // equally likely states whose terms add up to nearly normal numbers
)

// findLumps returns the lumps of at least so many states, and the states in none.
func findLumps(p []float64, smallest int) (lumps []lump, singles []int) {
	number := make(map[float64]int) // of states, by probability; negative once their lump is there
	for _, x := range p {
		number[x]++
	}
	for i, x := range p {
		switch k := number[x]; {
		case k < 0:
		case k < smallest:
			singles = append(singles, i)
		default:
			lumps = append(lumps, lump{state: i, number: float64(k)})
			number[x] = -k
		}
	}
	return lumps, singles
}

// A lump is a number of equally likely states. Their terms, summed, are taken for normal
// numbers given the lump's total count: sums of many independent terms and of the counts are
// jointly nearly normal, and so they are given the total.
type lump struct {
	state  int           // one of them
	number float64       // of states
	count  float64       // expected samples in all of them
	mean   [5]float64    // of the sums, at the expected count
	slope  [5]float64    // what one sample more adds to them
	factor [5][5]float64 // Cholesky factor of their covariance given the count
}

// A simulation draws counts and sums the terms of states: those in lumps together, single ones
// one by one.
type simulation struct {
	*multinomial
	lumps       []lump
	singles     []int
	conditional []binomial // counts of the lumps, then of the single states
}

func newSimulation(m *multinomial, smallest int) *simulation {
	s := &simulation{multinomial: m}
	s.lumps, s.singles = findLumps(m.p, smallest)
	var p []float64
	for i := range s.lumps {
		l := &s.lumps[i]
		l.prepare(m)
		p = append(p, l.number*m.p[l.state])
	}
	for _, i := range s.singles {
		p = append(p, m.p[i])
	}
	s.conditional = conditionals(p)
	return s
}

// work is what a simulation costs, in states that are simulated one by one.
func (s *simulation) work() int { return 4*len(s.lumps) + len(s.singles) }

func (s *simulation) distances(r *rand.Rand) [2]distance {
	left := s.n
	var sums termSums
	for i := range s.lumps {
		k := s.conditional[i].draw(r, left)
		left -= k
		s.lumps[i].addTo(&sums, k, r)
	}
	for j, i := range s.singles {
		x := s.conditional[len(s.lumps)+j].draw(r, left)
		left -= x
		sums.add(s.term(i, x))
	}
	return sums.distances(s.n)
}

func (l *lump) addTo(s *termSums, count float64, r *rand.Rand) {
	var z [5]float64
	for i, v := range []*float64{&s.variation, &s.signed, &s.near, &s.divergence, &s.squares} {
		z[i] = r.NormFloat64()
		*v += l.mean[i] + l.slope[i]*(count-l.count)
		for j := range i + 1 {
			*v += l.factor[i][j] * z[j]
		}
	}
}

// prepare finds the moments of the sums, by summing over the binomial law of one state's count.
func (l *lump) prepare(m *multinomial) {
	p := m.p[l.state]
	l.count = l.number * m.n * p
	if p == 0 {
		return
	}
	variance := m.n * p * (1 - p)
	var mass float64
	var first, withCount [5]float64
	var second [5][5]float64
	eachBinomial(m.n, p, func(x, w float64) {
		var s termSums
		s.add(m.term(l.state, x))
		v := [5]float64{s.variation, s.signed, s.near, s.divergence, s.squares}
		mass += w
		for i := range v {
			first[i] += w * v[i]
			withCount[i] += w * v[i] * (x - m.n*p)
			for j := range i + 1 {
				second[i][j] += w * v[i] * v[j]
			}
		}
	})
	for i := range first {
		first[i] /= mass
		l.mean[i] = l.number * first[i]
		l.slope[i] = withCount[i] / mass / variance
	}
	for i := range first {
		for j := range i + 1 {
			second[i][j] = l.number * (second[i][j]/mass - first[i]*first[j] - l.slope[i]*l.slope[j]*variance)
		}
	}
	l.factor = cholesky(second)
}

// cholesky returns the lower factor of a covariance that is given by its lower triangle. A number
// that others determine gets a zero column.
func cholesky(a [5][5]float64) (l [5][5]float64) {
	for i := range l {
		for j := range i + 1 {
			x := a[i][j]
			for k := range j {
				x -= l[i][k] * l[j][k]
			}
			switch {
			case i == j && x > 1e-10*a[i][i]:
				l[i][i] = math.Sqrt(x)
			case i != j && l[j][j] > 0:
				l[i][j] = x / l[j][j]
			}
		}
	}
	return l
}

// eachBinomial visits the counts of n trials with their probabilities, up to a common factor.
// It leaves out counts that are hardly possible.
func eachBinomial(n, p float64, visit func(x, weight float64)) {
	mean := n * p
	width := 12*math.Sqrt(mean) + 40 // beyond it lies a probability below 1e-20
	first, last := max(0, math.Floor(mean-width)), min(n, math.Ceil(mean+width))
	top := min(math.Floor((n+1)*p), n) // the likeliest, of weight 1
	weights := make([]float64, int(last-first)+1)
	odds := p / (1 - p)
	at := func(x float64) *float64 { return &weights[int(x-first)] }
	*at(top) = 1
	for x := top; x < last; x++ {
		*at(x + 1) = *at(x) * odds * (n - x) / (x + 1)
	}
	for x := top; x > first; x-- {
		*at(x - 1) = *at(x) / odds * x / (n - x + 1)
	}
	for i, w := range weights {
		if w > 0 {
			visit(first+float64(i), w)
		}
	}
}
