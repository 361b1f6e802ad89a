package density

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/revgen/revgen/engine/measure"
	"github.com/revgen/revgen/internal/lists"
	"github.com/revgen/revgen/internal/stat"
)

// TestComparison: an average that is more than five standard errors, and more than a tenth of a state's
// deviation, from the chains' is warned of, and a mode of less than a fifth of its weight is lost, where
// chains agree and samples are where they came.
func TestComparison(t *testing.T) {
	const kept, draws = 32, 256
	random := rand.New(rand.NewPCG(1, 2))
	of := &reference{width: 3, chains: kept}
	for i := range draws {
		for c := range kept {
			of.values = append(of.values, random.NormFloat64(), float64((i+c)%2), random.NormFloat64())
		}
	}
	s := &system{names: []string{"x0", "mode_weight_0", "log_density"}}
	compared := func(r *reference, values []float64, weights *measure.Reweighing) *measure.Evaluation {
		s.reference = r
		out := &measure.Evaluation{Samples: len(values) / 3}
		s.compare(out, values, weights, func(format string, args ...any) { out.Warnings = append(out.Warnings, fmt.Sprintf(format, args...)) })
		require.Len(t, out.Metrics, 5)
		return out
	}
	same := func(times int) (values []float64) {
		for range times {
			values = append(values, of.values...)
		}
		return values
	}
	chain := stat.Chains(lists.Column(of.values, 0, 3), kept)
	for _, sign := range []float64{-1, 1} {
		for by, warned := range map[float64]int{0.999: 0, 1.001: 1} {
			for _, n := range []int{100, 5 * kept * draws} {
				values := same(5)[:3*n]
				var x stat.Mean
				for i := range n {
					values[3*i] = chain.Mean + chain.Deviation*float64(2*(i%2)-1)
					x.Add(values[3*i])
				}
				scatter := math.Hypot(x.StandardError(), chain.StandardError)
				off := by * max(5*scatter, 0.1*chain.Deviation)
				require.Equal(t, n == 100, 5*scatter > 0.1*chain.Deviation)
				for i := range n {
					values[3*i] += sign * off
				}
				e := compared(of, values, nil)
				require.Len(t, e.Warnings, warned, "%v of %d: %v", by, n, e.Warnings)
				if warned > 0 {
					require.Equal(t, fmt.Sprintf("mean_x0 is %.3g where the chains have %.3g: off by %.2g standard errors, and by %.2g of the deviation of a state",
						chain.Mean+sign*off, chain.Mean, off/scatter, off/chain.Deviation), e.Warnings[0])
				}
				require.Empty(t, e.Lost)
				require.False(t, e.Metrics[1].Unsettled)
				require.Equal(t, "mean_x0", e.Metrics[1].Name)
				require.Equal(t, chain.StandardError, e.Metrics[1].Uncertainty)
			}
		}
	}

	for ones, lost := range map[int]int{819: 1, 820: 0} { // of 8,192, half of which the chains have
		values := same(1)
		for i := range kept * draws {
			values[3*i+1] = 0
			if i < ones {
				values[3*i+1] = 1
			}
		}
		e := compared(of, values, nil)
		require.Len(t, e.Lost, lost)
		if lost > 0 {
			require.Equal(t, "mode 0 is all but lost: its weight is 0.1 where the chains have 0.5", e.Lost[0])
			require.Equal(t, e.Lost[0], e.Warnings[0])
		}
		require.Len(t, e.Warnings, 1+lost)
	}

	for _, rHat := range []float64{1.0499, 1.0501} {
		apart := *of
		low, high := 0.0, 1.0
		for range 60 { // half of the chains are so far away that they agree so well
			apart.values = same(1)
			by := (low + high) / 2
			for i := range kept * draws {
				apart.values[3*i] += by * float64(i%2)
			}
			if stat.Chains(lists.Column(apart.values, 0, 3), kept).RHat < rHat {
				low = by
			} else {
				high = by
			}
		}
		values := same(1)
		for i := range kept * draws {
			values[3*i] += 9
		}
		e := compared(&apart, values, nil)
		for _, m := range e.Metrics {
			require.Equal(t, rHat > 1.05, m.Unsettled, m.Name)
		}
		if rHat > 1.05 {
			require.Equal(t, []string{measure.Unsettled + "(R̂ = 1.05 for mean_x0): they mix too slowly, or π cannot be normalised"}, e.Warnings)
		} else {
			require.Contains(t, e.Warnings[0], "mean_x0 is ")
		}
	}

	highest := 0.0
	for _, v := range lists.Column(of.values, 2, 3) {
		highest = max(highest, v)
	}
	for beyond, unknown := range map[int]bool{87: false, 88: true} { // less 18/24,576, of 8,192
		values, r := same(1), make([]float64, kept*draws)
		for i := range beyond {
			values[3*i+2] = highest + 1e-9
		}
		e := compared(of, values, measure.NewReweighing(r))
		require.Equal(t, unknown, e.Metrics[0].Unsettled, e.Warnings)
		if unknown {
			require.Equal(t, []string{measure.Unknown + "1 % of the samples, whose weights are level, are where no reference chain came"}, e.Warnings)
		}
		require.Equal(t, []bool{true, true, true, false, false}, []bool{e.Metrics[0].Reweighted != nil, e.Metrics[1].Reweighted != nil, e.Metrics[2].Reweighted != nil, e.Metrics[3].Reweighted != nil, e.Metrics[4].Reweighted != nil})
	}
}
