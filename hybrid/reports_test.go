package hybrid

import (
	"testing"

	"github.com/revgen/revgen/engine/systemtest"
)

// TestReports: tables, checks of the model and figures are as they were.
func TestReports(t *testing.T) {
	systemtest.Reports(t, small(t, "paper"), 1000, "perceptron")
	systemtest.Reports(t, small(t, "best"), 1000, "mixture")
}
