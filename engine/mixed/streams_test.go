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
	for name, c := range bothKinds(threeTwins(3)) {
		d := c.target.Dim()
		c.Training.Seed, c.Transition.Steps = 17, 9
		trainer := newTrainer(t, c, 2)
		s, params := trainer.System().(*System), trainer.Params()
		const n = 600
		generate := func(from noise, first uint64) (x []float32, k []uint8) {
			for lo := 0; lo < n; lo += nn.BlockRows() {
				rows, uniforms := min(nn.BlockRows(), n-lo), make([]float32, 4*nn.BlockRows())
				states := newStates(rows, d)
				switch g := s.generator.(type) {
				case *perceptron:
					packed, b := g.NewPacked(false), g.newBatch(rows)
					g.Pack(packed, params)
					g.forward(b, packed, params, 0, rows, &from, first+uint64(lo), uniforms)
					states = b.States
				case *density:
					packed := g.NewPacked()
					packed.Set(params)
					g.draw(states, packed, &from, first+uint64(lo), uniforms, make([]float32, rows*d), g.NewWork(rows))
				}
				x, k = append(x, states.X...), append(k, states.K...)
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
		require.Equal(t, x, s.s.X, name)
		require.Equal(t, k, s.s.K, name)
		s.Transition(7)
		move(x, k, rng.TrainTransition, 7, 0, 9)
		for lo := 0; lo < n; lo += nn.BlockRows() {
			hi := min(lo+nn.BlockRows(), n)
			if b, ok := s.learner.(*balance); ok {
				hi = b.loss.Moving(lo, hi)
			}
			require.Equal(t, x[lo*d:hi*d], s.next.X[lo*d:hi*d], name)
			require.Equal(t, k[lo:hi], s.next.K[lo:hi], name)
		}

		gotX, gotK := make([]float32, n*d), make([]uint8, n)
		for _, refine := range []int{0, 6} {
			s.NewSampler(params).Draw(vectors.States{Dim: d, X: gotX, K: gotK}, nil, 50, refine)
			x, k = generate(noise{rng.Stream(17, rng.SampleLatent, 0), rng.Stream(17, rng.SampleHead, 0)}, 50)
			move(x, k, rng.SampleTransition, 0, 50, refine)
			require.Equal(t, x, gotX, name)
			require.Equal(t, k, gotK, name)
		}
	}
}
