package density

import (
	"testing"

	"github.com/revgen/revgen/engine/catalogue"
	"github.com/revgen/revgen/engine/systemtest"
)

// TestWhole: runs on targets of many shapes are as they were.
func TestWhole(t *testing.T) {
	systemtest.GoldenRun(t, catalogue.Systems{RealsDefinition, MixedDefinition}, "runs",
		`reals quick`,
		`reals paper generator.hidden=[8] evaluation.every=6`,
		`reals quick generator.scout.population=128 generator.hidden=[8] target.parameters={} target.dim=1 target.expression=max(-(x[0]+3)^2/2,-(x[0]-4)^2*5000+1)`,
		`reals quick generator.scout.population=128 generator.hidden=[8] target.parameters={} target.support=[[0,null],[-1,2]] target.expression=-x[0]-x[1]^2`,
		`reals quick generator.scout.population=128 generator.hidden=[8] target.parameters={} target.dim=3 target.expression=-((x[0]-x[1])*100)^2/2-sum(x^2)/50`,
		`reals quick generator.scout.population=128 generator.hidden=[8] target.parameters={} target.dim=3 target.expression=-x[0]^2/18-sum(x[1:]^2)*exp(-x[0])/2-x[0]`,
		`reals quick generator.scout.population=128 generator.hidden=[8] target.parameters={} target.dim=5 target.expression=-sum(x^2)/18+2*sum(cos(2*x))`,
		`reals quick generator.scout.population=128 generator.hidden=[8] target.parameters={} target.expression=max(abs(x))>1?-inf:0`,
		`reals best generator.scout.population=96 generator.hidden=[8] training.batch=64 target.parameters={"m":[100,-2,0.001,7]} target.dim=4 target.expression=-sum(abs(x-m))`,
		`reals quick generator.scout.population=128 generator.depth=1 generator.hidden=[4] training.batch=64 target.parameters={} target.dim=12 target.expression=-x[0]^2/2-sum(x[1:]^2)*exp(-x[0])/2-11*x[0]/2 target.scale=[1]`,
		`reals paper generator.hidden=[8] target.parameters={} target.dim=1 target.expression=-x[0]^4`,
		`reals quick generator.kind=realnvp generator.hidden=[8]`,
		`mixed quick generator.scout.population=128`,
		`mixed quick generator.scout.population=128 target.dim=2 target.modes=2 target.parameters={"m":[[1,2],[-30,40]]} target.expression=-sum((x-m[k])^2)*(1+99*k)`,
		`mixed best generator.scout.population=128 target.modes=2 target.parameters={} target.expression=-(x[0]^2-4)^2+3*k*x[0]`,
		`mixed paper generator.hidden=[8] target.support=[[0,null]]`,
	)
}
