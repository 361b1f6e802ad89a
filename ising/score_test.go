package ising

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/revgen/revgen/engine"
	"github.com/revgen/revgen/engine/mmd"
	"github.com/revgen/revgen/internal/alloctest"
)

// roadConfig is a small configuration of the given objective and gradient.
func roadConfig(t *testing.T, objective, gradient string) *Config {
	c := mmdConfig(t)
	c.Loss.Kind, c.Loss.Gradient = objective, gradient
	c.Loss.Statistic = mmd.V
	c.Loss.Discriminator.Hidden, c.Loss.Discriminator.Steps = []int{12}, 2
	return c
}

// TestRoadsAreReproducible: same bits for any number of threads, nothing
// allocated, and a state that says all.
func TestRoadsAreReproducible(t *testing.T) {
	for _, c := range []*Config{
		roadConfig(t, "mmd", "score"),
		roadConfig(t, "mmd", "full"),
		roadConfig(t, "mmd", "difference"),
		roadConfig(t, "discriminator", "surrogate"),
		roadConfig(t, "discriminator", "difference"),
		roadConfig(t, "discriminator", "score"),
	} {
		name := c.Loss.Kind + " " + c.Loss.Gradient
		a, b := newTrainer(t, c, 1), newTrainer(t, c, 3)
		for range 3 {
			require.NoError(t, a.Step())
			require.NoError(t, b.Step())
		}
		require.Equal(t, a.Params(), b.Params(), name)
		require.Equal(t, c.Loss.Kind == "mmd", len(a.System().(engine.Stateful).State()) == 0, name)
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
		"loss.kind":               func(c *Config) { c.Loss.Kind = "balance" },
		"loss.discriminator.form": func(c *Config) { c.Loss.Kind, c.Loss.Discriminator.Form = "discriminator", "" },
	} {
		c := roadConfig(t, "mmd", "score")
		require.NoError(t, c.Validate())
		change(c)
		require.ErrorContains(t, c.Validate(), key+":")
	}
}

// TestDiscriminatorOfManyWords judges configurations of more spins than a word has.
func TestDiscriminatorOfManyWords(t *testing.T) {
	c := roadConfig(t, "discriminator", "difference")
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
		"score": func(*Config) {},
		"evolution": func(c *Config) {
			c.Training.Method, c.Loss.Gradient, c.Training.Evolution.Pairs = "evolution", "difference", 16
		},
	} {
		c := roadConfig(t, "mmd", "score")
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
