package ising

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"
	gonum "gonum.org/v1/gonum/stat"

	"github.com/revgen/revgen/bitspin"
	"github.com/revgen/revgen/engine/rng"
)

// TestFiguresOfDrifts takes the steps of a drift once more, for a generator that is far
// from its target, and computes the mean change and its error from the list of changes.
func TestFiguresOfDrifts(t *testing.T) {
	const samples = 700
	c := mmdConfig(t)
	c.Target = TargetConfig{L: 5, Beta: 0.4, J: 1}
	trainer := newTrainer(t, c, 2)
	s := trainer.System().(*system)
	rows, err := s.drift(t.Context(), trainer.Params(), samples)
	require.NoError(t, err)
	kernel, err := bitspin.NewMetropolis(s.target.Model, s.target.Beta, bitspin.SingleSpin())
	require.NoError(t, err)
	var changes [2][]float64
	require.NoError(t, s.Measure(t.Context(), trainer.Params(), samples, 0, samples, func(batch []uint64, _ []float64) {
		moved, moving := make([]uint64, len(batch)), rng.Stream(c.Training.Seed, rng.Reference, 1)
		kernel.Run(nil, moved, batch, 0, samples, s.target.N, &moving, 0, new(bitspin.Count))
		for i, to := range moved {
			size := func(config uint64) float64 { return math.Abs(float64(s.target.Magnetisation([]uint64{config}))) / 25 }
			changes[0] = append(changes[0], s.target.Energy([]uint64{to})-s.target.Energy(batch[i:i+1]))
			changes[1] = append(changes[1], size(to)-size(batch[i]))
		}
	}))
	for k, name := range []string{"energy_drift", "abs_magnetisation_drift"} {
		m, mean := rows[k], gonum.Mean(changes[k], nil)
		se := math.Sqrt(gonum.PopVariance(changes[k], nil) / samples)
		require.Equal(t, name, m.Name)
		require.Greater(t, math.Abs(mean), 10*se, "far from rest")
		require.InDelta(t, mean, m.Generated, 1e-12)
		require.InDelta(t, math.Abs(mean), m.Error, 1e-12)
		require.InDelta(t, math.Sqrt(2/math.Pi)*se, m.Floor, 1e-12)
		require.InDelta(t, 1.959964*math.Sqrt(2/math.Pi)*se, m.Quantile*math.Sqrt(2/math.Pi), 1e-6)
		require.InDeltaSlice(t, []float64{mean - 1.959964*se, mean + 1.959964*se}, m.Interval[:], 1e-6)
	}
}
