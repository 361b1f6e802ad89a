package systemtest

import (
	"encoding/json"
	"fmt"
	"math"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/revgen/revgen/engine"
	"github.com/revgen/revgen/internal/figure"
	"github.com/revgen/revgen/internal/number"
	"github.com/revgen/revgen/internal/pool"
)

// Checks requires that all checks pass, under different names, and that their values, bounds
// and words are those of testdata/checks.txt, so that none checks less than it did.
// It runs on the generic path, as Golden does.
func Checks(t *testing.T, run func(workers *pool.Pool, emit func(engine.Check)) error) (names []string) {
	t.Helper()
	defer useGeneric(t)()
	workers := pool.New(2)
	defer workers.Close()
	var b strings.Builder
	seen := map[string]bool{}
	require.NoError(t, run(workers, func(c engine.Check) {
		require.True(t, c.OK, "%+v", c)
		require.False(t, seen[c.Name], "%s appears twice", c.Name)
		seen[c.Name], names = true, append(names, c.Name)
		writeCheck(&b, c)
	}))
	compare(t, "checks", b.String())
	return names
}

func writeCheck(b *strings.Builder, c engine.Check) {
	fmt.Fprintf(b, "%s: %.3g, bound %.3g: %s\n", c.Name, c.Value, c.Bound, c.Detail)
}

// Reports requires that the reports on a generator after a few steps are those that testdata
// holds in the file of the name: the table, its warnings, the checks of the model and the
// figures. Each number of a report and each size of a figure thus has a test, if it has no better
// one that computes it independently. It runs as Checks does.
func Reports(t *testing.T, cfg engine.Config, samples int, name string) {
	t.Helper()
	defer useGeneric(t)()
	workers := pool.New(1)
	defer workers.Close()
	trainer, err := trainerAfter(cfg, workers, 4)
	require.NoError(t, err)
	var b strings.Builder
	if s, ok := trainer.System().(engine.Evaluator); ok {
		e, err := s.Evaluate(t.Context(), trainer.Params(), samples)
		require.NoError(t, err)
		e.Warn()
		fmt.Fprintf(&b, "%d samples, weights %s\n", e.Samples, rounded(t, e.Weights))
		for _, m := range e.Metrics {
			law := digest(m.Law)
			m.Law = nil
			fmt.Fprintf(&b, "%s law %s\n", rounded(t, m), law)
		}
		for _, w := range e.Warnings {
			fmt.Fprintln(&b, "warning:", w)
		}
	}
	if s, ok := trainer.System().(engine.SelfChecker); ok {
		require.NoError(t, s.VerifyModel(t.Context(), trainer.Params(), samples, func(c engine.Check) { writeCheck(&b, c) }))
	}
	if s, ok := trainer.System().(engine.Illustrator); ok {
		figures, err := s.Figures(t.Context(), trainer.Params(), samples)
		require.NoError(t, err)
		for _, f := range figures {
			for _, r := range f.Rows {
				for _, p := range r.Panels {
					fmt.Fprintf(&b, "%s, %s, height %g: %s, width %g joined %t square %t; x %s; y %s\n", f.Name, f.Title, r.Height, p.Title, p.Width, p.Joined, p.Square, axis(p.X), axis(p.Y))
					for _, l := range p.Layers {
						fmt.Fprintf(&b, "  mark %d of %d %q %.3g: x %s y %s low %s high %s", l.Mark, l.Role, l.Label, l.Width, digest(l.X), digest(l.Y), digest(l.Low), digest(l.High))
						if g := l.Grid; g != nil {
							fmt.Fprintf(&b, " grid %d×%d of %.4g to %.4g and %.4g to %.4g: %s in %.4g to %.4g %d", g.NX, g.NY, g.X0, g.X1, g.Y0, g.Y1, digest(g.Z), g.Min, g.Max, g.States)
						}
						b.WriteByte('\n')
					}
				}
			}
		}
	}
	compare(t, name, b.String())
}

func axis(a figure.Axis) string {
	return fmt.Sprintf("%q scale %d %.4g to %.4g ticks %.4g", a.Label, a.Scale, a.Min, a.Max, a.Ticks)
}

// digest describes numbers by their count and two sums, one of which depends on their order.
func digest(x []float64) string {
	if len(x) == 0 {
		return "–"
	}
	var sum, ordered float64
	for i, v := range x {
		if number.Finite(v) {
			sum += math.Abs(v)
			ordered += v * float64(i%7+1)
		}
	}
	return fmt.Sprintf("(%d, %.4g, %.4g)", len(x), sum, ordered)
}

// rounded returns v as JSON with four digits of each number.
func rounded(t *testing.T, v any) string {
	t.Helper()
	text, err := json.Marshal(v)
	require.NoError(t, err)
	var b strings.Builder
	d := json.NewDecoder(strings.NewReader(string(text)))
	for {
		token, err := d.Token()
		if err != nil {
			return strings.TrimSpace(b.String())
		}
		if f, ok := token.(float64); ok {
			token = fmt.Sprintf("%.4g", f)
		}
		fmt.Fprintf(&b, "%v ", token)
	}
}

// compare requires that a text is that of a file in testdata. Whoever changes it on purpose
// copies the text that the failure logs.
func compare(t *testing.T, name, got string) {
	t.Helper()
	file := "testdata/" + name + ".txt"
	want, err := os.ReadFile(file)
	if string(want) != got {
		t.Logf("%s, if this is right:\n%s", file, got)
	}
	require.NoError(t, err)
	require.Equal(t, string(want), got)
}
