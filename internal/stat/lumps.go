package stat

import (
	"math"
	"math/rand/v2"
)

const (
	lumpedBeyond = 1 << 13 // states, whose simulation one by one has to be a short one
	leastLump    = 1 << 6  // equally likely states whose terms add up to nearly normal numbers
)

// lump returns the states of which so many at least are equally likely, one of
// each kind with the number of them, and the others.
func lump(p []float64, least int) (lumps []lumpOf, rest []int) {
	number := make(map[float64]int)
	for _, x := range p {
		number[x]++
	}
	for i, x := range p {
		switch k := number[x]; {
		case k < 0: // seen
		case k < least:
			rest = append(rest, i)
		default:
			lumps = append(lumps, lumpOf{state: i, number: float64(k)})
			number[x] = -k
		}
	}
	return lumps, rest
}

// A lumpOf is a number of equally likely states. Given how many of the samples are
// in them, what their terms add up to is taken for normal: independent terms
// add up to nearly normal numbers, together with the counts themselves, and so do
// they given the sum of the counts.
type lumpOf struct {
	state  int // one of them
	number float64
	mean   [5]float64    // of the sums, at the expected count …
	count  float64       // … which is this,
	slope  [5]float64    // what one sample more adds to them,
	factor [5][5]float64 // and the Cholesky factor of their covariance given the count
}

// lumped simulates the sums over states that distances follow from, those of the rest one by one.
type lumped struct {
	*folds
	lumps []lumpOf
	rest  []int
	given []trial // the lumps' counts, then those of the rest
}

func newLumped(f *folds, least int) *lumped {
	s := &lumped{folds: f}
	s.lumps, s.rest = lump(f.p, least)
	var p []float64
	for i := range s.lumps {
		l := &s.lumps[i]
		l.prepare(f)
		p = append(p, l.number*f.p[l.state])
	}
	for _, i := range s.rest {
		p = append(p, f.p[i])
	}
	s.given = chained(p)
	return s
}

// work is what a simulation costs, in states that are simulated one by one.
func (s *lumped) work() int { return 4*len(s.lumps) + len(s.rest) }

func (s *lumped) distances(r *rand.Rand) [2]distance {
	left := s.n
	var sums termSums
	for i := range s.lumps {
		k := s.given[i].draw(r, left)
		left -= k
		s.lumps[i].addTo(&sums, k, r)
	}
	for j, i := range s.rest {
		x := s.given[len(s.lumps)+j].draw(r, left)
		left -= x
		sums.add(s.term(i, x))
	}
	return sums.distances(s.n)
}

func (l *lumpOf) addTo(s *termSums, count float64, r *rand.Rand) {
	var z [5]float64
	for i, v := range []*float64{&s.variation, &s.signed, &s.near, &s.divergence, &s.squares} {
		z[i] = r.NormFloat64()
		*v += l.mean[i] + l.slope[i]*(count-l.count)
		for j := range i + 1 {
			*v += l.factor[i][j] * z[j]
		}
	}
}

// prepare sums over the binomial law of a state's count.
func (l *lumpOf) prepare(f *folds) {
	p := f.p[l.state]
	l.count = l.number * f.n * p
	if p == 0 {
		return
	}
	variance := f.n * p * (1 - p)
	var mass float64
	var first, withCount [5]float64
	var second [5][5]float64
	binomial(f.n, p, func(x, w float64) {
		var s termSums
		s.add(f.term(l.state, x))
		v := [5]float64{s.variation, s.signed, s.near, s.divergence, s.squares}
		mass += w
		for i := range v {
			first[i] += w * v[i]
			withCount[i] += w * v[i] * (x - f.n*p)
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

// cholesky returns the lower factor of a covariance, given its lower triangle, in which
// numbers that follow from others have no part of their own.
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

// binomial visits the counts of n trials that have some weight, with weights
// that have an unknown sum.
func binomial(n, p float64, visit func(x, weight float64)) {
	mean := n * p
	width := 12*math.Sqrt(mean) + 40 // what lies beyond has less than 1e-20
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
