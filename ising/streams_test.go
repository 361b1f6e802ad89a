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
	s.Draw(drawn, trainer.Params(), 50, 0)
	want := slices.Clone(drawn)
	stream := rng.Stream(17, rng.SampleTransition, 0)
	var stats bitspin.Count
	s.Kernel.Run(nil, want, drawn, 0, n, 3, &stream, 50, &stats)
	s.Draw(drawn, trainer.Params(), 50, 3)
	require.Equal(t, want, drawn)
}
