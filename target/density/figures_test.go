package density

import (
	"context"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	gonum "gonum.org/v1/gonum/stat"

	"github.com/revgen/revgen/engine/catalogue"
	"github.com/revgen/revgen/engine/measure"
	"github.com/revgen/revgen/internal/pool"
	"github.com/revgen/revgen/internal/stat"
)

// TestFiguresOfTables computes the rows that chains are the reference of from the samples
// and from the chains' draws.
func TestFiguresOfTables(t *testing.T) {
	const samples = 800
	workers := pool.New(1)
	defer workers.Close()
	cfg, err := catalogue.Systems{RealsDefinition}.Configure("reals", "paper", "training.steps=0", "training.batch=64", "generator.hidden=[4]",
		"target.dim=9", "target.parameters={}", "target.expression=-sum(x^2)/2", "evaluation.samples=800")
	require.NoError(t, err)
	built, err := cfg.New(workers)
	require.NoError(t, err)
	s := built.(*system)
	params := make([]float32, s.NumParams())
	s.Initialize(params)
	e, err := s.Evaluate(t.Context(), params, samples)
	require.NoError(t, err)
	values, err := s.samplesOf(t.Context(), params, samples)
	require.NoError(t, err)
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	_, err = s.samplesOf(ended, params, samples)
	require.ErrorIs(t, err, context.Canceled)
	_, err = s.samplesOf(t.Context(), slices.Repeat([]float32{float32(math.NaN())}, len(params)), samples)
	require.EqualError(t, err, "a sample of the generator is not finite: its x0 is NaN")
	require.Equal(t, referenceChains, s.reference.chains)
	// 16 steps of the chains for each sample, half as many again before.
	require.Len(t, s.reference.values, samples*16/referenceChains*referenceChains*s.reference.width)
	rows := map[string]measure.Metric{}
	for _, m := range e.Metrics {
		rows[m.Name] = m
	}
	for name, of := range map[string]string{"mean_x0": "x0", "variance_x3": "x3", "mean_square": "mean_square", "mean_log_density": "log_density", "variance_log_density": "log_density"} {
		var sample, draws []float64
		for i := s.column(of); i < len(values); i += len(s.names) {
			sample = append(sample, values[i])
		}
		for i := s.column(of); i < len(s.reference.values); i += s.reference.width {
			draws = append(draws, s.reference.values[i])
		}
		if strings.HasPrefix(name, "variance") {
			centre := gonum.Mean(draws, nil)
			for _, list := range [][]float64{sample, draws} {
				for i, v := range list {
					list[i] = (v - centre) * (v - centre)
				}
			}
		}
		m := rows[name]
		mean, deviation := gonum.MeanStdDev(sample, nil)
		exact := gonum.Mean(draws, nil)
		half := 1.959964 * deviation / math.Sqrt(samples)
		require.InDelta(t, mean, m.Generated, 1e-9, name)
		require.InDelta(t, exact, m.Exact, 1e-9, name)
		require.InDelta(t, math.Abs(mean-exact), m.Error, 1e-9, name)
		require.InDeltaSlice(t, []float64{mean - half, mean + half}, m.Interval[:], 1e-6*half, name)
		chain := stat.Chains(draws, referenceChains)
		require.InEpsilon(t, chain.StandardError, m.Uncertainty, 1e-6, name)
		require.InEpsilon(t, math.Sqrt(2/math.Pi/samples)*chain.Deviation, m.Floor, 1e-6, name)
		require.InEpsilon(t, gonum.StdDev(draws, nil), chain.Deviation, 0.01, name)
	}
}
