package hybrid

import (
	"context"
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/revgen/revgen/engine"
	"github.com/revgen/revgen/engine/systemtest"
	"github.com/revgen/revgen/internal/long"
	"github.com/revgen/revgen/internal/pool"
	"github.com/revgen/revgen/internal/stat"
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

// failures returns the names of the target's checks that fail.
func failures(target *Target) (names []string) {
	checkTarget(func(c engine.Check) {
		if !c.OK {
			names = append(names, c.Name)
		}
	}, target)
	return names
}

func TestVerifyCatchesWrongConstants(t *testing.T) {
	target := paperTarget(t)
	target.wells[1].z *= 1 + 1e-11
	require.Equal(t, []string{"known_moments"}, failures(target))

	target = paperTarget(t)
	target.wells[0].mass[len(target.wells[0].mass)-1] += 1e-11
	require.Contains(t, failures(target), "normalising_constants")

	target = paperTarget(t)
	mass := target.wells[2].mass
	mass[len(mass)/2] += 0.01 // a jump at one node: no x has the levels in between
	require.Contains(t, failures(target), "quantiles")
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

// TestMoments: the largest deviation is that of whichever statistic is off: how many samples a mode
// has, how many are right of 0, the mean size or the mean square.
func TestMoments(t *testing.T) {
	target := paperTarget(t)
	for k, spoil := range []func(i int, x *float32, mode *uint8){
		func(int, *float32, *uint8) {},
		func(i int, _ *float32, mode *uint8) {
			if *mode == 2 && i%4 == 0 {
				*mode = 1
			}
		},
		func(i int, x *float32, mode *uint8) {
			if *mode == 0 && i%3 == 0 {
				*x = float32(math.Abs(float64(*x)))
			}
		},
		func(_ int, x *float32, mode *uint8) {
			if *mode == 1 {
				*x *= 1.003
			}
		},
		func(i int, x *float32, mode *uint8) {
			if *mode == 0 && i%100 == 0 {
				*x *= 2
			}
		},
	} {
		x, modes := exactBatch(target, 1<<13, 3)
		for i := range x {
			spoil(i, &x[i], &modes[i])
		}
		var worst float64
		for mode := range 3 {
			var in, right, size, square stat.Mean
			for i, v := range x {
				there := modes[i] == uint8(mode)
				in.Add(map[bool]float64{true: 1}[there])
				if v := float64(v); there {
					right.Add(map[bool]float64{true: 1}[v > 0])
					size.Add(math.Abs(v))
					square.Add(v * v)
				}
			}
			for _, of := range []struct {
				mean stat.Mean
				want float64
			}{{in, 1. / 3}, {right, 0.5}, {size, paperWells[mode].meanAbs}, {square, paperWells[mode].meanSquare}} {
				worst = max(worst, math.Abs(of.mean.Value()-of.want)/of.mean.StandardError())
			}
		}
		require.InEpsilon(t, worst, moments(target, x, modes), 1e-3, k)
	}
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
