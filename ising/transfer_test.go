package ising

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/revgen/revgen/engine/spins"
	"github.com/revgen/revgen/internal/long"
)

// asGraph returns a lattice's energy as that of spins on a graph.
func asGraph(t *testing.T, of Target) *spins.Graph {
	h := spins.Hamiltonian{Spins: of.N}
	for i := range of.N {
		x, y := i%of.L, i/of.L
		h.Edges = append(h.Edges,
			spins.Edge{I: i, J: y*of.L + (x+1)%of.L, Coupling: of.J},
			spins.Edge{I: i, J: (y+1)%of.L*of.L + x, Coupling: of.J})
		h.Fields = append(h.Fields, of.H)
	}
	g, err := spins.NewGraph(h)
	require.NoError(t, err)
	return g
}

// TestGraphsAreLattices holds the transfer matrix of a graph against counted
// configurations, the transfer matrix of rows and Kaufman's formula.
func TestGraphsAreLattices(t *testing.T) {
	long.SkipShort(t)
	sums := func(of Target) *spins.TransferAverages {
		m, err := spins.NewTransfer(asGraph(t, of))
		require.NoError(t, err)
		s, err := m.Sum(t.Context(), of.Beta, 2)
		require.NoError(t, err)
		return s
	}
	counted, err := CountStates(6)
	require.NoError(t, err)
	for _, of := range []Target{mustTarget(t, 6, 1, 0, 0.44), mustTarget(t, 6, -1, 0.2, 0.3)} {
		want, got := counted.Observables(of), sums(of)
		require.InDelta(t, want.LogZ, got.LogZ, 1e-10)
		require.InDelta(t, want.Energy, got.Energy, 1e-10)
		require.InDelta(t, want.SpecificHeat, got.SpecificHeat, 1e-9)
		require.InDelta(t, want.AbsMagnetisation, got.AbsMagnetisation, 1e-10)
		require.InDelta(t, want.Susceptibility, got.Susceptibility, 1e-9)
		for _, c := range got.EdgeCorrelations {
			require.InDelta(t, exactCorrelations(of)[0].Value, c, 1e-10)
		}
	}
	side := long.Or(8, 10) // which takes seconds
	want, err := Kaufman(side, 1, 0.42)
	require.NoError(t, err)
	got := sums(mustTarget(t, side, 1, 0, 0.42))
	require.InDelta(t, want.LogZ, got.LogZ, 1e-10)
	require.InDelta(t, want.Energy, got.Energy, 1e-9)
	require.InDelta(t, want.SpecificHeat, got.SpecificHeat, 1e-8)
}
