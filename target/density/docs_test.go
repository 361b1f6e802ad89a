package density

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/revgen/revgen/engine"
	"github.com/revgen/revgen/target/density/expression"
)

// TestDocuments: the configurations of docs/targets.md are valid, every function is in
// its table, the templates are as short as it says, and so is the ring.
func TestDocuments(t *testing.T) {
	page, err := os.ReadFile(filepath.Join("..", "..", "docs", "targets.md"))
	require.NoError(t, err)
	text := string(page)
	found := 0
	for _, block := range regexp.MustCompile(`(?m)^    \{"system": "(reals|mixed)"(?:.*\n)(?:    .*\n)*`).FindAllString(text, -1) {
		block = strings.Replace(block, `"best"`, `"moves"`, 1) // which does not look at its target for seconds
		_, _, err := engine.Systems{RealsDefinition, MixedDefinition}.Resolve(t.Context(), engine.Source{Text: []byte(block), File: "docs/targets.md"})
		require.NoError(t, err, block)
		found++
	}
	require.Equal(t, 2, found)
	for _, name := range expression.Functions() {
		require.Regexp(t, `[|`+"` ]"+name+"[(` ]", text)
	}
	for _, formula := range []string{"sum(y*dot(X, x) - softplus(dot(X, x))) - sum(x^2)/2", "sum(x*shift(x, 1))", "sum(x[1:]*x[:-1])"} {
		require.Contains(t, text, "`"+formula+"`")
		m, err := expression.Matrix([]float64{1, 2}, []float64{3, 4}, []float64{5, 6})
		require.NoError(t, err)
		_, err = expression.Compile(formula, expression.Environment{Dim: 2, Parameters: map[string]expression.Parameter{"X": m, "y": expression.Vector(0, 1, 1)}})
		require.NoError(t, err, formula)
	}
	lines := func(name string) int {
		source, err := os.ReadFile(filepath.Join("..", "..", "examples", name))
		require.NoError(t, err)
		return strings.Count(string(source), "\n")
	}
	for _, name := range []string{"target.py", "target.c", "target.f90"} {
		require.LessOrEqual(t, lines(filepath.Join("targets", name)), 40, name)
	}
	require.Equal(t, 31, lines(filepath.Join("ring", "main.go")))
}
