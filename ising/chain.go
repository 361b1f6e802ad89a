package ising

import (
	"context"
	"fmt"
	"math"
	"math/bits"

	"github.com/revgen/revgen/bitspin"
	"github.com/revgen/revgen/engine/rng"
	"github.com/revgen/revgen/internal/pool"
	"github.com/revgen/revgen/internal/stat"
)

// A chain is what long Metropolis runs say about a target whose configurations
// can be neither listed nor counted. Replicas are independent of each other, so
// that the scatter of their averages gives the statistical errors.
type chain struct {
	joint       *joint
	uncertainty [4]float64 // standard errors of the observables
	// energies holds the probability of each bond sum, by (2N − B)/4, and
	// correlation G(r) = ⟨s_i s_{i+r}⟩ along the axes, r = 1, 2, …: both up to
	// largestChain.
	energies, correlation []estimate
	drift                 float64 // of the energy between the run's halves, in standard errors
}

// An estimate is a mean with the standard deviation of a single sample and its
// own standard error.
type estimate struct{ value, deviation, uncertainty float64 }

// The chain's extent: replicas start aligned (at random if the coupling does not
// favour that), take chainBurn·L² sweeps, and are measured every L²/8 sweeps, as often
// as chainFlips allow up to mostMeasurements times, and leastMeasurements at least.
// If sweeps are slow, in a field, or the lattice is larger than largestChain, all
// numbers are less, but for leastBurn, so that startFlips suffice to start.
const (
	largestChain      = 32 // side
	chainBlocks       = 2
	chainBurn         = 10
	leastMeasurements = 128
	mostMeasurements  = 1024
	largestDistance   = 16

	chainFlips = 1 << 33
	startFlips = 1 << 30
	leastBurn  = 200
)

// extent returns the numbers of sweeps before the first measurement and between
// two, and that of measurements.
func extent(model bitspin.Model) (burn, between, measurements int) {
	burn, between = chainBurn*model.N, max(1, model.N/8)
	flips := model.N * chainBlocks * bitspin.BulkReplicas // of a sweep
	if model.H == 0 && model.L <= largestChain {
		return burn, between, max(leastMeasurements, min(mostMeasurements, chainFlips/(between*flips)))
	}
	burn = min(burn, max(leastBurn, startFlips/flips))
	return burn, min(between, (burn+leastMeasurements-1)/leastMeasurements), leastMeasurements
}

func newChain(ctx context.Context, t Target, workers *pool.Pool) (*chain, error) {
	b, err := bitspin.NewBulk(t.Model, t.Beta, chainBlocks*bitspin.BulkReplicas, rng.Stream(0, rng.Reference, 0))
	if err != nil {
		return nil, err
	}
	if t.J > 0 {
		b.Align()
	}
	// Slices of at most 2²⁴ flips of a block between looks at the context.
	sweep := func(sweeps int) error {
		for slice := max(1, 1<<24/(t.N*bitspin.BulkReplicas)); sweeps > 0; sweeps -= slice {
			if err := ctx.Err(); err != nil {
				return err
			}
			workers.Run(b.Blocks(), func(block int) { b.Sweep(block, block+1, min(slice, sweeps)) })
		}
		return nil
	}
	burn, between, measurements := extent(t.Model)
	if err := sweep(burn); err != nil {
		return nil, err
	}

	n := b.Replicas()
	configurations := make([]uint64, n*t.Words)
	distances, levels := axialDistances(t.L), t.N+1
	if t.L > largestChain {
		distances, levels = 0, 0
	}
	// By replica: Σ E, Σ E², Σ |m|, Σ m², the counts of bond sums, Σ G(r), and ΣE
	// of the second half less that of the first.
	moments, counts := make([][4]float64, n), make([]float64, n*levels)
	correlations, drift := make([]float64, n*distances), make([]float64, n)
	squares, g, rows := make([]float64, distances), make([]float64, distances), make([]uint32, t.L)
	c := &chain{joint: newJoint(t.Model)}
	for part := range measurements {
		if err := sweep(between); err != nil {
			return nil, err
		}
		b.Configurations(configurations)
		sign := float64(2*(2*part/measurements) - 1)
		for i := range n {
			config := configurations[i*t.Words:][:t.Words]
			sum, magnetisation := t.BondSum(config), t.Magnetisation(config)
			e, m := t.EnergyOf(sum, magnetisation), math.Abs(float64(magnetisation))/float64(t.N)
			for k, v := range [4]float64{e, e * e, m, m * m} {
				moments[i][k] += v / float64(measurements)
			}
			drift[i] += sign * e
			if t.H == 0 {
				// Both signs are as likely, whatever the start.
				c.joint.add(sum, magnetisation, 0.5)
				c.joint.add(sum, -magnetisation, 0.5)
			} else {
				c.joint.add(sum, magnetisation, 1)
			}
			if levels > 0 {
				counts[i*levels+(2*t.N-sum)/4] += 1 / float64(measurements)
			}
			if distances > 0 {
				axial(g, config, rows)
			}
			for r, v := range g {
				correlations[i*distances+r] += v / float64(measurements)
				squares[r] += v * v / float64(n*measurements)
			}
		}
	}
	c.joint.normalise()
	c.uncertainty = momentErrors(moments, t)
	if e := scatter(n, func(i int) float64 { return drift[i] }); e.value != 0 {
		c.drift = math.Abs(e.value) / e.uncertainty
	}
	for level := range levels {
		e := scatter(n, func(i int) float64 { return counts[i*levels+level] })
		e.deviation = math.Sqrt(e.value * max(0, 1-e.value))
		c.energies = append(c.energies, e)
	}
	for r := range distances {
		e := scatter(n, func(i int) float64 { return correlations[i*distances+r] })
		e.deviation = math.Sqrt(max(0, squares[r]-e.value*e.value))
		c.correlation = append(c.correlation, e)
	}
	return c, nil
}

// source says what the chain is.
func (c *chain) source(model bitspin.Model) string {
	burn, between, measurements := extent(model)
	return fmt.Sprintf("%d Metropolis runs of %d sweeps", chainBlocks*bitspin.BulkReplicas, burn+measurements*between)
}

// scatter returns the mean of independent numbers and its standard error.
func scatter(n int, of func(i int) float64) estimate {
	var m stat.Mean
	for i := range n {
		m.Add(of(i))
	}
	return estimate{value: m.Value(), uncertainty: m.StandardError()}
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
