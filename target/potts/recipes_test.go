package potts

import (
	"testing"

	"github.com/revgen/revgen/engine/systemtest"
)

// TestRecipes: presets, and other kinds that they may be given, have the values that were
// found good.
func TestRecipes(t *testing.T) {
	graph := " target.l=0 target.q=3 target.sites=5 target.edges=[[0,1,1],[1,2,-1],[2,3,0.5],[3,4,1],[4,0,1],[0,2,0.25]]"
	systemtest.Recipes(t, Definition, "paper", "paper loss.kind=discriminator target.q=4", "paper"+graph, "quick", "quick target.l=4 target.beta=1.5",
		"best target.q=5 target.model=clock", "best target.l=32 target.beta=1.2", "best target.states=[2,3,3,3,3]"+graph)
}
