package diagnose_test

import (
	"testing"

	root "github.com/revgen/revgen"
	"github.com/revgen/revgen/engine/systemtest"
)

// TestWhole: what generators are found to be is as it was, of good ones and of bad.
func TestWhole(t *testing.T) {
	systemtest.GoldenRun(t, root.Systems(), "runs",
		`ising quick target.l=4 training.steps=40`,
		`ising paper target.l=3 target.beta=1 generator.hidden=[8]`,
		`gmm quick training.steps=40 training.batch=256`,
		`hybrid paper generator.hidden=[8]`,
		`reals quick generator.scout.population=128 target.parameters={} target.dim=1 target.expression=-(x[0]^2-9)^2`,
	)
}
