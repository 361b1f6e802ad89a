package gmm

import (
	"testing"

	"github.com/revgen/revgen/engine/systemtest"
)

func TestGolden(t *testing.T) {
	for name, want := range map[string]string{
		"paper": `
start 461842f8d6eb
trained 3a2b97ed06a0
states, refined by 0 65a2da84fc84
states, refined by 3 bc7bb8c11ff7`,
		"best": `
start 461842f8d6eb
trained 7ef18844f88b
states, refined by 0 d3eb9b8e730d
states, refined by 3 516bb7a9ed06`,
		"residual": `
start 3a1f15ba554f
trained 610af6f441c5
states, refined by 0 7e499a4c3693
states, refined by 3 fd3d888eee35`,
	} {
		t.Run(name, func(t *testing.T) { systemtest.Golden(t, testConfigs()[name], want) })
	}
}
