package ising

import (
	"context"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	gonum "gonum.org/v1/gonum/stat"

	"github.com/revgen/revgen/asm"
	"github.com/revgen/revgen/bitspin"
	"github.com/revgen/revgen/engine"
	"github.com/revgen/revgen/engine/measure"
	"github.com/revgen/revgen/internal/long"
	"github.com/revgen/revgen/internal/pool"
)

// TestChainAgainstCounting holds the observables, the law of the bond sum and
// G(r) of small lattices, with and without a field, against exact values, within
// 5.5 standard errors.
func TestChainAgainstCounting(t *testing.T) {
	long.SkipShort(t)
	workers := pool.New(2)
	defer workers.Close()
	for _, target := range []Target{
		mustTarget(t, 5, 1, 0, 0.3), mustTarget(t, 5, 1, 0, 0.5), mustTarget(t, 6, 1, 0.2, 0.4), mustTarget(t, 5, -1, 0.7, 0.5), mustTarget(t, 4, 0.5, -0.3, 0.7),
	} {
		density, err := CountStates(target.L)
		require.NoError(t, err)
		beta := target.Beta
		exact, _ := density.jointLaw(target)
		want := exact.observables(beta)
		known := []float64{want[energy].Value, want[energy].Value*want[energy].Value + want[specificHeat].Value/(beta*beta)}
		for _, known := range [][]float64{nil, known} {
			c, err := runChains(context.Background(), target, known, workers)
			require.NoError(t, err)
			for i, name := range observableNames {
				got, bound := c.observables[i], 5.5*c.observables[i].Uncertainty
				if known != nil && (i == energy || i == specificHeat) {
					bound = 1e-9 * want[i].Value
				} else {
					require.Positive(t, got.Uncertainty)
				}
				require.Less(t, got.Uncertainty, 0.1*want[i].deviation)
				require.InDelta(t, want[i].Value, got.Value, math.Abs(bound), name)
			}
			for level, e := range exact.bondLaw() {
				require.InDelta(t, e.Value, c.bonds[level].Value, 6*c.bonds[level].Uncertainty+1e-5, "level %d", level)
			}
			g := exactCorrelations(target)
			require.Len(t, c.correlation, len(g))
			for i, e := range g {
				require.InDelta(t, e.Value, c.correlation[i].Value, 5.5*c.correlation[i].Uncertainty+1e-9)
				require.InEpsilon(t, e.deviation, c.correlation[i].deviation, 0.03)
			}
			require.Less(t, c.drift, 5.5)
			require.Less(t, c.energyError, 5.5)
		}
	}
}

// TestErrorsAreThoseOfTheJackknife leaves out one replica at a time: with the means of E and
// E² known, in which |m| and m² are taken to be linear, and without.
func TestErrorsAreThoseOfTheJackknife(t *testing.T) {
	r := rand.New(rand.NewPCG(4, 2))
	target, replicas := mustTarget(t, 5, 1, 0.2, 0.7), zeroColumns(4, 1000)
	for i := range replicas[0] {
		e, m := -30+r.NormFloat64(), 0.6+0.05*r.NormFloat64()
		m -= 0.05 * (e + 30)
		for k, v := range [4]float64{e, e*e + 20 + 3*r.NormFloat64(), m, m*m + 0.05 + 0.01*r.NormFloat64()} {
			replicas[k][i] = v
		}
	}
	n := len(replicas[0])
	errors := map[bool][4]float64{}
	for known, bound := range map[bool]float64{false: 0.01, true: 0.02} {
		estimates := func(replicas [][]float64) [4]measure.Estimate {
			var c controlVariates
			if known {
				c.add(replicas[0], -30)
				c.add(replicas[1], 921)
				c.add(replicas[1], 921)
				require.Len(t, c, 2, "what is there already adds nothing")
			}
			return estimateObservables(replicas, c, target)
		}
		all := estimates(replicas)
		var mean [4]float64
		for k := range mean {
			mean[k] = gonum.Mean(replicas[k], nil)
		}
		if !known {
			require.InDelta(t, mean[0], all[energy].Value, 1e-9)
			require.InDelta(t, mean[2], all[absMagnetisation].Value, 1e-12)
			require.InDelta(t, 0.7*0.7*(mean[1]-mean[0]*mean[0]), all[specificHeat].Value, 1e-9)
			require.InDelta(t, 0.7*25*(mean[3]-mean[2]*mean[2]), all[susceptibility].Value, 1e-9)
		}
		values := zeroColumns(4, n)
		for i := range n {
			var others [][]float64
			for _, x := range replicas {
				others = append(others, slices.Delete(slices.Clone(x), i, i+1))
			}
			for k, e := range estimates(others) {
				values[k][i] = e.Value
			}
		}
		var of [4]float64
		for k, e := range all {
			of[k] = e.Uncertainty
			if known && (k == energy || k == specificHeat) {
				require.InDelta(t, [4]float64{energy: -30, specificHeat: 0.7 * 0.7 * 21}[k], e.Value, 1e-9)
				require.Less(t, e.Uncertainty, 1e-9)
				continue
			}
			require.InEpsilon(t, math.Sqrt(gonum.PopVariance(values[k], nil)*float64(n-1)), e.Uncertainty, bound, observableNames[k])
		}
		errors[known] = of
	}
	require.Less(t, errors[true][absMagnetisation], 0.8*errors[false][absMagnetisation])
}

// TestChainStopsWithItsContext wants a run of minutes to end at once.
func TestChainStopsWithItsContext(t *testing.T) {
	workers := pool.New(2)
	defer workers.Close()
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	_, err := newReference(ctx, mustTarget(t, 200, 1, 0.1, 0.4), workers)
	require.ErrorIs(t, err, context.Canceled)
}

// TestReferencesUpToEight holds what the table is compared with on lattices of 6
// and 8 rows against exact figures.
func TestReferencesUpToEight(t *testing.T) {
	long.SkipShort(t)
	for _, c := range []struct {
		target         Target
		susceptibility float64
	}{
		{mustTarget(t, 8, 1, 0, 0.6), 0.05956}, {mustTarget(t, 8, 1, 0, 0.4407), 1.20315}, {mustTarget(t, 6, 1, 0, 0.4407), 0.71902},
	} {
		r, err := newReference(context.Background(), c.target, nil)
		require.NoError(t, err)
		kaufman, err := Kaufman(c.target.L, 1, c.target.Beta)
		require.NoError(t, err)
		require.Empty(t, r.warnings)
		require.Equal(t, "exact", r.label)
		for _, e := range r.observables {
			require.Zero(t, e.Uncertainty)
		}
		require.InEpsilon(t, kaufman.Energy, r.observables[energy].Value, 1e-12)
		require.InEpsilon(t, kaufman.SpecificHeat, r.observables[specificHeat].Value, 1e-11)
		require.InDelta(t, c.susceptibility, r.observables[susceptibility].Value, 1e-5)
		// A bond's mean is G(1).
		require.InEpsilon(t, -kaufman.Energy/float64(2*c.target.N), r.correlation[0].Value, 1e-12)
	}
}

// TestTableBeyondExactReferences evaluates models whose targets have no exact
// reference: the table says so, and stands.
func TestTableBeyondExactReferences(t *testing.T) {
	long.SkipShort(t)
	for _, target := range []TargetConfig{{L: 9, Beta: 0.3, J: 1, H: 0.2}, {L: 9, Beta: 0.3, J: -1}, {L: 9, Beta: 0.3, J: 1}} {
		c := small(t, "paper")
		c.Target, c.Transition.Proposal = target, "single"
		s := newTrainer(t, c, 2)
		e, err := s.System().(engine.Evaluator).Evaluate(context.Background(), s.Params(), 5000)
		require.NoError(t, err)
		require.Len(t, e.Metrics, 6)
		require.NotEmpty(t, e.Warnings)
		require.Contains(t, e.Warnings[len(e.Warnings)-1], "no exact reference of ")
		for i, m := range e.Metrics {
			exact := i == energy || i == specificHeat
			require.Equal(t, exact && target.H == 0 && target.J > 0, m.Uncertainty == 0, m.Name)
			require.Less(t, m.Uncertainty, m.Floor, m.Name)
			require.Greater(t, m.Floor, 0.0)
		}
	}
}

// TestMetricsBesideHeatBath feeds the metrics of a 6×6 lattice samples of
// another heat-bath run: every error is of the size of its floor. Samples at
// another temperature, and collapsed ones, are told.
func TestMetricsBesideHeatBath(t *testing.T) {
	workers := pool.New(2)
	defer workers.Close()
	target, err := NewTarget(6, 1, 0, 0.4)
	require.NoError(t, err)
	r, err := newReference(context.Background(), target, workers)
	require.NoError(t, err)
	require.Empty(t, r.warnings)
	sample := func(beta float64) (*tally, int) {
		sweeper, err := bitspin.NewSweeper(target.Model, beta)
		require.NoError(t, err)
		got, batch, flip := newTally(target.Model), make([]uint64, bitspin.SweepBlock), rand.New(rand.NewPCG(1, 1))
		const parts = 8
		for part := range parts {
			sweeper.Run(nil, batch, batch, 0, len(batch), 300, &asm.Counter{Seed: 99, Step: uint32(part)}, 0, new(bitspin.Count))
			for i := range batch {
				if flip.IntN(2) == 0 {
					batch[i] ^= 1<<36 - 1
				}
			}
			got.count(batch)
		}
		return got, parts * len(batch)
	}
	e := compare(sampleArguments(r)(sample(0.4)))
	require.Len(t, e.Metrics, 6)
	for _, m := range e.Metrics {
		require.Less(t, m.Error, 5*m.Floor, m.Name)
		require.Greater(t, m.Floor, 0.0)
		require.Less(t, m.Interval[0], m.Interval[1])
	}
	require.Empty(t, e.Warnings)

	e = compare(sampleArguments(r)(sample(0.35)))
	for _, m := range e.Metrics {
		if m.Name != "specific_heat" && m.Name != "susceptibility" { // near their maxima
			require.Greater(t, m.Error, 5*m.Floor, m.Name)
		}
	}
	ground := newTally(target.Model)
	ground.count([]uint64{0, 1<<36 - 1, 0, 1<<36 - 1})
	require.Contains(t, compare(r, ground, 4).Warnings[0], "collapsed")
	up := newTally(target.Model)
	up.count([]uint64{1<<36 - 1, 1<<35 - 1, 1<<34 - 1, 1<<33 - 1})
	require.Contains(t, compare(r, up, 4).Warnings[0], "sector")
}

func sampleArguments(r *reference) func(*tally, int) (*reference, *tally, int) {
	return func(t *tally, n int) (*reference, *tally, int) { return r, t, n }
}

// TestAxialCorrelations compares with products of single spins.
func TestAxialCorrelations(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 1))
	for _, l := range []int{6, 9, 16, 32} {
		s := randomConfiguration(r, l*l)
		spin := func(row, column int) float64 {
			i := row%l*l + column%l
			return float64(int(s[i>>6]>>(i&63)&1)*2 - 1)
		}
		g := make([]float64, axialDistances(l))
		axialCorrelations(g, s, make([]uint32, l))
		for i, got := range g {
			var want float64
			for k := range l * l {
				want += spin(k/l, k%l) * (spin(k/l+i+1, k%l) + spin(k/l, k%l+i+1))
			}
			require.InDelta(t, want/float64(2*l*l), got, 1e-12)
		}
	}
}

func randomConfiguration(r *rand.Rand, n int) []uint64 {
	s := make([]uint64, bitspin.Words(n))
	for i := range n {
		if r.Float64() < 0.7 {
			s[i>>6] |= 1 << (i & 63)
		}
	}
	return s
}
