package gmm

import (
	"testing"

	"github.com/revgen/revgen/engine/catalogue"
	"github.com/revgen/revgen/engine/systemtest"
	"github.com/revgen/revgen/internal/crash"
)

// TestWhole: runs are as they were.
func TestWhole(t *testing.T) {
	systemtest.GoldenRun(t, catalogue.Systems{Definition}, "runs",
		`gmm quick`,
		`gmm best generator.scout.population=128`,
		`gmm paper generator.kind=residual loss.kind=discriminator loss.discriminator.hidden=[8] generator.hidden=[8] generator.depth=2 training.batch=64`,
		`gmm quick target.components=[{"weight":0.3,"mean":[-9],"covariance":[[1]]},{"weight":0.7,"mean":[1],"covariance":[[0.01]]}]`,
	)
}

// TestEvaluationsEndAnywhere: tables and figures.
func TestEvaluationsEndAnywhere(t *testing.T) {
	c := crash.Must(Preset("paper"))
	c.Generator.Depth, c.Generator.Hidden = 2, []int{4}
	systemtest.EvaluationsEnd(t, "plane", 10, c)
	// Without a quadrature, which asks most often.
	systemtest.EvaluationsEnd(t, "residual", 30, testConfigs()["residual"])
	space := testConfigs()["five dimensions"]
	space.Target, space.Loss.Boundary.Center = randomMixture(3, 9, 7), nil
	systemtest.EvaluationsEnd(t, "space", 30, space)
}
