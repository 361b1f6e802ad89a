package categories

import (
	"context"
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/revgen/revgen/engine/rng"
	"github.com/revgen/revgen/internal/long"
)

// TestSum compares sums site by site with those over all configurations, and their draws with
// the law, by a χ² test at the level 10⁻⁶.
func TestSum(t *testing.T) {
	long.SkipShort(t)
	for name, c := range small() {
		logZ, p := c.Enumerate()
		s, err := NewSum(context.Background(), &c.Target)
		require.NoError(t, err)
		require.InDelta(t, logZ, s.LogZ, 1e-11, name)
		const samples = 50_000
		batch := make([]byte, samples*c.N())
		stream := rng.Stream(2, rng.Reference, 0)
		s.Draw(batch, &stream, 3)
		counts := make([]float64, len(p))
		for i := range samples {
			counts[c.Number(batch[i*c.N():][:c.N()])]++
		}
		require.Less(t, chiSquare(p, counts, samples), 4.75, name)
	}
}

// TestTorus compares the trace with other sums: over all configurations, site by site, and,
// of two states, which are Ising's at half the coupling, with Kaufman's by package potts.
func TestTorus(t *testing.T) {
	for _, c := range []struct {
		l, q          int
		energy, field []float64
	}{
		{3, 3, Potts(3, 1), nil}, {2, 5, Potts(5, -0.4), nil}, {3, 3, Clock(3, 0.7), []float64{0.2, 0, -0.4}},
		{4, 3, Potts(3, 1), []float64{0, 0.3, 0}}, {4, 4, Clock(4, 1), nil}, {5, 2, Potts(2, 1.3), nil},
	} {
		target := Target{States: Uniform(c.l*c.l, c.q), Pairs: Lattice(c.l, c.energy), Beta: 0.8}
		if c.field != nil {
			for range target.States {
				target.Fields = append(target.Fields, c.field)
			}
		}
		got, err := Torus(c.l, c.q, c.energy, c.field, 0.8)
		require.NoError(t, err)
		s, err := NewSum(context.Background(), &target)
		require.NoError(t, err)
		require.InDelta(t, s.LogZ, got, 1e-10)
	}
	_, err := Torus(9, 3, Potts(3, 1), nil, 1)
	require.ErrorContains(t, err, "more than 8192")
}

// TestClusters: both moves keep the law of the energy, by exact draws moved on.
func TestClusters(t *testing.T) {
	long.SkipShort(t)
	target := Target{States: Uniform(9, 3), Pairs: Lattice(3, Potts(3, 1)), Beta: 0.9}
	c, err := NewClusters(&target)
	require.NoError(t, err)
	_, p := target.Enumerate()
	const chains, samples = 50, 20_000
	counts := make([]float64, len(p))
	stream := rng.Stream(2, rng.ClusterTransition, 0)
	for k := range samples {
		s := make([]byte, 9)
		for i := range s {
			s[i] = byte(k % 3)
		}
		c.Move(s, &stream, uint64(k)*chains, chains)
		counts[target.Number(s)]++
	}
	require.Less(t, chiSquare(p, counts, samples), 4.75)
	for _, wrong := range []Target{
		{States: Uniform(9, 3), Pairs: Lattice(3, Potts(3, -1)), Beta: 0.9},
		{States: Uniform(9, 5), Pairs: Lattice(3, Clock(5, 1)), Beta: 0.9},
	} {
		_, err := NewClusters(&wrong)
		require.ErrorContains(t, err, "clusters need")
	}
}

// chiSquare returns the deviation of Pearson's statistic, as of a standard normal number.
// States that are expected fewer than 10 times make one class.
func chiSquare(p, counts []float64, samples float64) float64 {
	var chi, rest, restCount, classes float64
	for k, x := range p {
		if samples*x < 10 {
			rest, restCount = rest+samples*x, restCount+counts[k]
			continue
		}
		chi += (counts[k] - samples*x) * (counts[k] - samples*x) / (samples * x)
		classes++
	}
	if rest > 0 {
		chi += (restCount - rest) * (restCount - rest) / rest
		classes++
	}
	return (math.Cbrt(chi/(classes-1)) - (1 - 2/(9*(classes-1)))) / math.Sqrt(2/(9*(classes-1)))
}
