package systemtest

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/revgen/revgen/engine"
	"github.com/revgen/revgen/internal/pool"
)

// weighsAndRefines gives a system's own samples back to it.
func weighsAndRefines(t *testing.T, cfg engine.Config, s engine.Sampler, params []float32) {
	t.Helper()
	const n, first, cut, refinement = 2 * engine.RefineBlock, 8 * engine.RefineBlock, engine.RefineBlock, 3
	workers := pool.New(3)
	defer workers.Close()
	other, err := cfg.New(workers)
	require.NoError(t, err)
	var energies []float64 // of the same samples in any format
	for _, f := range s.Formats() {
		states := make([]byte, n*f.RowBytes)
		require.NoError(t, s.Sample(states, f.Name, params, first, n, 0))
		if w, ok := s.(engine.Weigher); ok {
			weighs(t, w, other.(engine.Weigher), f, states, &energies)
		}
		r, ok := s.(engine.Refiner)
		if !ok || f.Unrefined {
			continue
		}
		part := append([]byte(nil), states[cut*f.RowBytes:]...)
		if err := r.Refine(states, f.Name, first, refinement); err != nil {
			require.ErrorContains(t, err, "format", "of a format that lacks a part of the state")
			continue
		}
		want := make([]byte, n*f.RowBytes)
		require.NoError(t, s.Sample(want, f.Name, params, first, n, refinement))
		require.Equal(t, want, states, "samples that are refined later, as %s", f.Name)
		require.NoError(t, other.(engine.Refiner).Refine(part, f.Name, first+cut, refinement))
		require.Equal(t, want[cut*f.RowBytes:], part, "a part of them, as %s", f.Name)
		require.Error(t, r.Refine(part[1:], f.Name, first, refinement), "a part of a state")
		require.Error(t, r.Refine(part, f.Name, first, -1), "a negative refinement")
		require.Error(t, r.Refine(part, f.Name, math.MaxUint64-10, 1), "beyond the stream")
	}
	if _, ok := s.(engine.Weigher); ok {
		require.NotEmpty(t, energies, "no format holds all of a state")
	}
}

func weighs(t *testing.T, w, other engine.Weigher, f engine.Format, states []byte, before *[]float64) {
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
	require.Equal(t, energies, again, "energies with 3 threads")
	_, err = w.Energies(energies[1:], f.Name, states)
	require.Error(t, err, "one state too many")
}
