package systemtest

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/revgen/revgen/engine"
	"github.com/revgen/revgen/engine/catalogue"
	"github.com/revgen/revgen/internal/conf"
)

// Recipes checks that presets still give the values, the explanations and the memory that
// testdata holds in the file of the system. Each recipe is a preset and assignments, separated by
// spaces. Keys of the target are left out, and so are parts that are the same in the recipe before.
// No other test notices a wrong constant of a recipe.
//
// It runs on the generic path, as Golden does, since some recipes look at their target.
func Recipes(t *testing.T, def engine.Definition, recipes ...string) {
	t.Helper()
	defer useGeneric(t)()
	var b strings.Builder
	previous := map[string]string{}
	for _, recipe := range recipes {
		given := strings.Fields(recipe)
		cfg, why, err := catalogue.Systems{def}.Resolve(t.Context(), catalogue.Source{System: def.Name, Preset: given[0], Set: given[1:]})
		require.NoError(t, err, recipe)
		parts := map[string]string{"why": " " + why}
		if e, ok := cfg.(engine.Explainer); ok {
			parts["target"], parts["how"] = " "+e.Describe(), " "+e.Explain()
			for _, d := range e.Demands() {
				parts["bytes"] += fmt.Sprintf(" %s=%.4g", d.Key, d.Bytes)
			}
		}
		assignments, err := conf.Assignments(cfg)
		require.NoError(t, err)
		for _, a := range assignments {
			if part, value, nested := strings.Cut(a, "."); nested && part != "target" && !strings.Contains(part, "=") {
				parts[part] += " " + value
			}
		}
		fmt.Fprintf(&b, "# %s\n", recipe)
		for _, part := range slices.Sorted(maps.Keys(parts)) {
			if parts[part] != previous[part] {
				fmt.Fprintf(&b, "%s:%s\n", part, parts[part])
			}
		}
		previous = parts
	}
	compare(t, def.Name, b.String())
}
