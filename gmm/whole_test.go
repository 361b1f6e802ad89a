package gmm

import (
	"testing"

	"github.com/revgen/revgen/engine/catalogue"
	"github.com/revgen/revgen/engine/systemtest"
)

// TestWhole: runs are as they were.
func TestWhole(t *testing.T) {
	systemtest.Whole(t, catalogue.Systems{Definition}, "runs",
		`gmm quick`,
		`gmm best generator.scout.population=128`,
		`gmm paper generator.kind=residual loss.kind=discriminator loss.discriminator.hidden=[8] generator.hidden=[8] generator.depth=2 training.batch=64`,
		`gmm quick target.components=[{"weight":0.3,"mean":[-9],"covariance":[[1]]},{"weight":0.7,"mean":[1],"covariance":[[0.01]]}]`,
	)
}
