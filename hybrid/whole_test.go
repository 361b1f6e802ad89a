package hybrid

import (
	"testing"

	"github.com/revgen/revgen/engine/catalogue"
	"github.com/revgen/revgen/engine/systemtest"
)

// TestWhole: runs are as they were.
func TestWhole(t *testing.T) {
	systemtest.GoldenRun(t, catalogue.Systems{Definition}, "runs",
		`hybrid quick generator.scout.population=128`,
		`hybrid best generator.scout.population=128 target.mu=[0.5,30]`,
		`hybrid paper generator.hidden=[8] evaluation.every=6`,
	)
}

// TestEvaluationsEndAnywhere: tables and figures.
func TestEvaluationsEndAnywhere(t *testing.T) {
	for _, preset := range []string{"paper", "best"} {
		systemtest.EvaluationsEnd(t, preset, 30, small(t, preset))
	}
}
