package gmm

import (
	"testing"

	"github.com/revgen/revgen/engine/systemtest"
)

func TestGolden(t *testing.T) {
	for name, want := range map[string]string{
		"paper": `
start 461842f8d6eb
trained d030cc01ca01
states, refined by 0 b7c587f0016a
states, refined by 3 20ce26218fc6`,
		"best": `
start 461842f8d6eb
trained 40ec5a0474cc
states, refined by 0 c19ba71b2420
states, refined by 3 f38f61ed0f16`,
		"residual": `
start 3a1f15ba554f
trained 23457f5c34f5
states, refined by 0 90c7a9f289f0
states, refined by 3 41a99a791cc8`,
	} {
		t.Run(name, func(t *testing.T) { systemtest.Golden(t, testConfigs()[name], want) })
	}
}
