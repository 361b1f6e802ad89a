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

// chainAverages are averages over long heat-bath runs of a target whose configurations can be
// neither listed nor counted. The runs, called replicas, are independent of each other, so that
// the scatter of their averages gives the standard errors.
type chainAverages struct {
	joint       *jointLaw
	observables [4]measure.Estimate
	bonds       []measure.Estimate // probability of each bond sum, by (2N − B)/4; nil beyond maxChainSide
	correlation []estimate         // G(r) = ⟨s_i s_{i+r}⟩ along the axes, r = 1, 2, …; nil beyond maxChainSide
	energyError float64            // distance from ⟨E⟩ where that is given, in standard errors
	drift       float64            // change of the energy between the runs' halves, in standard errors
}

// Replicas start aligned and take chainBurn·L² sweeps. Then they are measured every L²/8 sweeps, as
// often as measuringFlips allow, but minMeasurements to maxMeasurements times. On lattices larger
// than maxChainSide, the sweeps before the first measurement are at most as many as burnFlips allow,
// or minBurn if that is more; then minMeasurements follow, within about as many sweeps.
const (
	maxChainSide    = 32
	chainBlocks     = 2
	chainReplicas   = chainBlocks * bitspin.SweepBlock
	chainBurn       = 3
	minMeasurements = 128
	maxMeasurements = 1024
	maxDistance     = 16 // of correlations

	measuringFlips = 1 << 33
	burnFlips      = 1 << 32
	minBurn        = 600
)

// schedule returns the number of sweeps before the first measurement, the number between two
// measurements, and the number of measurements.
func schedule(model bitspin.Model) (burn, between, measurements int) {
	burn, between = chainBurn*model.N, max(1, model.N/8)
	sweepFlips := model.N * chainReplicas
	if model.L <= maxChainSide {
		return burn, between, max(minMeasurements, min(maxMeasurements, measuringFlips/(between*sweepFlips)))
	}
	burn = min(burn, max(minBurn, burnFlips/sweepFlips))
	return burn, min(between, (burn+minMeasurements-1)/minMeasurements), minMeasurements
}

// runChains runs the replicas. If ⟨E⟩ and ⟨E²⟩ are known, energyMoments, they serve as control
// variates.
func runChains(ctx context.Context, t Target, energyMoments []float64, workers *pool.Pool) (*chainAverages, error) {
	sweeper, err := bitspin.NewSweeper(t.Model, t.Beta)
	if err != nil {
		return nil, err
	}
	const n = chainReplicas
	states, stream := make([]uint64, n*t.Words), rng.Stream(0, rng.Reference, 0)
	if t.H > 0 {
		for i := range states {
			states[i] = math.MaxUint64 // sweeps clear the bits beyond the spins
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
	burn, between, measurements := schedule(t.Model)
	if err := sweep(burn); err != nil {
		return nil, err
	}

	distances, levels := axialDistances(t.L), t.N+1
	if t.L > maxChainSide {
		distances, levels = 0, 0
	}
	moments := zeroColumns(4, n)              // each replica's averages of E, E², |m| and m²
	bonds := zeroColumns(levels, n)           // its frequencies of bond sums
	correlations := zeroColumns(distances, n) // its averages of G(r)
	drift := make([]float64, n)               // its ΣE over the second half less that over the first
	squares := make([]float64, distances)     // averages of G(r)² over all replicas
	g, rows := make([]float64, distances), make([]uint32, t.L)
	averages := &chainAverages{joint: newJointLaw(t.Model)}
	share := 1 / float64(measurements)
	for k := range measurements {
		if err := sweep(between); err != nil {
			return nil, err
		}
		sign := float64(2*(2*k/measurements) - 1) // −1 in the first half, 1 in the second
		for i := range n {
			config := states[i*t.Words:][:t.Words]
			sum, magnetisation := t.BondSum(config), t.Magnetisation(config)
			e, m := t.EnergyOf(sum, magnetisation), math.Abs(float64(magnetisation))/float64(t.N)
			for k, v := range [4]float64{e, e * e, m, m * m} {
				moments[k][i] += v * share
			}
			drift[i] += sign * e
			averages.joint.add(sum, magnetisation, 1)
			if t.H == 0 { // both signs are as likely, whatever the start
				averages.joint.add(sum, -magnetisation, 1)
			}
			if levels > 0 {
				bonds[(2*t.N-sum)/4][i] += share
			}
			if distances > 0 {
				axialCorrelations(g, config, rows)
			}
			for r, v := range g {
				correlations[r][i] += v * share
				squares[r] += v * v * share / n
			}
		}
	}
	averages.joint.normalise()
	averages.drift = distanceFrom(0, drift)
	var controls controlVariates
	if energyMoments != nil {
		averages.energyError = distanceFrom(energyMoments[0], moments[0])
		controls.add(moments[0], energyMoments[0])
		controls.add(moments[1], energyMoments[1])
	}
	averages.observables = estimateObservables(moments, controls, t)
	averages.bonds = lists.Map(bonds, scatter)
	for r, x := range correlations {
		e := estimate{Estimate: scatter(controls.reduce(x))}
		e.deviation = math.Sqrt(max(0, squares[r]-e.Value*e.Value))
		averages.correlation = append(averages.correlation, e)
	}
	return averages, nil
}

// zeroColumns returns n columns of zeros.
func zeroColumns(n, rows int) [][]float64 {
	columns := make([][]float64, n)
	for i := range columns {
		columns[i] = make([]float64, rows)
	}
	return columns
}

// source describes the runs.
func (c *chainAverages) source(model bitspin.Model) string {
	burn, between, measurements := schedule(model)
	return fmt.Sprintf("%d heat-bath runs of %d sweeps", chainReplicas, burn+measurements*between)
}

// scatter returns the mean of independent numbers and its standard error.
func scatter(x []float64) measure.Estimate {
	return measure.Scatter(len(x), func(i int) float64 { return x[i] })
}

// distanceFrom returns how many standard errors the mean of x is from a value. It is 0 if all x
// agree, as they do near zero temperature.
func distanceFrom(value float64, x []float64) float64 {
	e := scatter(x)
	if e.Uncertainty == 0 {
		return 0
	}
	return math.Abs(e.Value-value) / e.Uncertainty
}

// controlVariates are averages of the replicas whose expectation is known, less the expectation and
// uncorrelated with each other. Without them |m| of a critical lattice would be twice as uncertain.
type controlVariates [][]float64

// add adds averages of a known expectation, unless they are a combination of the variates so far.
func (c *controlVariates) add(x []float64, expectation float64) {
	const rounding = 1e-12
	centred := slices.Clone(x)
	floats.AddConst(-expectation, centred)
	variance := gonum.Variance(centred, nil)
	if centred = c.reduce(centred); gonum.Variance(centred, nil) > rounding*variance {
		*c = append(*c, centred)
	}
}

// reduce subtracts from averages their regression on the controls, which leaves the expectation.
func (c controlVariates) reduce(x []float64) []float64 {
	x = slices.Clone(x)
	for _, v := range c {
		floats.AddScaled(x, -gonum.Covariance(v, x, nil)/gonum.Variance(v, nil), v)
	}
	return x
}

// estimateObservables returns the observables, with standard errors to first order, from the
// replicas' averages of E, E², |m| and m².
func estimateObservables(moments [][]float64, controls controlVariates, t Target) (estimates [4]measure.Estimate) {
	for k, scale := range [2]float64{energy: t.Beta * t.Beta, absMagnetisation: t.Beta * float64(t.N)} {
		x, influence := controls.reduce(moments[2*k]), controls.reduce(moments[2*k+1])
		estimates[k] = scatter(x)
		mean := estimates[k].Value
		floats.AddScaled(influence, -2*mean, x)
		e := scatter(influence)
		estimates[k+specificHeat] = measure.Estimate{Value: scale * max(0, e.Value+mean*mean), Uncertainty: scale * e.Uncertainty}
	}
	return estimates
}

// axialDistances returns the number of distances r at which G(r) is taken.
func axialDistances(l int) int { return min(l/2, maxDistance) }

// unpackRows sets bit c of rows[r] to the spin in row r and column c, on a lattice of
// len(rows) ≤ 32 rows.
func unpackRows(rows []uint32, config []uint64) {
	l := len(rows)
	mask := uint32(1)<<l - 1
	for r := range rows {
		at := r * l
		x := config[at>>6] >> (at & 63)
		if at&63+l > 64 {
			x |= config[at>>6+1] << (64 - at&63)
		}
		rows[r] = uint32(x) & mask
	}
}

// axialCorrelations sets g[r−1] to the mean of s_i s_{i+r} over the sites of a configuration
// and both axes. Its scratch has one number for each row of the lattice.
func axialCorrelations(g []float64, config []uint64, rows []uint32) {
	l := len(rows)
	mask := uint32(1)<<l - 1
	unpackRows(rows, config)
	for i := range g {
		r, unequal := i+1, 0
		for k, x := range rows {
			below := k + r
			if below >= l {
				below -= l
			}
			unequal += bits.OnesCount32(x^(x>>r|x<<(l-r)&mask)) + bits.OnesCount32(x^rows[below])
		}
		g[i] = 1 - float64(unequal)/float64(l*l)
	}
}
