package perceptron

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
// samples of the streams that belong to them: each draw has the purpose of its own,
// so that samples are independent of what was trained on, and a sample's index in
// the streams is its own.
func TestStreamsHaveTheirPurposes(t *testing.T) {
	for _, head := range conf.Values(new(Config), "generator.head") {
		c := small(t, "mmd", "surrogate")
		c.Training.Seed, c.Generator.Head = 17, head
		trainer, s := newTrainer(t, c, 2)
		g, params := s.learner.generator, trainer.Params()
		packed := g.net.NewPacked(false)
		g.net.Pack(packed, params)
		const n = 600
		generate := func(from streams, first uint64) []uint64 {
			out := make([]uint64, n)
			for lo := 0; lo < n; lo += nn.BlockRows() {
				rows := min(nn.BlockRows(), n-lo)
				g.forward(g.net.NewActivations(rows), out[lo:], packed, params, 0, rows, &from, first+uint64(lo), g.newHeadScratch(rows))
			}
			return out
		}
		_, err := s.Loss(params, 7)
		require.NoError(t, err)
		want := generate(streams{rng.Stream(17, rng.TrainLatent, 7), rng.Stream(17, rng.TrainHead, 7)}, 0)
		require.Equal(t, want, s.S, head)

		stream, moved := rng.Stream(17, rng.TrainTransition, 7), slices.Clone(want)
		var stats bitspin.Count
		kernel, err := c.target.Kernel(&c.Transition, c.Transition.Fraction(c.Transition.Level(7, c.Training.Steps)))
		require.NoError(t, err)
		kernel.Run(nil, moved, want, 0, n, c.Transition.Steps, &stream, 0, &stats)
		require.Equal(t, moved, s.Next, head)

		drawn := make([]uint64, n)
		s.NewDraws(params).Generate(drawn, nil, 50)
		want = generate(streams{rng.Stream(17, rng.SampleLatent, 0), rng.Stream(17, rng.SampleHead, 0)}, 50)
		require.Equal(t, want, drawn, head)
	}
}
