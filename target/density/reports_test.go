package density

import (
	"testing"

	"github.com/revgen/revgen/asm"
	"github.com/revgen/revgen/engine/systemtest"
)

// TestReports: tables, checks of the model and figures are as they were.
func TestReports(t *testing.T) {
	systemtest.Reports(t, configure(t, RealsDefinition, "paper", "target.scale=[1.5,1.5]"), 1000, "plane")
	if path, _, _ := asm.Active(); path == asm.Generic {
		t.Skip("chains between the modes go other ways where an exponential is rounded otherwise")
	}
	systemtest.Reports(t, configure(t, MixedDefinition, "quick"), 1000, "modes")
}
