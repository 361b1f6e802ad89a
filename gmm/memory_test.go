package gmm

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/revgen/revgen/engine"
	"github.com/revgen/revgen/engine/configtest"
	"github.com/revgen/revgen/internal/conf"
)

// TestConfigurations changes presets at random: what is accepted can be trained.
func TestConfigurations(t *testing.T) {
	words := []string{
		"realnvp", "residual", "parity", "halves", "mmd", "discriminator", "balance", "mixture", "V", "U", "surrogate", "full", "score",
		"gradient", "evolution", "consensus", "quick", "paper", "best", "mine", "cosine", "pair", "plain", "",
	}
	for _, mean := range []string{"1e150", "-1e150", "1e19", "1e6", "1e4", "-30", "0", "1e-300"} {
		for _, variance := range []string{"1e-300", "1e-38", "1e-10", "1e-4", "1", "1e10", "1e38", "1e300"} {
			words = append(words, fmt.Sprintf(`[{"weight":0.5,"mean":[%s,0],"covariance":[[%s,0],[0,1]]},{"weight":0.5,"mean":[0,1],"covariance":[[1,0],[0,%s]]}]`, mean, variance, variance))
		}
	}
	configtest.Run(t, Definition, 300, words, func(cfg engine.Config) {
		c := cfg.(*Config)
		c.Transition.Steps = min(c.Transition.Steps, 3)
		c.Loss.Discriminator.Steps = min(c.Loss.Discriminator.Steps, 2)
		c.Training.Evolution.Pairs = min(c.Training.Evolution.Pairs, 2)
		c.Training.Consensus.Particles = min(c.Training.Consensus.Particles, 3)
		c.Generator.Scout.Population = min(c.Generator.Scout.Population, 100)
		c.Generator.Scout.Moves = min(c.Generator.Scout.Moves, 3)
	})
}

// TestMemory holds the estimates against what is allocated.
func TestMemory(t *testing.T) {
	if testing.Short() {
		t.Skip("no kernel path needs other memory")
	}
	eight := `target.components=[{"weight":1,"mean":[0,0,0,0,0,0,0,0],"covariance":[[1,0,0,0,0,0,0,0],[0,1,0,0,0,0,0,0],[0,0,1,0,0,0,0,0],[0,0,0,1,0,0,0,0],[0,0,0,0,1,0,0,0],[0,0,0,0,0,1,0,0],[0,0,0,0,0,0,1,0],[0,0,0,0,0,0,0,1]]}]`
	for _, changes := range [][]string{
		{},
		{"training.batch=20000"},
		{"training.batch=5000", eight, "loss.gradient=full"},
		{"training.batch=5000", "generator.kind=residual", "generator.latent=64", "generator.depth=8"},
		{"training.batch=2000", "generator.kind=residual", "generator.latent=256", "generator.depth=8", "generator.hidden=[8]"}, // versions of the state
		{"training.batch=5000", "loss.kind=balance", "loss.partners=0"},
		{"training.batch=20000", eight, "generator.kind=mixture", "loss.kind=balance", "training.optimizer.weight_decay=0", "generator.scout.population=512"},
		{"training.batch=10000", eight, "loss.kind=discriminator"},
		{"generator.hidden=[512,512]", "training.ema=0.9"},
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
