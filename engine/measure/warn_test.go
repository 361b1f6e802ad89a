package measure_test

import (
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/revgen/revgen/engine/measure"
	"github.com/revgen/revgen/internal/stat"
)

// TestDrawnAgainstWeights: where the reference is not exact, warnings name what differs from
// trusted weights, which --strict counts.
func TestDrawnAgainstWeights(t *testing.T) {
	row := func(generated, floor, uncertainty, weighted, standardError float64) measure.Metric {
		return measure.Metric{Name: "mean", Exact: 2, Generated: generated, Error: math.Abs(generated - 2), Floor: floor, Quantile: 2.5 * floor,
			Uncertainty: uncertainty, Reweighted: &measure.Reweighted{Value: weighted, StandardError: standardError, Apart: standardError, Error: math.Abs(weighted - 2)}}
	}
	relative := row(2.2, 0.01, 0.3, 2, 0.01)
	relative.Relative = true
	for name, c := range map[string]struct {
		m      measure.Metric
		biased string
	}{
		"the same":               {row(2, 0.01, 0.3, 2, 0.01), ""},
		"chance":                 {row(2, 0.01, 0.3, 1.98, 0.01), ""},
		"beyond":                 {row(2, 0.01, 0.3, 1.9, 0.01), "mean (by 0.1 where as many exact samples are off by 0.01, 10.0 times that)"},
		"of their own":           {row(2, 0.01, 0.3, 1.9, 0.1), ""},
		"an exact reference":     {row(2, 0.01, 0, 1.9, 0.01), ""},
		"relative":               {relative, "mean (by 10 % where as many exact samples are off by 1 %, 10.0 times that)"},
		"without another figure": {measure.Metric{Name: "mean", Floor: 0.01, Uncertainty: 0.3}, ""},
	} {
		e := measure.Evaluation{Metrics: []measure.Metric{c.m}, Weights: &measure.Weights{}}
		require.Equal(t, c.biased == "", len(e.Refuted()) == 0, name)
		e.Warn()
		if c.biased == "" {
			require.Empty(t, e.Warnings, name)
			continue
		}
		require.Len(t, e.Warnings, 1, name)
		require.Contains(t, e.Warnings[0], "the samples as drawn differ from their importance-weighted averages: "+c.biased+"; use the weights, or exact draws")
		untrusted := measure.Evaluation{Metrics: []measure.Metric{c.m}, Weights: &measure.Weights{Warning: "k̂"}}
		require.Empty(t, untrusted.Refuted(), name)
	}
}

// TestErrorsByChance: what is four floors from an exact reference is no error where weights find
// the reference, and the samples as drawn less than three floors from it.
func TestErrorsByChance(t *testing.T) {
	for name, c := range map[string]struct {
		weighted, apart, uncertainty float64
		warning                      string
		far                          bool
	}{
		"chance":                     {weighted: 2.02, apart: 0.001},
		"biased":                     {weighted: 2.02, apart: 0.0055, far: true},
		"more":                       {weighted: 2.005, apart: 0.001, far: true},
		"weights do not find it":     {weighted: 2.031, apart: 0.001, far: true},
		"weights that nobody trusts": {weighted: 2.02, apart: 0.001, warning: "k̂", far: true},
		"not exact":                  {weighted: 2.02, apart: 0.001, uncertainty: 0.0001, far: true},
	} {
		for _, relative := range []bool{false, true} {
			m := measure.Metric{Name: "mean", Exact: 2, Generated: 2.042, Error: 0.042, Floor: 0.01, Quantile: 0.025, Relative: relative, Uncertainty: c.uncertainty}
			if relative {
				m.Error, m.Floor, m.Quantile = m.Error/2, m.Floor/2, m.Quantile/2
			}
			m.Reweigh(measure.WeightedMean{Value: c.weighted, StandardError: 0.008, Apart: c.apart})
			e := measure.Evaluation{Metrics: []measure.Metric{m}, Weights: &measure.Weights{Warning: c.warning}}
			require.Equal(t, c.far && c.uncertainty == 0, len(e.Refuted()) > 0, name)
			e.Warn()
			require.Equal(t, c.far, slices.ContainsFunc(e.Warnings, func(w string) bool { return strings.HasPrefix(w, "far from the reference: mean") }), name)
		}
	}
}

// TestFarFromReference: warnings name what is far from its reference, by the sampling
// floor and beyond what the reference itself may be to blame for, and what has none.
func TestFarFromReference(t *testing.T) {
	e := measure.Evaluation{Metrics: []measure.Metric{
		{Name: "near", Error: 0.02, Floor: 0.01, Quantile: 0.02},
		{Name: "far", Error: 0.05, Floor: 0.01, Quantile: 0.02},
		{Name: "relative", Error: 0.05, Floor: 0.01, Relative: true},
		{Name: "rounding", Exact: 20, Error: 1e-5, Floor: 1e-6},
		{Name: "blamed", Error: 0.05, Floor: 0.01, Uncertainty: 0.02},
		{Name: "one of ten", Error: 0.05, Floor: 0.01, Uncertainty: 0.01},
		{Name: "despite", Error: 0.08, Floor: 0.01, Uncertainty: 0.01},
		{Name: "infinite", Error: math.Inf(1), Floor: 0.01},
		{Name: "unjudged", Error: 0.05},
		{Name: "unknown", Exact: math.NaN(), Error: math.NaN()},
	}, Warnings: []string{"before"}}
	e.Warn()
	require.Equal(t, []string{
		"before",
		"far from the reference: far (0.05 where as many exact samples have 0.01, 5.0 times that); relative (5 % where as many exact samples have 1 %, 5.0 times that); despite (0.08 where as many exact samples have 0.013, 6.3 times that); infinite (infinite)",
		"no reference: unknown",
	}, e.Warnings)
	fine := measure.Evaluation{Metrics: e.Metrics[:1]}
	fine.Warn()
	require.Empty(t, fine.Warnings)
	// What only a reference that is not exact says is no reason to fail.
	for i, m := range e.Metrics {
		one := measure.Evaluation{Metrics: e.Metrics[i : i+1]}
		require.Equal(t, m.Name != "far" && m.Name != "relative" && m.Name != "infinite", len(one.Refuted()) == 0, m.Name)
	}
	fine.Lost = []string{"the sector of negative magnetisation is missing"}
	require.NotEmpty(t, fine.Refuted())
}

// TestFarByLaw: an error whose law is narrow is far where one of a wide law is not.
func TestFarByLaw(t *testing.T) {
	row := measure.Metric{Error: 0.035, Floor: 0.01, Law: stat.Null{0.01}}
	narrow, wide := row, row
	narrow.Name, narrow.Quantile = "narrow", 0.012
	wide.Name, wide.Quantile = "wide", 0.03
	e := measure.Evaluation{Metrics: []measure.Metric{narrow, wide}}
	require.Equal(t, []string{"narrow (0.035 where as many exact samples have 0.01, 3.5 times that)"}, e.Refuted())
}

// TestBoundsOfErrors has errors just at what is tolerated, and just beyond.
func TestBoundsOfErrors(t *testing.T) {
	inf, nan := math.Inf(1), math.NaN()
	for _, c := range []struct {
		m      measure.Metric
		floors float64
	}{
		{measure.Metric{Relative: true, Error: 1e-6, Floor: 1e-6}, 1}, {measure.Metric{Relative: true, Error: 0.99e-6, Floor: 1e-6}, 0},
		{measure.Metric{Exact: -8, Error: 8e-6, Floor: 2e-6}, 4}, {measure.Metric{Exact: -8, Error: 7.99e-6, Floor: 2e-6}, 0},
		{measure.Metric{Exact: 0.5, Error: 1e-6, Floor: 1e-6}, 1}, {measure.Metric{Exact: 0.5, Error: 0.99e-6, Floor: 1e-6}, 0},
		{measure.Metric{Relative: true, Exact: 8, Error: 2e-6, Floor: 1e-6}, 2},
		{measure.Metric{Error: 10, Floor: 3, Uncertainty: 4 / math.Sqrt(2/math.Pi)}, 2},
	} {
		require.InDelta(t, c.floors, c.m.Floors(), 1e-9, "%+v", c.m)
	}
	law := stat.Null{1}
	weighed := func(m measure.Metric, value, apart float64) measure.Metric {
		m.Reweighted = &measure.Reweighted{Value: value, StandardError: 1, Apart: apart}
		return m
	}
	inexact := measure.Metric{Generated: 4, Floor: 1, Uncertainty: 1e-3}
	relative := measure.Metric{Exact: -2, Generated: 8, Floor: 1, Uncertainty: 1e-3, Relative: true}
	unsettled := measure.Metric{Generated: 4, Floor: 100, Unsettled: true, Interval: [2]float64{3 - 1.959964, 3 + 1.959964}}
	exact := func(off float64) measure.Metric {
		m := weighed(measure.Metric{Generated: 4, Floor: 1}, 0, 0.1)
		m.Reweighted.Error = off
		return m
	}
	none, bias := "", "m is %s sampling floors from its importance-weighted average (use weights or exact draws)"
	for _, c := range []struct {
		m    measure.Metric
		want string
	}{
		// Three floors are tolerated, and of an average what one of a thousand exceeds, 3.2905/√(2/π) = 4.124.
		{measure.Metric{Error: 4.12, Floor: 1}, none}, {measure.Metric{Error: 4.13, Floor: 1}, "m (4.1 where as many exact samples have 1, 4.1 times that)"},
		{measure.Metric{Error: 3, Floor: 1, Law: law, Quantile: 1.5}, none}, {measure.Metric{Error: 3.01, Floor: 1, Law: law, Quantile: 1.5}, "m (3 where as many exact samples have 1, 3.0 times that)"},
		// Of another law 1 + (3 − 1)·3.0902/1.6449 = 4.76 are exceeded as seldom.
		{measure.Metric{Error: 2 * 4.75, Floor: 2, Law: law, Quantile: 6}, none}, {measure.Metric{Error: 2 * 4.77, Floor: 2, Law: law, Quantile: 6}, "m (9.5 where as many exact samples have 2, 4.8 times that)"},
		{measure.Metric{Error: inf}, "m (infinite)"}, {measure.Metric{Error: inf, Unsettled: true}, none}, {measure.Metric{Error: 99, Floor: 1, Unsettled: true}, none}, {measure.Metric{Error: 99}, none}, {measure.Metric{Error: nan, Floor: 1}, none},
		{measure.Metric{Error: 99, Floor: 1, Uncertainty: 1e-9}, none},
		{weighed(inexact, 1, 0.1), none}, {weighed(inexact, 0.99, 0.1), fmt.Sprintf(bias, "3.0")}, {weighed(inexact, 7.01, 0.1), fmt.Sprintf(bias, "3.0")},
		{weighed(inexact, 0, 1), none}, {weighed(inexact, 0, 0.99), fmt.Sprintf(bias, "4.0")},
		{weighed(relative, 2, 0.1), none}, {weighed(relative, 1.9, 0.1), fmt.Sprintf(bias, "3.0")}, {weighed(relative, 0, 2), none}, {weighed(relative, 0, 1.99), fmt.Sprintf(bias, "4.0")},
		{weighed(unsettled, 4-2.39, 0.1), none}, {weighed(unsettled, 4-2.4, 0.1), fmt.Sprintf(bias, "3.0")},
		{exact(4), fmt.Sprintf(bias, "4.0")}, {exact(4.01), none}, // which weights contradict
		{weighed(measure.Metric{Generated: 4, Uncertainty: 1}, 0, 0.1), none},
	} {
		c.m.Name = "m"
		e := measure.Evaluation{Metrics: []measure.Metric{c.m}, Weights: &measure.Weights{}}
		require.Equal(t, c.want, strings.Join(e.Refuted(), ""), "%+v", c.m)
	}
	e := measure.Evaluation{Weights: &measure.Weights{Warning: "k̂"}, Lost: []string{"a", "b"}}
	e.Warn()
	require.Equal(t, []string{"by weights there are neither ln Z nor averages: a"}, e.Warnings)
	require.Equal(t, []string{"a", "b"}, e.Refuted())
	for size, want := range map[float64][]string{0.899: {"by weights there are neither ln Z nor averages: c"}, 0.9: nil} {
		e := measure.Evaluation{Weights: &measure.Weights{EffectiveSize: size}, Doubt: "c"}
		e.Warn()
		require.Equal(t, want, e.Warnings)
	}
}

// TestAverages: errors of averages of many functions, and the laws of them where the functions are
// one, or have nothing to do with each other.
func TestAverages(t *testing.T) {
	const n, functions, some = 400, 300, 100
	for _, same := range []bool{true, false} {
		exact, sums := make([]float64, functions), make([]float64, functions)
		var want, floor float64
		for i := range exact {
			exact[i] = 0.001 * float64(i)
			sums[i] = n * (exact[i] + 0.01*float64(i%3-1))
			want += 0.01 * math.Abs(float64(i%3-1)) / functions
			floor += math.Sqrt(2/math.Pi) * math.Sqrt((1-exact[i]*exact[i])/n) / functions
		}
		random := rand.New(rand.NewPCG(1, 2))
		values := make([]float64, some*functions)
		for i := range values {
			values[i] = random.NormFloat64()
			if same {
				values[i] = values[i/functions*functions]
			}
			values[i] += sums[i%functions] / n
		}
		looked := map[int]bool{}
		m := measure.Averages("averages", exact, sums, n, 0.5, func(mean float64) float64 { return 1 - mean*mean }, some, func(k, i int) float64 {
			require.Less(t, k, 64)
			looked[i] = true
			return values[k*functions+i]
		})
		require.Equal(t, "averages", m.Name)
		require.InDelta(t, want, m.Error, 1e-12)
		require.Equal(t, []float64{m.Error, 0.5}, []float64{m.Generated, m.Uncertainty})
		require.InEpsilon(t, floor, m.Floor, 1e-12)
		require.Len(t, looked, functions/2)
		sigma := floor / math.Sqrt(2/math.Pi)
		half := 0.0
		if same { // half-normal
			require.InEpsilon(t, 1.96*sigma, m.Quantile, 0.1)
			half = (2.2414 - 0.0313) / 2 * sigma
		} else { // 64 samples' fluctuations of 150 functions: far narrower
			require.Less(t, m.Quantile, 1.35*floor)
			require.Greater(t, m.Quantile, 1.03*floor)
			half = (m.Law.Quantile(0.975, floor) - m.Law.Quantile(0.025, floor)) / 2
		}
		require.InEpsilon(t, m.Error+half, m.Interval[1], 0.1)
		require.InDelta(t, max(0, 2*m.Error-m.Interval[1]), m.Interval[0], 1e-12)
	}
	// Fewer samples than are looked at, and one function without variance.
	m := measure.Averages("one", []float64{1}, []float64{2}, 2, 0, func(float64) float64 { return -1e-9 }, 2, func(int, int) float64 { return 1 })
	require.Equal(t, []float64{0, 0, 0}, []float64{m.Error, m.Floor, m.Quantile})
}

// TestAverageRows: an average's error, uncertainty and floor are relative to the absolute exact
// value where that is asked for.
func TestAverageRows(t *testing.T) {
	exact := measure.Estimate{Value: -4, Uncertainty: 0.2}
	m := measure.Average("a", exact, -5, 0.1, 0.04, false)
	require.Equal(t, measure.Metric{Name: "a", Exact: -4, Generated: -5, Error: 1, Interval: stat.Interval(-5, 0.1), Uncertainty: 0.2, Floor: 0.04, Quantile: stat.Null(nil).Quantile(0.95, 0.04)}, m)
	relative := measure.Average("a", exact, -5, 0.1, 0.04, true)
	require.Equal(t, measure.Metric{Name: "a", Exact: -4, Generated: -5, Error: 0.25, Relative: true, Interval: stat.Interval(-5, 0.1), Uncertainty: 0.05, Floor: 0.01, Quantile: stat.Null(nil).Quantile(0.95, 0.01)}, relative)
	require.InDelta(t, 0.04*math.Sqrt(math.Pi)*math.Erfinv(0.95), m.Quantile, 1e-15)
	law := stat.Null{1, 2}
	require.Equal(t, measure.Metric{Error: 3, Floor: 0.5, Law: law, Quantile: law.Quantile(0.95, 0)}, measure.Metric{Error: 3}.Judged(0.5, law))
}

// TestFiguresInFiles: figures that are not finite are kept in files.
func TestFiguresInFiles(t *testing.T) {
	infinite := math.Inf(1)
	metric := measure.Metric{Name: "a", Error: infinite, Interval: [2]float64{math.Inf(-1), 1}, Reweighted: &measure.Reweighted{Value: 2, StandardError: infinite}}
	weights := measure.Weights{Samples: 3, KL: infinite, Warning: "w"}
	for _, c := range []struct{ from, to any }{{metric, &measure.Metric{}}, {weights, &measure.Weights{}}, {*metric.Reweighted, &measure.Reweighted{}}} {
		text, err := json.Marshal(c.from)
		require.NoError(t, err)
		require.Contains(t, string(text), `"Infinity"`)
		require.NoError(t, json.Unmarshal(text, c.to))
		require.Equal(t, c.from, reflect.ValueOf(c.to).Elem().Interface())
	}
}
