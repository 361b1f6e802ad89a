package ising

import (
	"testing"

	"github.com/revgen/revgen/engine/systemtest"
)

// TestReports: tables, checks of the model and figures are as they were.
func TestReports(t *testing.T) {
	systemtest.Reports(t, small(t, "paper"), 1000, "perceptron")
	systemtest.Reports(t, adapted(t, "quick", TargetConfig{L: 4, Beta: 0.4, J: 1}), 1000, "hierarchy")
}
