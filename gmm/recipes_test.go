package gmm

import (
	"testing"

	"github.com/revgen/revgen/engine/systemtest"
)

// TestRecipes: presets, and other kinds that they may be given, have the values that were
// found good.
func TestRecipes(t *testing.T) {
	systemtest.Recipes(t, Definition, "paper", "paper generator.kind=residual loss.kind=discriminator", "paper generator.kind=mixture loss.kind=balance training.optimizer.weight_decay=0",
		"quick", "best", "best generator.kind=realnvp")
}
