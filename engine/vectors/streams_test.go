package vectors

import (
	"maps"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/revgen/revgen/engine"
	"github.com/revgen/revgen/engine/nn"
	"github.com/revgen/revgen/engine/rng"
)

// TestStreamsHaveTheirPurposes makes a training batch, its transition, and
// samples, refined or not, of the streams that belong to them: each draw has the
// purpose of its own, so that samples are independent of what was trained on, and
// a sample's index in the streams is its own.
func TestStreamsHaveTheirPurposes(t *testing.T) {
	all := map[string]engine.Config{"vectors": testConfigs()["mmd"]}
	for name, c := range bothKinds(threeTwins(3)) {
		c.Transition.Steps = 9
		maps.Copy(all, map[string]engine.Config{name: c})
	}
	for name, c := range all {
		c.Shared().Training.Seed, c.Shared().Training.Batch = 17, 600
		trainer := newTrainer(t, c, 2)
		s, params := trainer.System().(*System), trainer.Params()
		w := s.generator.nets.newWeights(false)
		w.params = params
		for part := range s.generator.nets.packs() {
			s.generator.nets.pack(w, part)
		}
		const n = 600
		generate := func(latent, head rng.Purpose, step uint32, first uint64) States {
			all, from := s.NewStates(n), noise{rng.Stream(17, latent, step), rng.Stream(17, head, step)}
			for lo := 0; lo < n; lo += nn.BlockRows() {
				part := all.Part(lo, min(n, lo+nn.BlockRows()))
				z, u := make([]float32, part.Len()*s.generator.nets.latent), make([]float32, 4*part.Len())
				s.generator.nets.draw(s.generator.newPass(part.Len(), false), part, &from, first+uint64(lo), z, u, w)
			}
			return all
		}
		move := func(states States, purpose rng.Purpose, step uint32, first uint64, steps int) {
			stream := rng.Stream(17, purpose, step)
			s.kernel.newMover(strip).run(states, steps, &stream, first)
		}

		_, err := s.Loss(params, 7)
		require.NoError(t, err)
		states := generate(rng.TrainLatent, rng.TrainHead, 7, 0)
		require.Equal(t, states, s.transition.s, name)
		move(states, rng.TrainTransition, 7, 0, s.config.Transition.Steps)
		rows := s.generator.lanes.BlockRows()
		for lo := 0; lo < n; lo += rows {
			hi := s.transition.movingEnd(lo, min(lo+rows, n))
			require.Equal(t, states.Part(lo, hi), s.transition.next.Part(lo, hi), name)
		}

		for _, refine := range []int{0, 6} {
			got := s.NewStates(n)
			s.NewSampler(params).Draw(got, nil, 50)
			require.NoError(t, s.move(got, 50, refine))
			states = generate(rng.SampleLatent, rng.SampleHead, 0, 50)
			move(states, rng.SampleTransition, 0, 50, refine)
			require.Equal(t, states, got, name)
		}
	}
}
