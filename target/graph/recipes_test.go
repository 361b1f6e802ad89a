package graph

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/revgen/revgen/engine/spins/hierarchy"
	"github.com/revgen/revgen/engine/systemtest"
)

// TestRecipes: presets, and other kinds that they may be given, have the values that were
// found good.
func TestRecipes(t *testing.T) {
	ring := " target.spins=5 target.edges=[[0,1,1],[1,2,-1],[2,3,0.5],[3,4,1],[4,0,1],[0,2,0.25]] target.fields=[0.5,0,0,0.25,0]"
	systemtest.Recipes(t, Definition, "paper"+ring, "paper target.beta=3"+ring, "paper loss.kind=discriminator"+ring, "quick"+ring, "best"+ring)
}

// Of many learned spins quick has small batches and few inputs.
func TestQuickRecipe(t *testing.T) {
	for _, c := range []struct {
		preset              string
		learned, neighbours int
		batch, inputs       int
		anneal              float64
	}{
		{"quick", 64, 24, 512, 24, 0.5}, {"quick", 65, 24, 128, 16, 0.2}, {"best", 65, 24, 512, 24, 0.5},
		{"quick", 65, hierarchy.MaxInputs, 512, hierarchy.MaxInputs, 0.5},
	} {
		cfg, err := Preset(c.preset)
		require.NoError(t, err)
		cfg.recipe(hierarchy.Graph{Neighbours: c.neighbours, Inputs: hierarchy.Reached, Order: hierarchy.Farthest, Hidden: 16}, c.learned)
		require.Equal(t, []any{c.batch, c.inputs, c.anneal}, []any{cfg.Training.Batch, cfg.Generator.Neighbours, cfg.Transition.Anneal}, c)
	}
}
