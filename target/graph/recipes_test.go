package graph

import (
	"testing"

	"github.com/revgen/revgen/engine/systemtest"
)

// TestRecipes: presets, and other kinds that they may be given, have the values that were
// found good.
func TestRecipes(t *testing.T) {
	ring := " target.spins=5 target.edges=[[0,1,1],[1,2,-1],[2,3,0.5],[3,4,1],[4,0,1],[0,2,0.25]] target.fields=[0.5,0,0,0.25,0]"
	systemtest.Recipes(t, Definition, "paper"+ring, "paper target.beta=3"+ring, "paper loss.kind=discriminator"+ring, "quick"+ring, "best"+ring)
}
