package ising

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/revgen/revgen/engine"
	"github.com/revgen/revgen/engine/configtest"
	"github.com/revgen/revgen/internal/conf"
)

// TestConfigurations changes presets at random: what is accepted can be trained.
func TestConfigurations(t *testing.T) {
	words := []string{
		"single", "mixture", "multi-spin", "sweep", "perceptron", "hierarchy", "scratch", "half", "sign", "bernoulli", "absolute", "spread", "none",
		"mmd", "discriminator", "balance", "V", "U", "surrogate", "difference", "score", "full",
		"gradient", "evolution", "consensus", "quick", "paper", "best", "mine", "cosine", "pair", "plain", "",
	}
	configtest.Run(t, Definition, 300, words, func(cfg engine.Config) {
		c := cfg.(*Config)
		c.Transition.Steps = min(c.Transition.Steps, 3)
		c.Loss.Discriminator.Steps = min(c.Loss.Discriminator.Steps, 2)
		c.Training.Evolution.Pairs = min(c.Training.Evolution.Pairs, 2)
		c.Training.Consensus.Particles = min(c.Training.Consensus.Particles, 3)
	})
}

// TestMemoryOfHierarchies and TestMemory hold the estimates against what is
// allocated.
func TestMemoryOfHierarchies(t *testing.T) {
	if testing.Short() {
		t.Skip("no kernel path needs other memory")
	}
	for _, partners := range []float64{0, 0.5, 1} {
		c := adapted(t, "quick", TargetConfig{L: 16, Beta: 0.4, J: 1})
		c.Training.Batch, c.Loss.Partners = 1<<14, partners
		configtest.Memory(t, c)
	}
}

func TestMemory(t *testing.T) {
	if testing.Short() {
		t.Skip("no kernel path needs other memory")
	}
	for _, changes := range [][]string{
		{},
		{"training.batch=20000"},
		{"training.batch=5000", "target.l=8", "loss.kind=mmd"},
		{"training.batch=400", "target.l=64", "loss.gradient=full"},
		{"training.batch=10000", "target.l=8", "loss.kind=discriminator"},
		{"generator.hidden=[1024,1024]", "training.ema=0.9"},
		{"training.method=consensus", "training.clip_norm=0", "training.consensus.particles=100"},
	} {
		c, err := Preset("paper")
		require.NoError(t, err)
		for _, change := range changes {
			require.NoError(t, conf.Set(c, change))
		}
		t.Log(changes)
		configtest.Memory(t, c)
	}
}
