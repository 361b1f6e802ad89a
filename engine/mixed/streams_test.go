package mixed

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/revgen/revgen/engine/nn"
	"github.com/revgen/revgen/engine/rng"
	"github.com/revgen/revgen/engine/vectors"
)

// TestStreamsHaveTheirPurposes makes a training batch, its transition, and
// samples, refined or not, of the streams that belong to them: each draw has the
// purpose of its own, so that samples are independent of what was trained on, and
// a sample's index in the streams is its own.
func TestStreamsHaveTheirPurposes(t *testing.T) {
	for preset, c := range bothHeads(threeTwins(3)) {
		d := c.target.Dim()
		c.Training.Seed, c.Transition.Steps = 17, 9
		trainer := newTrainer(t, c, 2)
		s, params := trainer.System().(*System), trainer.Params()
		packed := s.generator.net.NewPacked(false)
		s.generator.net.Pack(packed, params)
		const n = 600
		generate := func(from noise, first uint64) (x []float32, k []uint8) {
			for lo := 0; lo < n; lo += nn.BlockRows() {
				rows := min(nn.BlockRows(), n-lo)
				b := s.generator.newBatch(rows)
				s.generator.forward(b, packed, params, 0, rows, &from, first+uint64(lo), make([]float32, 4*rows))
				x, k = append(x, b.x...), append(k, b.k...)
			}
			return x, k
		}
		move := func(x []float32, k []uint8, purpose rng.Purpose, step uint32, first uint64, steps int) {
			stream := rng.Stream(17, purpose, step)
			var counts moveCounts
			s.transition.run(x, k, steps, &stream, first, s.transition.newScratch(), &counts)
		}

		s.Generate(params, 7)
		x, k := generate(noise{rng.Stream(17, rng.TrainLatent, 7), rng.Stream(17, rng.TrainHead, 7)}, 0)
		require.Equal(t, x, s.batch.x, preset)
		require.Equal(t, k, s.batch.k, preset)
		s.Transition(7)
		move(x, k, rng.TrainTransition, 7, 0, 9)
		require.Equal(t, x, s.x, preset)
		require.Equal(t, k, s.k, preset)

		gotX, gotK := make([]float32, n*d), make([]uint8, n)
		for _, refine := range []int{0, 6} {
			s.NewSampler(params).Draw(vectors.States{Dim: d, X: gotX, K: gotK}, nil, 50, refine)
			x, k = generate(noise{rng.Stream(17, rng.SampleLatent, 0), rng.Stream(17, rng.SampleHead, 0)}, 50)
			move(x, k, rng.SampleTransition, 0, 50, refine)
			require.Equal(t, x, gotX, preset)
			require.Equal(t, k, gotK, preset)
		}
	}
}
