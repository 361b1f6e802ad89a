package systemtest

import (
	"encoding/binary"
	"math"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/revgen/revgen/engine"
)

// evaluatesAndRefines gives a system's own samples back to it.
func evaluatesAndRefines(t *testing.T, cfg engine.Config, s engine.Sampler, params []float32) {
	t.Helper()
	const n, first, cut, refinement = 2 * engine.RefineBlock, 8 * engine.RefineBlock, engine.RefineBlock, 3
	whole := s.Formats()[0]
	scorer, ok := s.(engine.Scorer)
	if !ok {
		for _, f := range s.Formats()[1:] {
			require.True(t, f.Unrefined, "exact draws in a second format need a Scorer")
		}
		return
	}
	again := built(t, cfg, 2).(engine.Scorer)
	scores(t, scorer, again, s, params)
	var energies []float64 // of the same samples in any format
	for _, f := range s.Formats() {
		states := drawn(t, s, f, params, first, n, 0)
		agrees(t, scorer, again, f, states, &energies)
		if f.Unrefined {
			continue
		}
		from, to := drawn(t, s, whole, params, first, n, 0), make([]byte, n*f.RowBytes)
		require.NoError(t, scorer.Convert(to, f.Name, from))
		require.Equal(t, states, to, "samples as %s, turned into %s", whole.Name, f.Name)
		require.Error(t, scorer.Convert(to, f.Name, from[1:]), "a part of a state")
		require.Error(t, scorer.Convert(to, engine.Weighted, from), "weights of states alone")
		part := append([]byte(nil), states[cut*f.RowBytes:]...)
		if err := scorer.Refine(states, f.Name, first, refinement); err != nil {
			require.ErrorContains(t, err, "format", "of a format that lacks a part of the state")
			continue
		}
		want := drawn(t, s, f, params, first, n, refinement)
		require.Equal(t, want, states, "samples that are refined later, as %s", f.Name)
		require.NoError(t, again.Refine(part, f.Name, first+cut, refinement))
		require.Equal(t, want[cut*f.RowBytes:], part, "a part of them, as %s", f.Name)
		require.Error(t, scorer.Refine(part[1:], f.Name, first, refinement), "a part of a state")
		require.Error(t, scorer.Refine(part, f.Name, first, -1), "a negative refinement")
		require.Error(t, scorer.Refine(part, f.Name, math.MaxUint64-10, 1), "beyond the stream")
	}
	require.NotEmpty(t, energies, "no format holds all of a state")
}

func agrees(t *testing.T, w, other engine.Scorer, f engine.Format, states []byte, before *[]float64) {
	t.Helper()
	n := len(states) / f.RowBytes
	energies, again := make([]float64, n), make([]float64, n)
	beta, err := w.Energies(energies, f.Name, states)
	if err != nil {
		require.ErrorContains(t, err, "format", "of a format that lacks a part of the state")
		return
	}
	require.True(t, beta >= 0 && beta < math.Inf(1), "β = %v", beta)
	for i, e := range energies {
		require.False(t, math.IsNaN(e) || math.IsInf(e, 0), "the energy of sample %d is %v", i, e)
	}
	if *before != nil {
		require.Equal(t, *before, energies, "energies as %s", f.Name)
	}
	*before = energies
	_, err = other.Energies(again, f.Name, states)
	require.NoError(t, err)
	require.Equal(t, energies, again, "energies with 2 threads")
	_, err = w.Energies(energies[1:], f.Name, states)
	require.Error(t, err, "one state too many")
}

// scores compares what a system says of its own samples with its energies and weights.
func scores(t *testing.T, s, other engine.Scorer, sampler engine.Sampler, params []float32) {
	t.Helper()
	const n = 500
	f := sampler.Formats()[0]
	states := drawn(t, sampler, f, params, 0, n, 0)
	names := s.Observables()
	values, again, energies := make([]float64, n*len(names)), make([]float64, n*len(names)), make([]float64, n)
	require.NoError(t, s.Score(values, params, f.Name, states))
	require.NoError(t, other.Score(again, params, f.Name, states))
	require.Equal(t, values, again, "with 2 threads")
	beta, err := s.Energies(energies, f.Name, states)
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
	require.Error(t, s.Score(values[1:], params, f.Name, states), "one value too few")
	if names[len(names)-1] != engine.LogWeight {
		return
	}
	i := slices.IndexFunc(sampler.Formats(), func(f engine.Format) bool { return f.Name == engine.Weighted })
	require.GreaterOrEqual(t, i, 0, "a density without weights of samples")
	weighted := sampler.Formats()[i]
	rows := drawn(t, sampler, weighted, params, 0, n, 0)
	var constant float64
	for i := range n {
		log := math.Float64frombits(binary.LittleEndian.Uint64(rows[(i+1)*weighted.RowBytes-8:]))
		difference := values[(i+1)*len(names)-1] - log
		if i == 0 {
			constant = difference
		}
		require.InDelta(t, constant, difference, 2e-3*(1+math.Abs(log)), "ln w of sample %d, up to a constant", i)
	}
	require.NoError(t, s.Score(values, nil, f.Name, states))
	require.True(t, math.IsNaN(values[len(names)-1]), "no generator, no weight")
}
