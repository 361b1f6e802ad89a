package ising

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/revgen/revgen/bitspin"
	"github.com/revgen/revgen/engine/rng"
)

// TestStreamsHaveTheirPurposes: the moves of refined samples are drawn from a
// stream of their own, in which a sample's index is its own.
func TestStreamsHaveTheirPurposes(t *testing.T) {
	c := small(t, "paper")
	c.Training.Seed = 17
	trainer := newTrainer(t, c, 2)
	s := trainer.System().(*system)
	const n = 600
	drawn := make([]uint64, n)
	s.Drawing(trainer.Params()).Draw(drawn, 50, 0)
	want := slices.Clone(drawn)
	stream := rng.Stream(17, rng.SampleTransition, 0)
	var stats bitspin.Stats
	s.Kernel.Run(want, drawn, 0, n, 3, &stream, 50, &stats)
	s.Drawing(trainer.Params()).Draw(drawn, 50, 3)
	require.Equal(t, want, drawn)
}

// TestMoversRememberTheirElements takes gradients back through what the rows of a
// batch were taken through.
func TestMoversRememberTheirElements(t *testing.T) {
	const l, rows = 9, 100
	m := newSymmetry("z2+lattice", l).NewMover(rows)
	batch := make([]uint64, 2*rows)
	for r := range rows {
		batch[2*r] = 1 << (r % 64) // a single spin up
	}
	stream := rng.Stream(17, rng.TrainSymmetry, 1)
	m.Move(batch, &stream, 0)
	identities := 0
	for r := range rows {
		grad := make([]float32, l*l)
		for i := range grad {
			grad[i] = 2*float32(batch[2*r+i>>6]>>(i&63)&1) - 1
		}
		if grad[r%64] == 1 {
			identities++
		}
		m.PullBack(grad, r)
		for i, g := range grad {
			require.Equal(t, i == r%64, g == 1, "row %d, spin %d", r, i)
		}
	}
	require.Less(t, identities, rows)
}
