package sites_test

import (
	"testing"

	root "github.com/revgen/revgen"
	"github.com/revgen/revgen/engine/systemtest"
)

// TestWhole: runs on sites of two states and of more are as they were.
func TestWhole(t *testing.T) {
	systemtest.GoldenRun(t, root.Systems(), "runs",
		`ising quick target.l=4 target.beta=0.6`,
		`potts quick target.l=3 target.q=4 generator.units=2`,
		`ising paper target.l=5 generator.hidden=[8] transition.proposal=sweep`,
	)
}
