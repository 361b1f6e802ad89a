package density

import (
	"testing"

	"github.com/revgen/revgen/engine/systemtest"
)

// TestPresets: presets have the values that were found good. Best looks longer than quick.
func TestPresets(t *testing.T) {
	systemtest.Recipes(t, RealsDefinition, "paper target.scale=[1.5,1.5]", "quick target.scale=[1.5,1.5]", "paper target.dim=1 target.expression=-x[0]^2 target.parameters={}")
	systemtest.Recipes(t, MixedDefinition, "paper", "quick", "quick target.dim=2 target.modes=2 target.parameters={} target.expression=-sum(x^2)*(k+1) target.scale=[[1,1],[1,1]]")
}
