package gmm

import (
	"context"
	"math"

	"github.com/revgen/revgen/engine/measure"
	"github.com/revgen/revgen/engine/mixture"
	"github.com/revgen/revgen/engine/nn"
	"github.com/revgen/revgen/engine/vectors"
)

// An overlap holds integrals that compare q with π: ∫(q−π)², KL(q‖π), KL(π‖q),
// the total variation ½∫|q−π|, and ∫q.
//
// An integral over the plane is taken as one over each of the two laws,
//
//	∫ f dx = E_π[f/(q+π)] + E_q[f/(q+π)],
//
// so that each place is resolved by the law that is denser there. The nodes are laid
// in the coordinates in which a law is standard normal: those of a component of π, or
// the noise of q. There no variance, correlation or distance is too small or too large
// for the grid. For the total variation and ∫q the averaged quotients lie between 0 and
// 1, and so do their values, as far as the two laws' nodes agree on the mass.
type overlap struct{ square, klTo, klFrom, variation, mass float64 }

// quotients returns f/(q+π) for each integrand f, given ln q and ln π. The divergences
// have the integrands q ln(q/π) − q + π, and the same with q and π exchanged, which are
// never negative.
func quotients(logQ, logPi float64) overlap {
	if math.IsNaN(logQ) {
		logQ = math.Inf(-1) // the inverse overflowed
	}
	if math.IsNaN(logPi) {
		logPi = math.Inf(-1)
	}
	d := logQ - logPi
	switch {
	case math.IsNaN(d): // neither law has weight
		return overlap{}
	case math.IsInf(d, -1):
		return overlap{square: math.Exp(logPi), klTo: 1, klFrom: math.Inf(1), variation: 0.5}
	case math.IsInf(d, 1):
		return overlap{square: math.Exp(logQ), klTo: math.Inf(1), klFrom: 1, variation: 0.5, mass: 1}
	}
	r := math.Exp(-math.Abs(d))
	share := 1 / (1 + r) // of the denser law in q+π
	mass := share
	if d < 0 {
		mass = r * share
	}
	// |q−π|/(q+π) = tanh |d/2|.
	difference := -math.Expm1(-math.Abs(d)) * share
	signed := math.Copysign(difference, d)
	return overlap{
		square:    math.Exp(max(logQ, logPi)) * (1 - r) * difference,
		klTo:      max(0, mass*d-signed),
		klFrom:    max(0, (mass-1)*d+signed),
		variation: difference / 2,
		mass:      mass,
	}
}

// add adds p times a weight.
func (o *overlap) add(p overlap, weight float64) {
	o.square += weight * p.square
	o.klTo += weight * p.klTo
	o.klFrom += weight * p.klFrom
	o.variation += weight * p.variation
	o.mass += weight * p.mass
}

// A rule holds the nodes of the trapezoidal rule for an average over the standard normal
// law on a line. Their number is even, and the nodes of even index have half of the
// weight. The nodes are not symmetric about 0, so that nodes of even and of odd index
// give different sums of a symmetric integrand.
type rule struct{ node, weight []float64 }

const (
	maxNode        = 7.0 // standard deviations, beyond which there are 3e-12 of the law
	nodeShift      = 0.3 // of all nodes, in units of their distance
	firstPoints    = 168 // nodes of the first attempt: 12 to a standard deviation
	maxPoints      = 4 * firstPoints
	settledChange  = 3e-4 // uncertainty of the total variation at which nodes are dense enough
	maxEvaluations = 6e8  // of components of the target
)

func newRule(points int) *rule {
	r := &rule{make([]float64, points), make([]float64, points)}
	var sum [2]float64
	for i := range points {
		r.node[i] = maxNode * (2*(float64(i)+nodeShift)/float64(points-1) - 1)
		r.weight[i] = math.Exp(-r.node[i] * r.node[i] / 2)
		sum[i%2] += r.weight[i]
	}
	for i := range r.weight {
		r.weight[i] /= 2 * sum[i%2]
	}
	return r
}

// rotate rotates a lattice of nodes by an angle whose tangent is the golden section. Then
// no row of nodes lies along an axis or a diagonal, as seams of a flow or a narrow
// component may.
func rotate(x, y float64) [2]float64 {
	const tangent = math.Phi - 1
	cos := 1 / math.Sqrt(1+tangent*tangent)
	return [2]float64{cos * (x - tangent*y), cos * (tangent*x + y)}
}

// rulePoints returns the number of nodes along each axis that maxEvaluations allow, at most
// points.
func rulePoints(points, components int) int {
	return min(points, int(math.Sqrt(maxEvaluations)/float64(components))&^1)
}

// sublattices hold the integrals by the nodes of even or odd index along either axis, four
// combinations. Their mean is the integral, and their scatter its uncertainty.
type sublattices [4]overlap

func (s *sublattices) add(p *sublattices) {
	for i := range s {
		s[i].add(p[i], 1)
	}
}

// estimate returns an integral, and the largest difference of a sublattice from it.
func (s *sublattices) estimate(figure func(o *overlap) float64) (value, change float64) {
	for i := range s {
		value += figure(&s[i]) / float64(len(s))
	}
	for i := range s {
		change = max(change, math.Abs(figure(&s[i])-value))
	}
	return value, change
}

// integrate returns the integrals by a number of nodes along each axis.
func (d *sampler) integrate(ctx context.Context, points int) (*sublattices, error) {
	r := newRule(points)
	square := points * points
	components := d.system.target.Components()
	laws := d.Laws()
	// The nodes of each component of π come first, and then the nodes of each law of q.
	nodes := (components + len(laws)) * square
	parts := make([]sublattices, (nodes+nn.BlockRows()-1)/nn.BlockRows())
	d.Each(nodes, func(b *vectors.Tools, lo, hi int) {
		if ctx.Err() != nil {
			return
		}
		x, z, logQ := make([]float32, 2*(hi-lo)), make([]float32, 2*(hi-lo)), make([]float64, hi-lo)
		// A block may hold nodes of several laws.
		for first := lo; first < hi; {
			law := first / square
			last := min(hi, (law+1)*square)
			x, z, logQ := x[:2*(last-first)], z[:2*(last-first)], logQ[:last-first]
			for i := range logQ {
				at := (first + i) % square
				y := rotate(r.node[at/points], r.node[at%points])
				if law >= components {
					z[2*i], z[2*i+1] = float32(y[0]), float32(y[1])
					continue
				}
				g := &d.system.target.components[law]
				x[2*i] = float32(g.Mean[0] + g.factor[0]*y[0])
				x[2*i+1] = float32(g.Mean[1] + g.factor[1]*y[0] + g.factor[2]*y[1])
			}
			var weight float64
			if law >= components {
				weight = laws[law-components]
				b.Image(x, z, law-components, logQ)
			} else {
				weight = d.system.target.components[law].Weight
				b.LogDensity(logQ, d.system.states(x))
			}
			part := &parts[lo/nn.BlockRows()]
			for i, v := range logQ {
				at := (first + i) % square
				row, column := at/points, at%points
				logPi := d.system.target.LogDensity([]float64{float64(x[2*i]), float64(x[2*i+1])})
				part[2*(row%2)+column%2].add(quotients(v, logPi), 4*weight*r.weight[row]*r.weight[column])
			}
			first = last
		}
	})
	total := &sublattices{}
	for i := range parts {
		total.add(&parts[i])
	}
	return total, ctx.Err()
}

// denser calls integrate with more and more nodes along each axis, at most limit, until it is
// done.
func denser(limit int, integrate func(points int) (done bool, err error)) error {
	for points := min(firstPoints, limit); ; points *= 2 {
		if done, err := integrate(points); done || err != nil || 2*points > limit {
			return err
		}
	}
}

// quadrature adds the distances of a flow in the plane. Nodes become denser
// until the total variation is settled or time runs out.
func (d *sampler) quadrature(ctx context.Context, t *table) error {
	var integrals *sublattices
	err := denser(rulePoints(maxPoints, d.system.target.Components()), func(points int) (done bool, err error) {
		if integrals, err = d.integrate(ctx, points); err != nil {
			return false, err
		}
		_, change := integrals.estimate(func(o *overlap) float64 { return o.variation })
		mass, _ := integrals.estimate(func(o *overlap) float64 { return o.mass })
		return change+math.Abs(mass-1) <= settledChange, nil
	})
	if err != nil {
		return err
	}
	mass, change := t.distances(d.system.target, integrals.estimate)
	captured := measure.Average("captured_mass", measure.Estimate{Value: 1}, mass, 0, 0, false)
	captured.Interval = [2]float64{mass - change, mass + change}
	t.Metrics = append(t.Metrics, captured)
	return nil
}

// coarseness returns by how much float32 rounds a state, in units of the standard deviation of
// a component in its narrowest direction.
func (t *Target) coarseness() float64 {
	const unit = 0x1p-24
	var worst float64
	for _, g := range t.components {
		for i := range t.dim {
			var off float64
			for j, l := range mixture.Row(g.inverse, i) {
				off += math.Abs(l) * unit * (math.Abs(g.Mean[j]) + math.Sqrt(g.Covariance[j][j]))
			}
			worst = max(worst, off)
		}
	}
	return worst
}
