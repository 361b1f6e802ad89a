package hybrid

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/revgen/revgen/engine"
	"github.com/revgen/revgen/engine/configtest"
	"github.com/revgen/revgen/internal/conf"
	"github.com/revgen/revgen/internal/long"
)

// TestConfigurations changes presets at random: what is accepted can be trained.
func TestConfigurations(t *testing.T) {
	long.SkipShort(t)
	words := []string{
		"random", "paper-order", "mmd", "balance", "mixture", "V", "U",
		"gradient", "evolution", "consensus", "quick", "paper", "best", "mine", "cosine", "plain", "",
	}
	configtest.Run(t, Definition, 300, words, func(cfg engine.Config) {
		c := cfg.(*Config)
		c.Transition.Steps = min(c.Transition.Steps, 3)
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
	modes := func(n int) string {
		return fmt.Sprintf("target.mu=[%s]", strings.TrimSuffix(strings.Repeat("2,", n), ","))
	}
	density := []string{"training.batch=20000", "generator.kind=mixture", "loss.kind=balance", "training.optimizer.weight_decay=0", "generator.scout.population=512"}
	for _, changes := range [][]string{
		{},
		{"training.batch=20000"},
		{"training.batch=20000", modes(20)},
		{"training.batch=2000", modes(256), "loss.kind=mmd"},
		slices.Concat(density, []string{modes(10)}),
		slices.Concat(density, []string{"generator.bent=true", "loss.partners=0"}),
		{"generator.hidden=[1024,1024]", "training.ema=0.9"},
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
