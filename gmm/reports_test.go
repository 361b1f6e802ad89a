package gmm

import (
	"testing"

	"github.com/revgen/revgen/engine/systemtest"
)

// TestReports: tables, checks of the model and figures are as they were.
func TestReports(t *testing.T) {
	systemtest.Reports(t, testConfigs()["best"], 1000, "mixture")
	systemtest.Reports(t, testConfigs()["residual"], 1000, "residual")
	many := testConfigs()["five dimensions"]
	many.Target, many.Loss.Boundary.Center = randomMixture(3, 9, 7), nil
	systemtest.Reports(t, many, 1000, "many")
}
