package ising

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/revgen/revgen/asm"
	"github.com/revgen/revgen/bitspin"
	"github.com/revgen/revgen/internal/pool"
)

// TestChainAgainstEnumeration holds the observables, the law of the energy and
// G(1) of the 5×5 lattice against exact values, within 5.5 standard errors.
func TestChainAgainstEnumeration(t *testing.T) {
	workers := pool.New(2)
	defer workers.Close()
	density, err := Enumerate(5)
	require.NoError(t, err)
	for _, beta := range []float64{0.3, 0.5} {
		target, err := NewTarget(5, 1, 0, beta)
		require.NoError(t, err)
		exact, _ := density.distribution(target)
		c, err := newChain(target, workers)
		require.NoError(t, err)
		want, got := exact.moments(beta), c.joint.moments(beta)
		for i, name := range observableNames {
			require.Positive(t, c.uncertainty[i])
			require.Less(t, c.uncertainty[i], 0.1*want.deviation[i])
			require.InDelta(t, want.value[i], got.value[i], 5.5*c.uncertainty[i], name)
		}
		law := map[int]float64{}
		exact.each(func(b, _ int, w float64) { law[b] += w })
		for b, e := range c.energies {
			require.InDelta(t, law[b], e.value, 6*e.uncertainty+1e-5, "bond sum %d", b)
		}
		require.Len(t, c.correlation, 2)
		require.InDelta(t, -want.value[energy]/50, c.correlation[0].value, 5.5*c.correlation[0].uncertainty)
	}
}

// TestMetricsBesideMetropolis feeds the metrics of a 6×6 lattice samples of
// another Metropolis run: every error is of the size of its floor. Samples at
// another temperature, and collapsed ones, are told.
func TestMetricsBesideMetropolis(t *testing.T) {
	workers := pool.New(2)
	defer workers.Close()
	target, err := NewTarget(6, 1, 0, 0.4)
	require.NoError(t, err)
	r, err := newReference(target, workers)
	require.NoError(t, err)
	require.Empty(t, r.warnings)
	sample := func(beta float64) (*tally, int) {
		b, err := bitspin.NewBulk(target.Model, beta, bitspin.BulkReplicas, bitspin.IndependentDraws, asm.Counter{Seed: 99})
		require.NoError(t, err)
		got, batch, flip := newTally(target.Model), make([]uint64, bitspin.BulkReplicas), rand.New(rand.NewPCG(1, 1))
		const parts = 8
		for range parts {
			b.Sweep(0, 1, 300)
			b.Configurations(batch)
			for i := range batch {
				if flip.IntN(2) == 0 {
					batch[i] ^= 1<<36 - 1
				}
			}
			got.count(batch)
		}
		return got, parts * bitspin.BulkReplicas
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
		axial(g, s, make([]uint32, l))
		for i, got := range g {
			var want float64
			for k := range l * l {
				want += spin(k/l, k%l) * (spin(k/l+i+1, k%l) + spin(k/l, k%l+i+1))
			}
			require.InDelta(t, want/float64(2*l*l), got, 1e-12)
		}
	}
}
