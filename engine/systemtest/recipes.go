package systemtest

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/revgen/revgen/engine"
	"github.com/revgen/revgen/engine/catalogue"
	"github.com/revgen/revgen/internal/conf"
)

// Recipes checks that presets still give each key of a configuration the value, and a run the
// words and the memory, that testdata holds. Each recipe is a preset, and
// assignments of a target or of another kind, between spaces. Keys of the target are left out.
//
// It runs on the generic path, as Golden does, since some recipes look at their target.
// No other test tells a wrong constant from a right one. Whoever changes one on purpose
// copies the text that the failure logs.
func Recipes(t *testing.T, def engine.Definition, recipes ...string) {
	t.Helper()
	defer generic(t)()
	var b strings.Builder
	for _, recipe := range recipes {
		given := strings.Fields(recipe)
		cfg, why, err := catalogue.Systems{def}.Resolve(t.Context(), catalogue.Source{System: def.Name, Preset: given[0], Set: given[1:]})
		require.NoError(t, err, recipe)
		fmt.Fprintf(&b, "# %s\n", recipe)
		if why != "" {
			fmt.Fprintf(&b, "why: %s\n", why)
		}
		if e, ok := cfg.(engine.Explainer); ok {
			fmt.Fprintf(&b, "target: %s\nhow: %s\nbytes:", e.Describe(), e.Explain())
			for _, d := range e.Demands() {
				fmt.Fprintf(&b, " %s=%.4g", d.Key, d.Bytes)
			}
			b.WriteByte('\n')
		}
		all, err := conf.Assignments(cfg)
		require.NoError(t, err)
		for _, part := range []string{"training", "evaluation", "transition", "generator", "loss"} {
			fmt.Fprintf(&b, "%s:", part)
			for _, a := range all {
				if of, value, nested := strings.Cut(a, "."); nested && of == part {
					b.WriteString(" " + value)
				}
			}
			b.WriteByte('\n')
		}
	}
	file := "testdata/" + def.Name + ".txt"
	want, err := os.ReadFile(file)
	if string(want) != b.String() {
		t.Logf("%s, if this is right:\n%s", file, &b)
	}
	require.NoError(t, err)
	require.Equal(t, string(want), b.String())
}
