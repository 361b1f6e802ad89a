package measure_test

import (
	"math"
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
			m := measure.Metric{Name: "mean", Exact: 2, Generated: 2.04, Error: 0.04, Floor: 0.01, Quantile: 0.025, Relative: relative, Uncertainty: c.uncertainty}
			if relative {
				m.Error, m.Floor, m.Quantile = m.Error/2, m.Floor/2, m.Quantile/2
			}
			m.Reweigh(c.weighted, 0.008, c.apart)
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
		{Name: "despite", Error: 0.06, Floor: 0.01, Uncertainty: 0.01},
		{Name: "infinite", Error: math.Inf(1), Floor: 0.01},
		{Name: "unjudged", Error: 0.05},
		{Name: "unknown", Exact: math.NaN(), Error: math.NaN()},
	}, Warnings: []string{"before"}}
	e.Warn()
	require.Equal(t, []string{
		"before",
		"far from the reference: far (0.05 where as many exact samples have 0.01, 5.0 times that); relative (5 % where as many exact samples have 1 %, 5.0 times that); despite (0.06 where as many exact samples have 0.013, 4.7 times that); infinite (infinite)",
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
