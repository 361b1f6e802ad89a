package ising

import (
	"context"
	"fmt"
	"math"
	"math/bits"
	"slices"

	"gonum.org/v1/gonum/floats"
	gonum "gonum.org/v1/gonum/stat"

	"github.com/revgen/revgen/bitspin"
	"github.com/revgen/revgen/engine/measure"
	"github.com/revgen/revgen/engine/rng"
	"github.com/revgen/revgen/internal/lists"
	"github.com/revgen/revgen/internal/pool"
)

// A chain is what long heat-bath runs say about a target whose configurations
// can be neither listed nor counted. Replicas are independent of each other, so
// that the scatter of their averages gives the statistical errors.
type chain struct {
	joint       *joint
	observables [4]measure.Estimate
	// bonds holds the probability of each bond sum, by (2N − B)/4, and
	// correlation G(r) = ⟨s_i s_{i+r}⟩ along the axes, r = 1, 2, …: both up to
	// largestChain.
	bonds       []measure.Estimate
	correlation []estimate
	// In standard errors: how far the energy is from its exact value, if that is known, and
	// its drift between the run's halves.
	off, drift float64
}

// An estimate is a mean with its standard error and the standard deviation of a
// single sample.
type estimate struct {
	measure.Estimate
	deviation float64
}

// The chain's extent: replicas start aligned, take chainBurn·L² sweeps, and are measured
// every L²/8 sweeps, as often as chainFlips allow up to mostMeasurements times, and
// leastMeasurements at least. If the lattice is larger than largestChain, all numbers are
// less, but for leastBurn, so that startFlips suffice to start.
const (
	largestChain      = 32 // side
	chainBlocks       = 2
	chainReplicas     = chainBlocks * bitspin.SweepBlock
	chainBurn         = 3
	leastMeasurements = 128
	mostMeasurements  = 1024
	largestDistance   = 16

	chainFlips = 1 << 33
	startFlips = 1 << 32
	leastBurn  = 600
)

// extent returns the numbers of sweeps before the first measurement and between
// two, and that of measurements.
func extent(model bitspin.Model) (burn, between, measurements int) {
	burn, between = chainBurn*model.N, max(1, model.N/8)
	flips := model.N * chainReplicas // of a sweep
	if model.L <= largestChain {
		return burn, between, max(leastMeasurements, min(mostMeasurements, chainFlips/(between*flips)))
	}
	burn = min(burn, max(leastBurn, startFlips/flips))
	return burn, min(between, (burn+leastMeasurements-1)/leastMeasurements), leastMeasurements
}

// newChain runs the chain of a target, of which the means of E and E² may be known.
func newChain(ctx context.Context, t Target, known []float64, workers *pool.Pool) (*chain, error) {
	sweeper, err := bitspin.NewSweeper(t.Model, t.Beta)
	if err != nil {
		return nil, err
	}
	const n = chainReplicas
	states, stream := make([]uint64, n*t.Words), rng.Stream(0, rng.Reference, 0)
	if t.H > 0 {
		for i := range states {
			states[i] = math.MaxUint64 // sweeps clear what is beyond the spins
		}
	}
	halted := func() bool { return ctx.Err() != nil }
	sweep := func(sweeps int) error {
		workers.Run(chainBlocks, func(block int) {
			c, first := stream, block*bitspin.SweepBlock
			sweeper.Run(halted, states, states, first, first+bitspin.SweepBlock, sweeps, &c, 0, new(bitspin.Count))
		})
		stream.Step++
		return ctx.Err()
	}
	burn, between, measurements := extent(t.Model)
	if err := sweep(burn); err != nil {
		return nil, err
	}

	distances, levels := axialDistances(t.L), t.N+1
	if t.L > largestChain {
		distances, levels = 0, 0
	}
	// Averages of each replica: of E, E², |m| and m², of bond sums and of G(r); and ΣE of
	// the second half less that of the first.
	moments, bonds, correlations := columns(4, n), columns(levels, n), columns(distances, n)
	drift := make([]float64, n)
	squares, g, rows := make([]float64, distances), make([]float64, distances), make([]uint32, t.L)
	c := &chain{joint: newJoint(t.Model)}
	share := 1 / float64(measurements)
	for part := range measurements {
		if err := sweep(between); err != nil {
			return nil, err
		}
		sign := float64(2*(2*part/measurements) - 1)
		for i := range n {
			config := states[i*t.Words:][:t.Words]
			sum, magnetisation := t.BondSum(config), t.Magnetisation(config)
			e, m := t.EnergyOf(sum, magnetisation), math.Abs(float64(magnetisation))/float64(t.N)
			for k, v := range [4]float64{e, e * e, m, m * m} {
				moments[k][i] += v * share
			}
			drift[i] += sign * e
			c.joint.add(sum, magnetisation, 1)
			if t.H == 0 { // both signs are as likely, whatever the start
				c.joint.add(sum, -magnetisation, 1)
			}
			if levels > 0 {
				bonds[(2*t.N-sum)/4][i] += share
			}
			if distances > 0 {
				axial(g, config, rows)
			}
			for r, v := range g {
				correlations[r][i] += v * share
				squares[r] += v * v * share / n
			}
		}
	}
	c.joint.normalise()
	c.drift = apart(drift, 0)
	var with controls
	if known != nil {
		c.off = apart(moments[0], known[0])
		with.add(moments[0], known[0])
		with.add(moments[1], known[1])
	}
	c.observables = observe(moments, with, t)
	c.bonds = lists.Map(bonds, scatter)
	for r, x := range correlations {
		e := estimate{Estimate: scatter(with.reduce(x))}
		e.deviation = math.Sqrt(max(0, squares[r]-e.Value*e.Value))
		c.correlation = append(c.correlation, e)
	}
	return c, nil
}

// columns returns n columns of zeros.
func columns(n, rows int) [][]float64 {
	all := make([][]float64, n)
	for i := range all {
		all[i] = make([]float64, rows)
	}
	return all
}

// source says what the chain is.
func (c *chain) source(model bitspin.Model) string {
	burn, between, measurements := extent(model)
	return fmt.Sprintf("%d heat-bath runs of %d sweeps", chainReplicas, burn+measurements*between)
}

// scatter returns the mean of independent numbers and its standard error.
func scatter(x []float64) measure.Estimate {
	return measure.Scatter(len(x), func(i int) float64 { return x[i] })
}

// apart returns how many standard errors a mean is from a number: 0 of replicas that all
// agree, as near zero temperature.
func apart(x []float64, from float64) float64 {
	e := scatter(x)
	if e.Uncertainty == 0 {
		return 0
	}
	return math.Abs(e.Value-from) / e.Uncertainty
}

// controls are control variates: averages of the replicas whose mean is known, less that
// mean and uncorrelated with each other. Without them |m| of a critical lattice would be
// twice as uncertain.
type controls [][]float64

// add adds averages of a known mean, unless they are a combination of those there are.
func (c *controls) add(x []float64, mean float64) {
	const rounding = 1e-12
	off := slices.Clone(x)
	floats.AddConst(-mean, off)
	variance := gonum.Variance(off, nil)
	if off = c.reduce(off); gonum.Variance(off, nil) > rounding*variance {
		*c = append(*c, off)
	}
}

// reduce subtracts from averages their regression on the controls, which leaves the mean.
func (c controls) reduce(x []float64) []float64 {
	x = slices.Clone(x)
	for _, v := range c {
		floats.AddScaled(x, -gonum.Covariance(v, x, nil)/gonum.Variance(v, nil), v)
	}
	return x
}

// observe returns the observables, with standard errors to first order, from the
// replicas' averages of E, E², |m| and m².
func observe(moments [][]float64, with controls, t Target) (all [4]measure.Estimate) {
	for k, scale := range [2]float64{energy: t.Beta * t.Beta, absMagnetisation: t.Beta * float64(t.N)} {
		x, influence := with.reduce(moments[2*k]), with.reduce(moments[2*k+1])
		all[k] = scatter(x)
		mean := all[k].Value
		floats.AddScaled(influence, -2*mean, x)
		e := scatter(influence)
		all[k+specificHeat] = measure.Estimate{Value: scale * max(0, e.Value+mean*mean), Uncertainty: scale * e.Uncertainty}
	}
	return all
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
			below := k + r
			if below >= l {
				below -= l
			}
			unequal += bits.OnesCount32(x^(x>>r|x<<(l-r)&full)) + bits.OnesCount32(x^rows[below])
		}
		g[i] = 1 - float64(unequal)/float64(l*l)
	}
}
