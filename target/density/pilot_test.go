package density

import (
	"encoding/json"
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/revgen/revgen/engine/catalogue"
	"github.com/revgen/revgen/internal/long"
)

// TestPilot: short chains find where the weight is, to half or twice its scale, whatever
// the scales of coordinates have to do with each other.
func TestPilot(t *testing.T) {
	long.SkipShort(t)
	powers := func(n int) (s []float64) { // from 1e-3 to 1e3
		for i := range n {
			s = append(s, math.Pow(10, 6*float64(i)/float64(n-1)-3))
		}
		return s
	}
	same := func(n int, x float64) (s []float64) {
		for range n {
			s = append(s, x)
		}
		return s
	}
	for _, c := range []struct {
		name, expression string
		center, scale    []float64
	}{
		{"alike", "-sum((x - m)^2/s^2)/2", same(4, 0), same(4, 1)},
		{"near and far", "-sum((x - m)^2/s^2)/2", same(7, 0), powers(7)},
		{"two of them", "-sum((x - m)^2/s^2)/2", same(2, 0), []float64{1e3, 1e-3}},
		{"many", "-sum((x - m)^2/s^2)/2", same(32, 0), powers(32)},
		{"each elsewhere", "-sum((x - m)^2/s^2)/2", []float64{10, -3, 1e-3, 5e3, 0}, powers(5)},
		{"far away", "-sum((x - m)^2/s^2)/2", same(3, 1e4), same(3, 0.01)},
		{"without tails", "max(abs(x - m)/s) > 1.75 ? -inf : 0", same(3, 0), same(3, 1e-4)},
		{"a ridge", "-((x[0] - x[1])/1e-3)^2/2 - (sum(x - m)/s[0])^2/4", same(2, 0), same(2, 1000)},
		{"a ridge in space", "let r = sum(x)/sqrt(len(x)); -(r/s[0])^2/(2*len(x)) - sum((x - r/sqrt(len(x)))^2)/2*1e4", same(8, 0), same(8, 1e3)},
		{"a funnel", "-x[0]^2/18 - sum(x[1:]^2)*exp(-x[0])/2 - x[0]*(len(x) - 1)/2", same(3, 0), []float64{3, 5, 5}},
	} {
		t.Run(c.name, func(t *testing.T) {
			parameters, err := json.Marshal(map[string][]float64{"m": c.center, "s": c.scale})
			require.NoError(t, err)
			cfg, _, err := catalogue.Systems{RealsDefinition}.Resolve(t.Context(), catalogue.Source{System: "reals", Preset: "paper",
				Set: []string{fmt.Sprintf("target.dim=%d", len(c.center)), "target.parameters=" + string(parameters), "target.expression=" + c.expression}})
			require.NoError(t, err)
			target := cfg.(*RealsConfig).Target
			t.Log(target.Center, target.Scale, target.Shear)
			ridge := strings.Contains(c.name, "ridge")
			require.Equal(t, ridge, len(target.Shear) > 0)
			for i, s := range c.scale {
				found, center := target.Scale[i%len(target.Scale)], 0.0
				if ridge && i > 0 { // of which the scale is what is left, about a centre on it
					left := map[int]float64{2: 0.001, 8: 0.01}[len(c.scale)]
					require.InDelta(t, 0, math.Log2(found/left), 1, "scale of %d given the others", i)
					require.InDelta(t, append(target.Center, 0)[0], append(target.Center, 0)[min(i, len(target.Center))], left)
					found = math.Hypot(found, target.Shear[i-1][0]*target.Scale[0])
				}
				if len(target.Center) > 0 {
					center = target.Center[i]
				}
				require.InDelta(t, c.center[i], center, s, "centre of %d", i)
				if c.name != "a funnel" {
					require.InDelta(t, 0, math.Log2(found/s), 1, "scale of %d: %v is not about %v", i, found, s)
				}
			}
		})
	}
}
