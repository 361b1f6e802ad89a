package systemtest

import (
	"encoding/binary"
	"math"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/revgen/revgen/engine"
)

// testScorer requires that a Scorer computes the same energies of samples in any format, on any
// number of threads, converts them to the samples that are drawn in other formats, and refines
// them to the samples that are drawn refined.
func testScorer(t *testing.T, cfg engine.Config, s engine.Sampler, params []float32) {
	t.Helper()
	const n, first, cut, refinement = 2 * engine.RefineBlock, 8 * engine.RefineBlock, engine.RefineBlock, 3
	standard := s.Formats()[0]
	scorer, ok := s.(engine.Scorer)
	if !ok {
		for _, f := range s.Formats()[1:] {
			require.True(t, f.Unrefined, "exact draws in a second format need a Scorer")
		}
		return
	}
	twoThreads := newSystem(t, cfg, 2).(engine.Scorer)
	testScores(t, scorer, twoThreads, s, params)
	unrefined, refined := span{first: first, n: n}, span{first: first, n: n, refine: refinement}
	var energies []float64 // of the same samples in every format
	for _, f := range s.Formats() {
		states := samplesOf(t, s, f, params, unrefined)
		testEnergies(t, scorer, twoThreads, f, states, &energies)
		if f.Unrefined {
			continue
		}
		from, to := samplesOf(t, s, standard, params, unrefined), make([]byte, n*f.RowBytes)
		require.NoError(t, scorer.Convert(to, f.Name, from))
		require.Equal(t, states, to, "samples as %s, turned into %s", standard.Name, f.Name)
		require.Error(t, scorer.Convert(to, f.Name, from[1:]), "a part of a state")
		require.Error(t, scorer.Convert(to, engine.Weighted, from), "weights of states alone")
		part := append([]byte(nil), states[cut*f.RowBytes:]...)
		if err := scorer.Refine(states, f.Name, first, refinement); err != nil {
			require.ErrorContains(t, err, "format", "of a format that lacks a part of the state")
			continue
		}
		want := samplesOf(t, s, f, params, refined)
		require.Equal(t, want, states, "samples that are refined later, as %s", f.Name)
		require.NoError(t, twoThreads.Refine(part, f.Name, first+cut, refinement))
		require.Equal(t, want[cut*f.RowBytes:], part, "a part of them, as %s", f.Name)
		require.Error(t, scorer.Refine(part[1:], f.Name, first, refinement), "a part of a state")
		require.Error(t, scorer.Refine(part, f.Name, first, -1), "a negative refinement")
		require.Error(t, scorer.Refine(part, f.Name, math.MaxUint64-10, 1), "beyond the stream")
	}
	require.NotEmpty(t, energies, "no format holds all of a state")
}

// testEnergies requires that both scorers compute the same finite energies of states, equal to previous
// unless that is nil. It sets previous to them.
func testEnergies(t *testing.T, scorer, twoThreads engine.Scorer, f engine.Format, states []byte, previous *[]float64) {
	t.Helper()
	n := len(states) / f.RowBytes
	energies, again := make([]float64, n), make([]float64, n)
	beta, err := scorer.Energies(energies, f.Name, states)
	if err != nil {
		require.ErrorContains(t, err, "format", "of a format that lacks a part of the state")
		return
	}
	require.True(t, beta >= 0 && beta < math.Inf(1), "β = %v", beta)
	for i, e := range energies {
		require.False(t, math.IsNaN(e) || math.IsInf(e, 0), "the energy of sample %d is %v", i, e)
	}
	if *previous != nil {
		require.Equal(t, *previous, energies, "energies as %s", f.Name)
	}
	*previous = energies
	_, err = twoThreads.Energies(again, f.Name, states)
	require.NoError(t, err)
	require.Equal(t, energies, again, "energies with 2 threads")
	_, err = scorer.Energies(energies[1:], f.Name, states)
	require.Error(t, err, "one state too many")
}

// testScores compares the observables of samples with their energies and weights.
func testScores(t *testing.T, scorer, twoThreads engine.Scorer, sampler engine.Sampler, params []float32) {
	t.Helper()
	const n = 500
	f := sampler.Formats()[0]
	states := samplesOf(t, sampler, f, params, span{n: n})
	names := scorer.Observables()
	values, again, energies := make([]float64, n*len(names)), make([]float64, n*len(names)), make([]float64, n)
	require.NoError(t, scorer.Score(values, params, f.Name, states))
	require.NoError(t, twoThreads.Score(again, params, f.Name, states))
	require.Equal(t, values, again, "with 2 threads")
	beta, err := scorer.Energies(energies, f.Name, states)
	require.NoError(t, err)
	for j, name := range names {
		for i, e := range energies {
			v := values[i*len(names)+j]
			switch name {
			case "energy":
				require.InEpsilon(t, 1+math.Abs(e), 1+math.Abs(v), 1e-6)
			case "log_density":
				require.InDelta(t, -beta*e, v, 1e-4*(1+math.Abs(e)))
			}
			require.False(t, math.IsNaN(v), "%s of sample %d", name, i)
		}
	}
	require.Error(t, scorer.Score(values[1:], params, f.Name, states), "one value too few")
	if names[len(names)-1] != engine.LogWeight {
		return
	}
	i := slices.IndexFunc(sampler.Formats(), func(f engine.Format) bool { return f.Name == engine.Weighted })
	require.GreaterOrEqual(t, i, 0, "a density without weights of samples")
	weighted := sampler.Formats()[i]
	rows := samplesOf(t, sampler, weighted, params, span{n: n})
	var constant float64
	for i := range n {
		logWeight := math.Float64frombits(binary.LittleEndian.Uint64(rows[(i+1)*weighted.RowBytes-8:]))
		difference := values[(i+1)*len(names)-1] - logWeight
		if i == 0 {
			constant = difference
		}
		require.InDelta(t, constant, difference, 2e-3*(1+math.Abs(logWeight)), "ln w of sample %d, up to a constant", i)
	}
	require.NoError(t, scorer.Score(values, nil, f.Name, states))
	require.True(t, math.IsNaN(values[len(names)-1]), "no generator, no weight")
}
