package ising

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/revgen/revgen/bitspin"
	"github.com/revgen/revgen/engine/nn"
	"github.com/revgen/revgen/engine/rng"
	"github.com/revgen/revgen/internal/conf"
)

// TestStreamsHaveTheirPurposes makes a training batch, its transition, and
// samples, refined or not, of the streams that belong to them: each draw has the
// purpose of its own, so that samples are independent of what was trained on, and
// a sample's index in the streams is its own.
func TestStreamsHaveTheirPurposes(t *testing.T) {
	for _, head := range conf.Values(new(Config), "generator.head") {
		c := small(t, "paper")
		c.Training.Seed, c.Generator.Head, c.Generator.Symmetry = 17, head, "z2+lattice"
		trainer := newTrainer(t, c, 2)
		s, params := trainer.System().(*system), trainer.Params()
		g := s.generator
		packed := g.net.NewPacked(false)
		g.net.Pack(packed, params)
		const n = 600
		generate := func(from streams, first uint64) []uint64 {
			out := make([]uint64, n)
			for lo := 0; lo < n; lo += nn.BlockRows() {
				rows := min(nn.BlockRows(), n-lo)
				a, moves := g.net.NewActivations(rows), make([]element, rows)
				g.forward(a, out[lo:], moves, packed, params, 0, rows, &from, first+uint64(lo), g.newHeadScratch(rows))
			}
			return out
		}
		move := func(config []uint64, purpose rng.Purpose, step uint32, first uint64, steps int) []uint64 {
			stream, moved := rng.Stream(17, purpose, step), slices.Clone(config)
			var stats bitspin.Stats
			s.moving.Run(moved, config, 0, n, steps, &stream, first, &stats)
			return moved
		}

		s.Generate(params, 7)
		want := generate(streams{rng.Stream(17, rng.TrainLatent, 7), rng.Stream(17, rng.TrainHead, 7), rng.Stream(17, rng.TrainSymmetry, 7)}, 0)
		require.Equal(t, want, s.spins, head)
		s.Transition(7)
		require.Equal(t, move(want, rng.TrainTransition, 7, 0, c.Transition.Steps), s.objective.(*pairObjective).next, head)

		drawn := make([]uint64, n)
		s.newSampler(params).draw(drawn, 50, 0)
		want = generate(streams{rng.Stream(17, rng.SampleLatent, 0), rng.Stream(17, rng.SampleHead, 0), rng.Stream(17, rng.SampleSymmetry, 0)}, 50)
		require.Equal(t, want, drawn, head)
		s.newSampler(params).draw(drawn, 50, 3)
		require.Equal(t, move(want, rng.SampleTransition, 0, 50, 3), drawn, head)
	}
}
