package potts

import (
	"testing"

	"github.com/revgen/revgen/engine/catalogue"
	"github.com/revgen/revgen/engine/systemtest"
)

// TestWhole: runs are as they were.
func TestWhole(t *testing.T) {
	systemtest.GoldenRun(t, catalogue.Systems{Definition}, "runs",
		`potts quick target.l=3 evaluation.every=6`,
		`potts quick target.l=4 target.q=5 target.model=clock generator.units=2`,
		`potts quick target.l=0 target.q=3 target.sites=5 target.states=[2,3,3,3,3] target.tables=[{"i":0,"j":2,"energy":[[1,0,-1],[0.5,0,0]]}] target.edges=[[1,2,1],[0,1,1],[0,3,0.5],[1,3,-1],[2,3,1],[3,4,1],[4,0,1],[4,1,-1],[2,4,1]] target.fields=[[1,0],[],[0,0,1],[],[1,0,0]]`,
		`potts paper target.l=3 generator.hidden=[16]`,
	)
}

// TestEvaluationsEndAnywhere: tables and figures.
func TestEvaluationsEndAnywhere(t *testing.T) {
	systemtest.EvaluationsEnd(t, "lattice", 30, configure(t, "target.l=3"))
}
