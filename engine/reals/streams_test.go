package reals

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/revgen/revgen/engine/nn"
	"github.com/revgen/revgen/engine/rng"
	"github.com/revgen/revgen/engine/vectors"
	"github.com/revgen/revgen/internal/pool"
)

// TestStreamsHaveTheirPurposes makes a training batch, its transition, and
// samples, refined or not, of the streams that belong to them: each draw has the
// purpose of its own, so that samples are independent of what was trained on, and
// a sample's index in the streams is its own.
func TestStreamsHaveTheirPurposes(t *testing.T) {
	workers := pool.New(2)
	defer workers.Close()
	c := testConfigs()["mmd"]
	c.Training.Seed = 17
	s, err := New(&c.Config, c.target, workers)
	require.NoError(t, err)
	params := make([]float32, s.NumParams())
	s.Initialize(params)
	w := s.nets.newWeights(false)
	w.params = params
	for net := range s.nets.nets {
		s.nets.pack(w, net)
	}
	const n, dim = 700, 2
	generate := func(purpose rng.Purpose, step uint32, first uint64) []float32 {
		x, stream := make([]float32, n*dim), rng.Stream(17, purpose, step)
		for lo := 0; lo < n; lo += nn.BlockRows() {
			hi := min(n, lo+nn.BlockRows())
			z := make([]float32, (hi-lo)*dim)
			rng.Normals(z, dim, &stream, first+uint64(lo))
			s.generator.newPass(hi-lo, false).forward(x[lo*dim:hi*dim], z, w)
		}
		return x
	}
	move := func(x []float32, purpose rng.Purpose, step uint32, first uint64, steps int) {
		stream := rng.Stream(17, purpose, step)
		s.transition.run(x, steps, &stream, first, s.transition.newScratch(n))
	}

	s.Generate(params, 7)
	x := generate(rng.TrainLatent, 7, 0)
	require.Equal(t, x, s.states)
	s.Transition(7)
	move(x, rng.TrainTransition, 7, 0, c.Transition.Steps)
	require.Equal(t, x, s.moved)

	for _, refine := range []int{0, 3} {
		x := generate(rng.SampleLatent, 0, 50)
		if refine > 0 {
			move(x, rng.SampleTransition, 0, 50, refine)
		}
		got := make([]float32, n*dim)
		s.NewSampler(params).Draw(vectors.States{Dim: dim, X: got}, nil, 50, refine)
		require.Equal(t, x, got)
	}
}
