package gmm

import (
	"testing"

	"github.com/revgen/revgen/engine/systemtest"
	"github.com/revgen/revgen/internal/long"
)

func TestGolden(t *testing.T) {
	long.SkipShort(t)
	for name, want := range map[string]string{
		"paper": `
start 461842f8d6eb
trained d030cc01ca01
states, refined by 0 b7c587f0016a
states, refined by 3 20ce26218fc6
weighted, refined by 0 65df42d4f2d5`,
		"flow": `
start 461842f8d6eb
trained da4d14989dfb
states, refined by 0 9cdbb8d87e87
states, refined by 3 a3b4b4501628
weighted, refined by 0 3486de417a55`,
		"residual": `
start 3a1f15ba554f
trained 23457f5c34f5
states, refined by 0 90c7a9f289f0
states, refined by 3 41a99a791cc8`,
	} {
		t.Run(name, func(t *testing.T) { systemtest.Golden(t, testConfigs()[name], want) })
	}
}
