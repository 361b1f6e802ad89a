package main

import (
	"fmt"
	"math"
	"math/bits"

	"github.com/revgen/revgen/engine/spins"
)

// A Pool sums up weighted configurations of sites of q states on a square lattice of at most
// 32 rows, for Distances. Sites are compared by s·s′ = (q δ − 1)/(q − 1), as corners of a
// simplex; two states are spins.
type Pool struct {
	l, q   int
	weight float64
	sums   []float64 // all that follows, one after another
	site   []float64 // Σ w of each state, [q][L²]
	rows   []float64 // Σ w Σ_c s_rc·s_r′c, [L][L], r ≤ r′
	cols   []float64 // the same of columns
	energy []float64 // weights of half the number of bonds that differ, in L² bins
	up     []float64 // of the number of sites in the last state, in L² bins
}

// largestPool is the largest side of a Pool, whose rows are words of as many bits.
const largestPool = 32

// NewPool returns that of no configurations of side l.
func NewPool(l, q int) *Pool {
	if l < 2 || l > largestPool {
		panic(fmt.Sprintf("a pool of lattices of side %d, which is not between 2 and %d", l, largestPool))
	}
	p := &Pool{l: l, q: q, sums: make([]float64, (4+q)*l*l)}
	p.site = p.sums[:q*l*l]
	rest := p.sums[q*l*l:]
	for _, part := range []*[]float64{&p.rows, &p.cols, &p.energy, &p.up} {
		*part, rest = rest[:l*l], rest[l*l:]
	}
	return p
}

// Add adds configurations of a format of spins, or of "states", with a weight each, or the
// weight 1 if weights is nil.
func (p *Pool) Add(format string, states []byte, weights []float64) error {
	n := p.l * p.l
	if format != "states" {
		batch, err := spins.ReadStates(format, states, n)
		if err != nil {
			return err
		}
		words := (n + 63) / 64
		states = make([]byte, len(batch)/words*n)
		for i := range states {
			states[i] = byte(batch[i/n*words+i%n>>6] >> (i % n & 63) & 1)
		}
	}
	if weights != nil && len(weights)*n != len(states) {
		return fmt.Errorf("states: there are %d with %d weights", len(states)/n, len(weights))
	}
	w, lines := 1.0, make([]uint32, 2*p.q*p.l)
	for i := 0; i < len(states); i += n {
		if weights != nil {
			w = weights[i/n]
		}
		p.add(lines[:p.q*p.l], lines[p.q*p.l:], states[i:i+n], w)
	}
	return nil
}

// add adds a configuration. It needs scratch for its rows and columns, bits of each state.
func (p *Pool) add(rows, cols []uint32, state []byte, w float64) {
	l, q, ups, bonds := p.l, p.q, 0, 0
	clear(rows)
	clear(cols)
	for i, s := range state {
		r, c := i/l, i%l
		rows[int(s)*l+r] |= 1 << c
		cols[int(s)*l+c] |= 1 << r
		p.site[int(s)*l*l+i] += w
		if int(s) == q-1 {
			ups++
		}
	}
	for _, axis := range []struct {
		lines []uint32
		sums  []float64
	}{{rows, p.rows}, {cols, p.cols}} {
		equal := func(a, b int) (n int) {
			for at := 0; at < q*l; at += l {
				n += bits.OnesCount32(axis.lines[at+a] & axis.lines[at+b])
			}
			return n
		}
		for a := range l {
			bonds += l - equal(a, (a+1)%l)
			for b := a; b < l; b++ {
				axis.sums[a*l+b] += w * float64(q*equal(a, b)-l) / float64(q-1)
			}
		}
	}
	p.weight += w
	p.energy[min(bonds/2, l*l-1)] += w
	p.up[min(ups, l*l-1)] += w
}

// Merge adds what another pool of the same side holds.
func (p *Pool) Merge(q *Pool) {
	p.weight += q.weight
	for i, v := range q.sums {
		p.sums[i] += v
	}
}

// Reset empties the pool.
func (p *Pool) Reset() {
	p.weight = 0
	clear(p.sums)
}

// Distances are those between two pools by which masked diffusion samplers are judged:
// of MDNS (arXiv 2508.10684, its equation 28), as the evaluation of IEDG takes them, in
// the order of DistanceNames.
//
//   - Mag: the mean of |ΔM_r| over the rows' mean spins M_r, averaged with that over the
//     columns'; of sites the sum over states of the change of their fractions.
//   - CorrAgg: the sum over pairs of rows r, r′ of |ΔC_rr′|, C_rr′ being the sum over
//     columns c of the covariance of s_rc and s_r′c, and the same of columns, divided by L².
//   - x↑ JS and energy JS: the divergences of Jensen and Shannon, in nats, of the fraction
//     of up spins, or of sites in the last state, and of the energy per site, in L² bins on
//     [0, 1] and [−2J, 2J].
//   - curve: the mean of |ΔG(r)| over −L/2 ≤ r < L/2, G(r) being the mean of s s′ over
//     pairs r rows apart.
//
// With q states, products are those of Pool; what the papers take there they do not say.
type Distances [5]float64

// DistanceNames are those of the literature.
var DistanceNames = [5]string{"Mag", "CorrAgg", "x↑ JS", "energy JS", "curve"}

const (
	magDistance = iota
	correlationDistance
	upDistance
	energyDistance
	curveDistance
)

// Distances returns those between two pools of the same side, neither of them empty.
func (p *Pool) Distances(q *Pool) (d Distances) {
	l := p.l
	row, col := make([]float64, p.q*l), make([]float64, p.q*l)
	for i := range p.site {
		delta := (p.site[i]/p.weight - q.site[i]/q.weight) / float64(l)
		row[i/l] += delta
		col[i/(l*l)*l+i%l] += delta
	}
	for i := range row {
		d[magDistance] += (math.Abs(row[i]) + math.Abs(col[i])) / float64(2*l)
	}
	d[upDistance], d[energyDistance] = jensenShannon(p.up, q.up), jensenShannon(p.energy, q.energy)
	curve := make([]float64, l)
	for a := range l {
		for b := a; b < l; b++ {
			delta := p.rows[a*l+b]/p.weight - q.rows[a*l+b]/q.weight
			curve[b-a] += delta / float64(l*l)
			if b > a {
				curve[l-b+a] += delta / float64(l*l)
			}
			times := 2.0
			if a == b {
				times = 1
			}
			d[correlationDistance] += times * math.Abs(p.covariance(p.rows, a, b, l, 1)-q.covariance(q.rows, a, b, l, 1)) / float64(l*l)
			d[correlationDistance] += times * math.Abs(p.covariance(p.cols, a, b, 1, l)-q.covariance(q.cols, a, b, 1, l)) / float64(l*l)
		}
	}
	for r := -(l / 2); r < l-l/2; r++ {
		d[curveDistance] += math.Abs(curve[(r+l)%l]) / float64(l)
	}
	return d
}

// covariance returns the sum of those of the spins of two lines with each other, whose
// sums of products are given. Spins of a line are step apart, and lines next.
func (p *Pool) covariance(sums []float64, a, b, next, step int) float64 {
	value, q := sums[a*p.l+b]/p.weight, float64(p.q)
	for k := range p.l {
		var same float64
		for at := 0; at < len(p.site); at += p.l * p.l {
			same += p.site[at+a*next+k*step] / p.weight * (p.site[at+b*next+k*step] / p.weight)
		}
		value -= (q*same - 1) / (q - 1)
	}
	return value
}

// jensenShannon returns the divergence of two histograms, in nats.
func jensenShannon(p, q []float64) (js float64) {
	var a, b float64
	for i := range p {
		a += p[i]
		b += q[i]
	}
	for i := range p {
		x, y := p[i]/a, q[i]/b
		for _, v := range [2]float64{x, y} {
			if v > 0 {
				js += 0.5 * v * math.Log(2*v/(x+y))
			}
		}
	}
	return js
}
