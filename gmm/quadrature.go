package gmm

import (
	"math"

	"github.com/revgen/revgen/engine/nn"
)

// A grid is a rectangle of points in the plane.
type grid struct {
	low, step [2]float64
	points    [2]int
}

// newGrid covers both the target and the samples x, [rows][2]: where the target
// is not negligible in float64, and as far beyond as samples go, up to twice
// that, with points dense enough for the trapezoidal rule to be exact for the
// target to rounding.
func newGrid(t *Target, x []float32) *grid {
	const (
		deviations = 8.5
		density    = 12 // points per standard deviation given the other coordinate
		most       = 1024
	)
	g := &grid{}
	for axis := range 2 {
		low, high, narrowest := math.Inf(1), math.Inf(-1), math.Inf(1)
		for _, c := range t.components {
			reach := deviations * math.Sqrt(c.Covariance[axis][axis])
			low, high = min(low, c.Mean[axis]-reach), max(high, c.Mean[axis]+reach)
			// The precision matrix is L⁻ᵀ L⁻¹.
			precision := math.Pow(c.inverse[axis], 2) + math.Pow(c.inverse[2+axis], 2)
			narrowest = min(narrowest, 1/math.Sqrt(precision))
		}
		farLow, farHigh := low, high
		for i := axis; i < len(x); i += 2 {
			farLow, farHigh = min(farLow, float64(x[i])), max(farHigh, float64(x[i]))
		}
		room := (high - low) / 2
		low, high = max(farLow, low-room), min(farHigh, high+room)
		g.points[axis] = min(most, 1+int(math.Ceil((high-low)*density/narrowest)))
		g.low[axis], g.step[axis] = low, (high-low)/float64(g.points[axis]-1)
	}
	return g
}

// An overlap holds integrals over a grid that compare q with π.
type overlap struct{ square, norm, to, from, variation, mass float64 }

func (o *overlap) add(p *overlap) {
	o.square += p.square
	o.norm += p.norm
	o.to += p.to
	o.from += p.from
	o.variation += p.variation
	o.mass += p.mass
}

// count adds a point at which the logarithms of q and π are given.
func (o *overlap) count(logQ, logPi, area float64) {
	q, pi := math.Exp(logQ)*area, math.Exp(logPi)*area
	o.square += (q - pi) * (q - pi) / area
	o.norm += pi * pi / area
	ratio := min(max(logQ-logPi, -farthest), farthest)
	if q > 0 {
		o.to += q * ratio
	}
	if pi > 0 {
		o.from -= pi * ratio
	}
	o.variation += math.Abs(q-pi) / 2
	o.mass += q
}

// integrate returns the integrals over the grid and over every other of its
// points in both directions.
func (d *sampler) integrate(g *grid) (all, thinned overlap) {
	type sums struct{ all, thinned overlap }
	points := g.points[0] * g.points[1]
	area := g.step[0] * g.step[1]
	parts := make([]sums, (points+nn.BlockRows()-1)/nn.BlockRows())
	d.each(points, func(b *samplerBuffers, lo, hi int) {
		x, z := make([]float32, 2*(hi-lo)), b.noise[:2*(hi-lo)]
		logQ := make([]float64, hi-lo)
		for i := range logQ {
			row, column := (lo+i)/g.points[1], (lo+i)%g.points[1]
			x[2*i] = float32(g.low[0] + float64(row)*g.step[0])
			x[2*i+1] = float32(g.low[1] + float64(column)*g.step[1])
		}
		p := b.pass.(*flowPass)
		p.inverse(z, x, d.weights)
		p.logDensity(logQ)
		part := &parts[lo/nn.BlockRows()]
		for i, v := range logQ {
			if math.IsNaN(v) {
				v = math.Inf(-1) // the inverse overflowed
			}
			logPi := d.s.target.LogDensity([]float64{float64(x[2*i]), float64(x[2*i+1])})
			part.all.count(v, logPi, area)
			if (lo+i)/g.points[1]%2 == 0 && (lo+i)%g.points[1]%2 == 0 {
				part.thinned.count(v, logPi, 4*area)
			}
		}
	})
	for i := range parts {
		all.add(&parts[i].all)
		thinned.add(&parts[i].thinned)
	}
	return all, thinned
}

// quadrature adds the distances of a flow in the plane, whose samples x say how
// far it reaches.
func (d *sampler) quadrature(t *table, x []float32) {
	fine, coarse := d.integrate(newGrid(d.s.target, x))
	add := func(name string, figure func(o *overlap) float64) {
		value := figure(&fine)
		change := math.Abs(value - figure(&coarse))
		t.add(name, value, [2]float64{value - change, value + change}, 0)
	}
	add("l2_density_error", func(o *overlap) float64 { return math.Sqrt(o.square) })
	add("l2_relative", func(o *overlap) float64 { return math.Sqrt(o.square / o.norm) })
	add("kl_to_target", func(o *overlap) float64 { return o.to })
	add("kl_from_target", func(o *overlap) float64 { return o.from })
	add("total_variation", func(o *overlap) float64 { return o.variation })
	change := math.Abs(fine.mass - coarse.mass)
	t.compare("captured_mass", 1, fine.mass, [2]float64{fine.mass - change, fine.mass + change}, 0)
	const slack = 0.01
	if math.Abs(fine.mass-1) > slack {
		t.warn("the quadrature's grid holds a mass of %.3g of the generated density instead of 1: it is too wide, or has features too narrow, for the figures from quadrature to be exact", fine.mass)
	}
}
