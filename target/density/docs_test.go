package density

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/revgen/revgen/engine/catalogue"
	"github.com/revgen/revgen/internal/long"
	"github.com/revgen/revgen/target/density/expression"
)

// TestDocuments: the configurations of the documents are valid, every function is in the
// table of docs/targets.md, the templates are as short as it says, and so is the ring.
func TestDocuments(t *testing.T) {
	long.SkipShort(t)
	text := ""
	for name, want := range map[string]int{filepath.Join("docs", "targets.md"): 2, filepath.Join("docs", "guide.md"): 1, "README.md": 1} {
		page, err := os.ReadFile(filepath.Join("..", "..", name))
		require.NoError(t, err)
		blocks := regexp.MustCompile(`(?m)^\{"system": "(reals|mixed)"(?:.*\n)(?: .*\n)*`).FindAllString(string(page), -1)
		require.Len(t, blocks, want, name)
		for _, block := range blocks {
			block = strings.NewReplacer(`"best"`, `"paper"`, `"quick"`, `"paper"`).Replace(block) // which does not look at its target for seconds
			_, _, err := catalogue.Systems{RealsDefinition, MixedDefinition}.Resolve(t.Context(), catalogue.Source{Text: []byte(block), File: name})
			require.NoError(t, err, block)
		}
		if want == 2 {
			text = string(page)
		}
	}
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
