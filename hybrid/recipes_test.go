package hybrid

import (
	"testing"

	"github.com/revgen/revgen/engine/systemtest"
)

// TestRecipes: presets, and other kinds that they may be given, have the values that were
// found good.
func TestRecipes(t *testing.T) {
	systemtest.Recipes(t, Definition, "paper", "paper loss.kind=discriminator", "quick", "best", "best target.mu=[4]")
}
