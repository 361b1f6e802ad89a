package ising

import (
	"context"
	"math"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/revgen/revgen/engine"
	"github.com/revgen/revgen/engine/mmd"
	"github.com/revgen/revgen/engine/spins/perceptron"
	"github.com/revgen/revgen/internal/alloctest"
)

// roadConfig is a small configuration of the given objective and gradient.
func roadConfig(t *testing.T, objective, average, gradient, symmetry string) *Config {
	c := mmdConfig(t)
	c.Loss.Kind, c.Loss.Average, c.Loss.Gradient = objective, average, gradient
	c.Loss.Statistic = mmd.V
	c.Loss.Discriminator.Hidden, c.Loss.Discriminator.Steps = []int{12}, 2
	c.Loss.Witness.Rank = 60
	c.Generator.Symmetry = symmetry
	return c
}

// TestScoreAgreesWithDifferences: for a function of configurations the mean of
// the score function's gradient is that of flipping spins, which has the
// smaller variance.
func TestScoreAgreesWithDifferences(t *testing.T) {
	var grads [2][]float32
	for i, gradient := range []string{"score", "difference"} {
		c := roadConfig(t, "mmd", "exact", gradient, "none")
		c.Training.Batch = 1 << 16
		trainer := newTrainer(t, c, 2)
		s := trainer.System().(*system)
		grads[i] = make([]float32, len(trainer.Params()))
		s.Generate(trainer.Params(), 1)
		s.Transition(1)
		s.Discrepancy(1)
		s.Backward(trainer.Params(), grads[i])
	}
	var off, size float64
	for i, v := range grads[1] {
		off += math.Pow(float64(grads[0][i]-v), 2)
		size += float64(v) * float64(v)
	}
	require.Less(t, off, 0.01*size)
}

// TestContributionsDifferAsTheWitnessDoes: where a gradient flips spins, it is
// half the differences of the contributions.
func TestContributionsDifferAsTheWitnessDoes(t *testing.T) {
	for name, c := range map[string]*Config{
		"exact": roadConfig(t, "kfd", "exact", "difference", "none"),
	} {
		trainer := newTrainer(t, c, 1)
		s := measure(trainer)
		b, o := s.Batch(), s.Objective().(perceptron.Valued)
		n := b.Spins
		before, after := make([]float32, b.Rows), make([]float32, b.Rows)
		o.Contributions(before)
		states := slices.Clone(b.States)
		for i := range b.States {
			b.States[i] ^= 1
		}
		o.Contributions(after)
		copy(b.States, states)
		b.Lanes.Forward(func(_, lo, hi int, _ []float32) { o.Gradient(lo, hi) })
		for i := range b.Rows {
			sign := float64(2*(states[i]&1)) - 1
			want := -sign * float64(after[i]-before[i]) / 2 / float64(b.Rows)
			require.InDelta(t, want, b.Grad[i*n], 2e-4*(1e-4+math.Abs(want)), name)
		}
	}
}

// measure takes one step as far as the discrepancy.
func measure(trainer *engine.Trainer) *system {
	s := trainer.System().(*system)
	s.Generate(trainer.Params(), 1)
	s.Transition(1)
	s.Discrepancy(1)
	return s
}

// TestValuesAreOfTheWitnesssHalf: of an odd batch the first half has one sample
// more, for the witness and the values alike.
func TestValuesAreOfTheWitnesssHalf(t *testing.T) {
	for _, c := range []*Config{roadConfig(t, "kfd", "exact", "score", "none")} {
		c.Training.Batch = 601
		s := measure(newTrainer(t, c, 1))
		f := make([]float32, 601)
		s.Objective().(perceptron.Valued).Contributions(f)
		for i, config := range s.Batch().States {
			half := i / 301
			require.Equal(t, s.enumerated().g[half][config], f[i])
		}
	}
}

// TestRoadsAreReproducible: same bits for any number of threads, nothing
// allocated, and a state that says all.
func TestRoadsAreReproducible(t *testing.T) {
	for _, c := range []*Config{
		roadConfig(t, "mmd", "sampled", "score", "none"),
		roadConfig(t, "stationarity", "sampled", "score", "z2"),
		roadConfig(t, "stationarity", "sampled", "full", "none"),
		roadConfig(t, "stationarity", "sampled", "difference", "none"),
		roadConfig(t, "kfd", "sampled", "score", "z2"),
		roadConfig(t, "kfd", "exact", "score", "z2"),
		roadConfig(t, "stationarity", "sampled", "score", "none"),
		roadConfig(t, "discriminator", "sampled", "surrogate", "none"),
		roadConfig(t, "discriminator", "sampled", "difference", "z2"),
		roadConfig(t, "discriminator", "sampled", "score", "none"),
	} {
		name := c.Loss.Kind + " " + c.Loss.Gradient
		a, b := newTrainer(t, c, 1), newTrainer(t, c, 3)
		for range 3 {
			require.NoError(t, a.Step())
			require.NoError(t, b.Step())
		}
		require.Equal(t, a.Params(), b.Params(), name)
		require.Equal(t, c.Loss.Kind == "mmd" || c.Loss.Kind == "stationarity", len(a.System().(engine.Stateful).State()) == 0, name)
		require.Zero(t, alloctest.PerRun(5, func() {
			if err := a.Step(); err != nil {
				panic(err)
			}
		}), name)
	}
}

func TestRoadsAreRefused(t *testing.T) {
	for key, change := range map[string]func(*Config){
		"loss.gradient":           func(c *Config) { c.Generator.Head = "sign" },
		"loss.kind":               func(c *Config) { c.Loss.Kind = "divergence" },
		"loss.discriminator.form": func(c *Config) { c.Loss.Kind, c.Loss.Discriminator.Form = "discriminator", "" },
	} {
		c := roadConfig(t, "mmd", "sampled", "score", "none")
		require.NoError(t, c.Validate())
		change(c)
		require.ErrorContains(t, c.Validate(), key+":")
	}
	c := roadConfig(t, "mmd", "exact", "score", "none")
	c.Loss.RaoBlackwell = true
	require.ErrorContains(t, c.Validate(), "loss.rao_blackwell: true does not go with loss.gradient, which is score; set loss.rao_blackwell to false, or loss.gradient to difference")
}

// TestDiscriminatorOfManyWords judges configurations of more spins than a word has.
func TestDiscriminatorOfManyWords(t *testing.T) {
	c := roadConfig(t, "discriminator", "sampled", "difference", "none")
	c.Target.L, c.Training.Batch = 17, 40
	require.NoError(t, c.Validate())
	require.NoError(t, newTrainer(t, c, 2).Step())
}

// TestRoadsLead trains small generators by each of the paper's other roads.
func TestRoadsLead(t *testing.T) {
	if testing.Short() {
		t.Skip("trains for long")
	}
	for name, change := range map[string]func(*Config){
		"discriminator": func(c *Config) {
			c.Loss.Kind, c.Loss.Gradient = "discriminator", "difference"
			c.Loss.Discriminator.LearningRate, c.Loss.Discriminator.Steps = 3e-3, 4
		},
		"pairs": func(c *Config) {
			c.Loss.Kind, c.Loss.Gradient = "discriminator", "difference"
			c.Loss.Discriminator.LearningRate, c.Loss.Discriminator.Steps, c.Loss.Discriminator.Form = 3e-3, 4, "pair"
		},
		"score": func(c *Config) { c.Loss.Kind = "kfd" },
		"evolution": func(c *Config) {
			c.Training.Method, c.Loss.Gradient, c.Training.Evolution.Pairs = "evolution", "difference", 16
			c.Loss.Average, c.Loss.Statistic = "exact", mmd.V
		},
	} {
		c := roadConfig(t, "mmd", "sampled", "score", "none")
		c.Target.L, c.Training.Steps, c.Training.Optimizer.LearningRate = 2, 200, 3e-3
		change(c)
		trainer := newTrainer(t, c, 1)
		s := trainer.System().(*system)
		measure := func() float64 {
			e, err := s.Evaluate(context.Background(), trainer.Params(), 20_000)
			require.NoError(t, err)
			return e.Metrics[4].Error
		}
		before := measure()
		for range c.Training.Steps {
			require.NoError(t, trainer.Step())
		}
		require.Less(t, measure(), 0.7*before, name)
	}
}
