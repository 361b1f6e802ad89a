package ising

import (
	"testing"

	"github.com/revgen/revgen/engine/catalogue"
	"github.com/revgen/revgen/engine/systemtest"
)

// TestWhole: runs are as they were.
func TestWhole(t *testing.T) {
	systemtest.GoldenRun(t, catalogue.Systems{Definition}, "runs",
		`ising quick target.l=8 generator.units=4`,
		`ising best target.l=6 target.beta=0.7 transition.proposal=multi-spin`,
		`ising quick target.l=4 target.h=0.2 target.j=-1 evaluation.every=6`,
		`ising paper target.l=4 generator.hidden=[16] loss.kind=discriminator loss.discriminator.hidden=[8]`,
		`ising paper target.l=3 generator.hidden=[16] loss.gradient=score generator.head=bernoulli transition.proposal=mixture`,
	)
}

// TestEvaluationsEndAnywhere: tables and figures.
func TestEvaluationsEndAnywhere(t *testing.T) {
	c := small(t, "paper")
	c.Target = TargetConfig{L: 4, Beta: 0.4, J: 1}
	systemtest.EvaluationsEnd(t, "paper", 30, c)
	systemtest.EvaluationsEnd(t, "quick", 30, adapted(t, "quick", c.Target))
}
