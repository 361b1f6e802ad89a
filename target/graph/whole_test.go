package graph

import (
	"testing"

	"github.com/revgen/revgen/engine/systemtest"
)

// TestWhole: runs are as they were.
func TestWhole(t *testing.T) {
	systemtest.GoldenRun(t, systems, "runs",
		`spins quick target.spins=16 target.beta=1.5 target.edges=[[0,1,1],[1,2,-1],[2,3,1],[3,0,-1],[0,4,1],[1,5,-1],[2,6,1],[3,7,1],[4,5,1],[5,6,1],[6,7,-1],[7,4,1],[4,8,-1],[5,9,1],[6,10,1],[7,11,-1],[8,9,1],[9,10,1],[10,11,1],[11,8,-1],[8,12,1],[9,13,1],[10,14,-1],[11,15,1],[12,13,-1],[13,14,1],[14,15,1],[15,12,1]]`,
		`spins best target.spins=5 target.edges=[[0,1,1],[1,2,-1],[2,3,0.5],[3,0,-0.7],[0,2,1],[4,1,1.2]] target.fields=[0.1,0,-0.2,0,0.3]`,
		`spins paper target.spins=5 target.edges=[[0,1,1],[1,2,-1],[2,3,0.5],[3,0,-0.7],[0,2,1],[4,1,1.2]] target.fields=[0.1,0,-0.2,0,0.3] generator.hidden=[16] evaluation.every=6`,
	)
}

// TestEvaluationsEndAnywhere: tables, figures and checks of models.
func TestEvaluationsEndAnywhere(t *testing.T) {
	c := configured(t, "quick", glass(1, 3, 3), 0.5)
	systemtest.EvaluationsEnd(t, "glass", 30, c)
	systemtest.ChecksEnd(t, "glass", 30, c)
}
