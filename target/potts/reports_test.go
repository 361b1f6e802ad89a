package potts

import (
	"testing"

	"github.com/revgen/revgen/engine/systemtest"
)

// TestReports: tables, checks of the model and figures are as they were.
func TestReports(t *testing.T) {
	systemtest.Reports(t, configs(t)["3x3"], 1000, "lattice")
	systemtest.Reports(t, configs(t)["tables, fields"], 1000, "graph")
}
