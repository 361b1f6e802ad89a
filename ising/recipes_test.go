package ising

import (
	"testing"

	"github.com/revgen/revgen/engine/systemtest"
)

// TestRecipes: presets, and other kinds that they may be given, have the values that were
// found good.
func TestRecipes(t *testing.T) {
	systemtest.Recipes(t, Definition, "paper", "paper target.l=6 target.beta=0.5 loss.kind=discriminator", "quick", "quick target.l=8",
		"best target.l=10 target.beta=1", "best target.l=16 target.beta=0.5", "best target.l=40 target.h=0.1 target.beta=0.5", "best target.l=80 target.beta=0.5", "best target.l=88")
}
