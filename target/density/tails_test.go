package density

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/revgen/revgen/engine/catalogue"
)

// TestTails: densities without an integral are refused where that can be seen, and heavy
// tails that have one are not.
func TestTails(t *testing.T) {
	for _, c := range []struct {
		name, expression string
		dims             []int
		wrong            string // empty for what is a density
	}{
		{"a tail of 1/|x|", "-log(1 + x[0]^2)/2", []int{1}, "of 64 directions its weight does not fall with the distance"},
		{"a tail of 1/r^d", "-len(x)*log(1 + sum(x^2))/2", []int{2, 5}, "of 64 directions"},
		{"one of several coordinates", "-sum(x[:2]^2)/2 - log(1 + x[2]^2)/2", []int{3}, "along coordinate 2"},
		{"a floor that matters", "log(0.1 + exp(-sum(x^2)/2))", []int{1, 2}, "cannot be normalised"},
		{"half a plane", "-softplus(-x[0] - x[1])", []int{2}, "cannot be normalised"},

		{"Cauchy", "-log(1 + x[0]^2)", []int{1}, ""},
		{"several Cauchys", "-sum(log(1 + x^2))", []int{3, 40}, ""},
		{"Student of 1", "-(len(x) + 1)*log(1 + sum(x^2))/2", []int{1, 2, 8, 30}, ""},
		{"Student of a half", "-(len(x) + 0.5)*log(1 + 2*sum(x^2))/2", []int{1, 3}, ""},
		{"a floor that does not matter", "log(1e-300 + exp(-sum(x^2)/2))", []int{1, 3}, ""},
		{"a root", "-sqrt(abs(x[0]))", []int{1}, ""},
		{"Gaussian", "-sum(x^2)/2", []int{1, 80}, ""},
		{"horseshoe", "-sum(x[:3]^2*exp(-2*x[3:]))/2 - sum(x[3:]) - sum(log(1 + exp(2*x[3:])) - x[3:])", []int{6}, ""},
		{"a function that fails far away", "exp(x[0]) - exp(x[0]) - x[0]^2/2", []int{1}, ""},
	} {
		for _, d := range c.dims {
			t.Run(fmt.Sprintf("%s/%d", c.name, d), func(t *testing.T) {
				t.Parallel()
				_, _, err := catalogue.Systems{RealsDefinition}.Resolve(t.Context(), catalogue.Source{System: "reals", Preset: "paper",
					Set: []string{fmt.Sprintf("target.dim=%d", d), "target.parameters={}", "target.expression=" + c.expression}})
				t.Log(err)
				if c.wrong == "" {
					require.NoError(t, err)
					return
				}
				require.ErrorContains(t, err, c.wrong)
			})
		}
	}
}
