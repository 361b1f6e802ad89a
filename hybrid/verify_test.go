package hybrid

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/revgen/revgen/engine"
	"github.com/revgen/revgen/engine/systemtest"
	"github.com/revgen/revgen/internal/long"
	"github.com/revgen/revgen/internal/pool"
)

func TestVerify(t *testing.T) {
	long.SkipShort(t)
	names := systemtest.Checks(t, func(workers *pool.Pool, emit func(engine.Check)) error { return Verify(t.Context(), workers, emit) })
	require.Len(t, names, 18)

	workers := pool.New(1)
	defer workers.Close()
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	require.ErrorIs(t, Verify(ctx, workers, func(engine.Check) { t.Fatal("cancelled") }), context.Canceled)
}

// failures returns the names of the checks that failed.
func failures(checks ...engine.Check) (names []string) {
	for _, c := range checks {
		if !c.OK {
			names = append(names, c.Name)
		}
	}
	return names
}

func TestVerifyCatchesWrongConstants(t *testing.T) {
	target := paperTarget(t)
	target.wells[1].z *= 1 + 1e-11
	require.Equal(t, []string{"known_moments"}, failures(checkTarget(target)...))

	target = paperTarget(t)
	target.wells[0].mass[len(target.wells[0].mass)-1] += 1e-11
	require.Contains(t, failures(checkTarget(target)...), "normalising_constants")

	target = paperTarget(t)
	mass := target.wells[2].mass
	mass[len(mass)/2] += 0.01 // a jump at one node: no x has the levels in between
	require.Contains(t, failures(checkTarget(target)...), "quantiles")
}

// TestVerifyCatchesWrongMoments shifts one mode's samples by a little.
func TestVerifyCatchesWrongMoments(t *testing.T) {
	target := paperTarget(t)
	x, k := exactBatch(target, 1<<14, 1)
	require.Less(t, moments(target, x, k), 6.0)
	for i := range x {
		if k[i] == 1 {
			x[i] *= 1.01
		}
	}
	require.Greater(t, moments(target, x, k), 6.0)
}

// TestDensityIsThatOfTheEnergy compares what the kit is given with the target.
func TestDensityIsThatOfTheEnergy(t *testing.T) {
	target := paperTarget(t)
	f := newDensity(target)
	require.Equal(t, target.Modes(), f.Modes())
	x, k := exactBatch(target, 1000, 1)
	wide, narrow := make([]float64, len(x)), make([]float32, len(x))
	f.LogDensity64(wide, x, k)
	f.LogDensity(narrow, x, k)
	for i, v := range x {
		want := -target.Energy(float64(v), int(k[i])) - target.Well(int(k[i])).LogZ()
		require.InDelta(t, want, wide[i], 1e-12)
		require.InDelta(t, want, narrow[i], 1e-5)
	}
}
