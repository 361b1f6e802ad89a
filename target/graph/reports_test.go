package graph

import (
	"testing"

	"github.com/revgen/revgen/engine/systemtest"
)

// TestReports: tables, checks of the model and figures are as they were.
func TestReports(t *testing.T) {
	c := configured(t, "quick", glass(3, 3, 8), 0.4)
	c.Training.Batch = 128
	systemtest.Reports(t, c, 1000, "hierarchy")
}
