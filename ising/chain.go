package ising

import (
	"math"
	"math/bits"

	"github.com/revgen/revgen/bitspin"
	"github.com/revgen/revgen/engine/rng"
	"github.com/revgen/revgen/internal/pool"
)

// A chain is what long Metropolis runs say about a target without a field whose
// configurations cannot be enumerated. Replicas are independent of each other,
// so that the scatter of their averages gives the statistical errors.
type chain struct {
	joint       *joint
	uncertainty [4]float64       // standard errors of the observables
	energies    map[int]estimate // probability of each bond sum
	// correlation holds G(r) = ⟨s_i s_{i+r}⟩ along the axes, r = 1, 2, …
	correlation []estimate
}

// An estimate is a mean with the standard deviation of a single sample and its
// own standard error.
type estimate struct{ value, deviation, uncertainty float64 }

// The chain's extent: replicas start aligned (at random if the coupling does not
// favour that), take chainBurn·L² sweeps, and are measured every L²/8 sweeps.
const (
	largestChain      = 32 // side
	chainBlocks       = 2
	chainBurn         = 10
	chainMeasurements = 128
	largestDistance   = 16
)

// chainable reports whether there is a reference by Metropolis runs.
func chainable(model bitspin.Model) bool {
	return model.L > MaxEnumerated && model.L <= largestChain && model.H == 0
}

func newChain(t Target, workers *pool.Pool) (*chain, error) {
	b, err := bitspin.NewBulk(t.Model, t.Beta, chainBlocks*bitspin.BulkReplicas, bitspin.IndependentDraws, rng.Stream(0, rng.Reference, 0))
	if err != nil {
		return nil, err
	}
	if t.J > 0 {
		b.Align()
	}
	sweeps := chainBurn * t.N
	sweep := func(block int) { b.Sweep(block, block+1, sweeps) }
	workers.Run(b.Blocks(), sweep)
	sweeps = max(1, t.N/8)

	n := b.Replicas()
	bonds, magnetisations := make([]int, n), make([]int, n)
	configurations := make([]uint64, n*t.Words)
	distances := axialDistances(t.L)
	// By replica: Σ E, Σ E², Σ |m|, Σ m², the counts of bond sums, and Σ G(r).
	moments, counts := make([][4]float64, n), make([]float64, n*(t.N+1))
	correlations := make([]float64, n*distances)
	squares, g, rows := make([]float64, distances), make([]float64, distances), make([]uint32, t.L)
	c := &chain{joint: newJoint(t.Model), energies: map[int]estimate{}}
	for range chainMeasurements {
		workers.Run(b.Blocks(), sweep)
		b.BondSums(bonds)
		b.Magnetisations(magnetisations)
		b.Configurations(configurations)
		for i, sum := range bonds {
			e, m := t.EnergyOf(sum, 0), math.Abs(float64(magnetisations[i]))/float64(t.N)
			for k, v := range [4]float64{e, e * e, m, m * m} {
				moments[i][k] += v / chainMeasurements
			}
			counts[i*(t.N+1)+(2*t.N-sum)/4] += 1.0 / chainMeasurements
			// Without a field both signs are as likely, whatever the start.
			c.joint.add(sum, magnetisations[i], 0.5)
			c.joint.add(sum, -magnetisations[i], 0.5)
			axial(g, configurations[i*t.Words:], rows)
			for r, v := range g {
				correlations[i*distances+r] += v / chainMeasurements
				squares[r] += v * v / float64(n*chainMeasurements)
			}
		}
	}
	c.joint.normalise()
	c.uncertainty = momentErrors(moments, t)
	for level := range t.N + 1 {
		e := scatter(n, func(i int) float64 { return counts[i*(t.N+1)+level] })
		if e.value > 0 {
			e.deviation = math.Sqrt(e.value * (1 - e.value))
			c.energies[2*t.N-4*level] = e
		}
	}
	for r := range distances {
		e := scatter(n, func(i int) float64 { return correlations[i*distances+r] })
		e.deviation = math.Sqrt(max(0, squares[r]-e.value*e.value))
		c.correlation = append(c.correlation, e)
	}
	return c, nil
}

// scatter returns the mean of independent numbers and its standard error.
func scatter(n int, of func(i int) float64) (e estimate) {
	for i := range n {
		e.value += of(i) / float64(n)
	}
	var squares float64
	for i := range n {
		squares += (of(i) - e.value) * (of(i) - e.value)
	}
	e.uncertainty = math.Sqrt(squares / float64(n*(n-1)))
	return e
}

// momentErrors returns the standard errors of the observables, to first order,
// from the replicas' averages of E, E², |m| and m².
func momentErrors(replicas [][4]float64, t Target) (errors [4]float64) {
	var mean [4]float64
	for _, r := range replicas {
		for k, v := range r {
			mean[k] += v / float64(len(replicas))
		}
	}
	for k, influence := range [4]func(r [4]float64) float64{
		energy:           func(r [4]float64) float64 { return r[0] },
		absMagnetisation: func(r [4]float64) float64 { return r[2] },
		specificHeat:     func(r [4]float64) float64 { return t.Beta * t.Beta * (r[1] - 2*mean[0]*r[0]) },
		susceptibility:   func(r [4]float64) float64 { return t.Beta * float64(t.N) * (r[3] - 2*mean[2]*r[2]) },
	} {
		errors[k] = scatter(len(replicas), func(i int) float64 { return influence(replicas[i]) }).uncertainty
	}
	return errors
}

// axialDistances returns how many distances correlations are taken at.
func axialDistances(l int) int { return min(l/2, largestDistance) }

// rowsOf sets bit c of rows[r] to the spin there, on a lattice of len(rows) ≤ 32
// rows.
func rowsOf(rows []uint32, config []uint64) {
	l := len(rows)
	full := uint32(1)<<l - 1
	for r := range rows {
		at := r * l
		x := config[at>>6] >> (at & 63)
		if at&63+l > 64 {
			x |= config[at>>6+1] << (64 - at&63)
		}
		rows[r] = uint32(x) & full
	}
}

// axial sets g[r−1] to the mean of s_i s_{i+r} over the sites of a configuration
// and both axes. It needs scratch of one number for each row.
func axial(g []float64, config []uint64, rows []uint32) {
	l := len(rows)
	full := uint32(1)<<l - 1
	rowsOf(rows, config)
	for i := range g {
		r, unequal := i+1, 0
		for k, x := range rows {
			unequal += bits.OnesCount32(x^(x>>r|x<<(l-r)&full)) + bits.OnesCount32(x^rows[(k+r)%l])
		}
		g[i] = 1 - float64(unequal)/float64(l*l)
	}
}
