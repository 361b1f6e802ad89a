package gmm

import (
	"testing"

	"github.com/revgen/revgen/engine/systemtest"
)

// TestReports: tables, checks of the model and figures are as they were.
func TestReports(t *testing.T) {
	systemtest.Reports(t, testConfigs()["best"], 1000, "mixture")
	systemtest.Reports(t, testConfigs()["residual"], 1000, "residual")
}
