package run_test

import (
	"context"
	"fmt"
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/revgen/revgen/engine"
	"github.com/revgen/revgen/engine/measure"
	"github.com/revgen/revgen/engine/run"
	"github.com/revgen/revgen/internal/stat"
)

// TestFloors: errors in units of those of exact samples, with that of the reference, and
// none where float32 may be to blame.
func TestFloors(t *testing.T) {
	for _, c := range []struct {
		m    measure.Metric
		want float64
	}{
		{measure.Metric{Error: 0.06, Floor: 0.02}, 3},
		{measure.Metric{Error: 0.1, Floor: 0.03, Uncertainty: 0.04 * math.Sqrt(math.Pi/2)}, 2},
		{measure.Metric{Exact: -20, Error: 1.9e-5, Floor: 1e-5}, 0},
		{measure.Metric{Exact: -20, Error: 2.1e-5, Floor: 1e-5}, 2.1},
		{measure.Metric{Exact: 0.1, Error: 0.9e-6, Floor: 1e-6}, 0},
		{measure.Metric{Exact: 0.1, Error: 1.1e-6, Floor: 1e-6}, 1.1},
		{measure.Metric{Exact: 20, Relative: true, Error: 0.9e-6, Floor: 1e-6}, 0},
		{measure.Metric{Exact: 20, Relative: true, Error: 1.1e-6, Floor: 1e-6}, 1.1},
	} {
		require.InDelta(t, c.want, c.m.Floors(), 1e-9, "%+v", c.m)
	}
	// Far at a level of 0.1 % of a table's rows: of one average 3.2905/0.7979 = 4.124 floors; by a
	// law of errors as far above 1 as its 95 % are, times 3.0902/1.6449; and half of 0.1 % of two.
	law := stat.NewNull([]float64{0.01, 0.02, 0.03})
	for _, c := range []struct {
		err, quantile float64
		law           stat.Null
		rows          int
		sound         bool
	}{
		{0.0412, 0, nil, 1, true}, {0.0413, 0, nil, 1, false}, {0.0413, 0, nil, 2, true}, {0.0437, 0, nil, 2, false},
		{0.087, 0.051, law, 1, true}, {0.0871, 0.051, law, 1, false}, {0.0299, 0.011, law, 1, true}, {0.0301, 0.011, law, 1, false},
	} {
		e := measure.Evaluation{Metrics: []measure.Metric{{Error: c.err, Floor: 0.01, Quantile: c.quantile, Law: c.law}}}
		for len(e.Metrics) < c.rows {
			e.Metrics = append(e.Metrics, measure.Metric{Error: 0.01, Floor: 0.01})
		}
		require.Equal(t, c.sound, len(e.Refuted()) == 0, "%v", c)
		e.Warn()
		require.Equal(t, c.sound, len(e.Warnings) == 0, "%v", c)
	}
	e := measure.Evaluation{Weights: &measure.Weights{Warning: "k̂"}}
	e.Warn()
	require.Equal(t, []string{"k̂"}, e.Warnings, "that of the weights")
}

// TestRejectedProposals: what a warning says of the first steps, and once.
func TestRejectedProposals(t *testing.T) {
	for acceptance, want := range map[float64]string{
		0.0099: "only 0.99 % of the proposals of the first 50 steps were accepted: the generator starts too far from the target",
		0.01:   "",
	} {
		for _, steps := range []int{150, 20} {
			c := newToy()
			c.Training.Steps, c.acceptance = steps, acceptance
			r, err := train(t, context.Background(), c, 1, run.Options{})
			require.NoError(t, err)
			if want == "" {
				require.Empty(t, r.Warnings)
				continue
			}
			require.Len(t, r.Warnings, 1)
			require.Contains(t, r.Warnings[0], "only 0.99 % of the proposals of the first "+fmt.Sprint(min(steps, 50))+" steps were accepted: the generator starts too far from the target")
		}
	}
}

// TestAnnealing: β rises along a straight line and then is 1.
func TestAnnealing(t *testing.T) {
	a := engine.Annealing{Anneal: 0.4, AnnealFrom: 0.2}
	require.NoError(t, a.Validate())
	for step, want := range map[int]float64{0: 0.2, 10: 0.4, 30: 0.8, 39: 0.98, 40: 1, 41: 1, 99: 1} {
		require.InDelta(t, want, a.At(step, 100), 1e-12, step)
	}
	require.Equal(t, 1.0, (&engine.Annealing{}).At(0, 100))
	for bad, key := range map[engine.Annealing]string{{Anneal: 1.1, AnnealFrom: 0.5}: "anneal:", {Anneal: 0.5, AnnealFrom: 1.1}: "anneal_from: 1.1 is more than 1", {Anneal: 0.5}: "anneal_from:"} {
		require.ErrorContains(t, bad.Validate(), key)
	}
	require.NoError(t, (&engine.Annealing{Anneal: 1, AnnealFrom: 1}).Validate())
}

// TestSentences: what a report says of how a generator was trained.
func TestSentences(t *testing.T) {
	for partners, want := range map[float64]string{
		0: "pairs (s, s′) are one sweep apart", 1: "pairs (s, s′) are independent samples",
		0.3: "pairs (s, s′): 70 % are one sweep apart, 30 % are independent samples",
	} {
		require.Equal(t, "trained by reversibility on its log density; loss ½ E (R(s) − R(s′))² with R = ln q − ln π; "+want, (&engine.Balancing{Partners: partners}).Explain(engine.Moves(1, "sweep")))
	}
	require.Equal(t, "3 steps", engine.Moves(3, "step"))
	require.Equal(t, "trained by reversibility on pairs of samples; loss: MMD between the laws of (s, s′) and (s′, s); s and s′ are 3 steps apart", engine.ByPairs("MMD", "3 steps"))
	var c engine.Count
	require.Zero(t, c.Rate())
	c.Add(engine.Count{Proposed: 8, Accepted: 2})
	c.Add(engine.Count{Proposed: 8, Accepted: 1})
	require.Equal(t, 3.0/16, c.Rate())
}
