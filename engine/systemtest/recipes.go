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

// Recipes checks that presets still give each key of a configuration the value, and a run the
// words and the memory, that testdata holds in the file of the system. Each recipe is a preset,
// and assignments of a target or of another kind, between spaces. Keys of the target, and parts
// that are those of the recipe before, are left out.
//
// It runs on the generic path, as Golden does, since some recipes look at their target.
// No other test tells a wrong constant from a right one.
func Recipes(t *testing.T, def engine.Definition, recipes ...string) {
	t.Helper()
	defer generic(t)()
	var b strings.Builder
	last := map[string]string{}
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
		all, err := conf.Assignments(cfg)
		require.NoError(t, err)
		for _, a := range all {
			if part, value, nested := strings.Cut(a, "."); nested && part != "target" && !strings.Contains(part, "=") {
				parts[part] += " " + value
			}
		}
		fmt.Fprintf(&b, "# %s\n", recipe)
		for _, part := range slices.Sorted(maps.Keys(parts)) {
			if parts[part] != last[part] {
				fmt.Fprintf(&b, "%s:%s\n", part, parts[part])
			}
		}
		last = parts
	}
	compare(t, def.Name, b.String())
}
