package density

import (
	"testing"

	"github.com/revgen/revgen/engine/systemtest"
)

// TestReports: tables, checks of the model and figures are as they were.
func TestReports(t *testing.T) {
	systemtest.Reports(t, configure(t, RealsDefinition, "paper", "target.scale=[1.5,1.5]"), 1000, "plane")
	systemtest.Reports(t, configure(t, MixedDefinition, "quick"), 1000, "modes")
}
