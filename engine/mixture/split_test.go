package mixture

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/revgen/revgen/engine/rng"
	"github.com/revgen/revgen/internal/long"
)

// modes returns points of Gaussians of deviation 1 about the given centres, as many of
// each, with the ln π of their mixture.
func modes(centres [][2]float64, each int) *Found {
	r := rand.New(rand.NewPCG(3, 4))
	found := &Found{}
	for range each {
		for _, c := range centres {
			found.X = append(found.X, float32(c[0]+r.NormFloat64()), float32(c[1]+r.NormFloat64()))
		}
	}
	for i := 0; i < len(found.X); i += 2 {
		var sum float64
		for _, c := range centres {
			sum += math.Exp(-math.Pow(math.Hypot(float64(found.X[i])-c[0], float64(found.X[i+1])-c[1]), 2) / 2)
		}
		found.LogPi = append(found.LogPi, math.Log(sum))
	}
	return found
}

// TestPlaceFindsPairs: modes that are so near each other that their points alone hardly
// tell them from one have a component each if there are enough, and so many are asked for.
func TestPlaceFindsPairs(t *testing.T) {
	long.SkipShort(t)
	var centres [][2]float64
	for i := range 20 {
		x, y := 20*float64(i%5), 20*float64(i/5)
		centres = append(centres, [2]float64{x, y}, [2]float64{x + 4, y})
	}
	found := modes(centres, 51)
	c := rng.Stream(1, rng.Scouting, 1)
	look := found.Look(t.Context(), 2, &c)
	require.False(t, look.Gaussian)
	require.GreaterOrEqual(t, look.Components, len(centres))
	require.LessOrEqual(t, look.Components, 2*Many-8)
	all := found.Place(t.Context(), 2, look.Components, &c)
	require.Len(t, all, look.Components)
	var weight float64
	for _, at := range centres {
		nearest := math.Inf(1)
		for _, one := range all {
			nearest = min(nearest, math.Hypot(one.Mean[0]-at[0], one.Mean[1]-at[1]))
		}
		require.Less(t, nearest, 1.0, "the mode at %v has no component", at)
	}
	for _, one := range all {
		weight += one.Weight
	}
	require.InDelta(t, 1, weight, 1e-9)
}

// TestLookWantsNoMore: where Many Gaussians leave little unexplained, no more are asked
// for, however flat or narrow the target is.
func TestLookWantsNoMore(t *testing.T) {
	found := modes([][2]float64{{0, 0}, {30, 0}, {0, 30}}, 680)
	c := rng.Stream(1, rng.Scouting, 1)
	require.Equal(t, Many, found.Look(t.Context(), 2, &c).Components)
}

// TestPlaceOfAnyNumber: there are as many components as asked for, even where no points
// are left to split.
func TestPlaceOfAnyNumber(t *testing.T) {
	found := modes([][2]float64{{0, 0}, {5, 5}}, 40)
	c := rng.Stream(1, rng.Scouting, 1)
	for _, n := range []int{1, 13, 32, 33, 200} {
		all := found.Place(t.Context(), 2, n, &c)
		require.Len(t, all, n)
		for _, one := range all {
			require.Positive(t, one.Weight)
			require.Positive(t, one.Factor[0])
			require.False(t, math.IsNaN(one.Mean[0]+one.Factor[1]+one.Factor[2]))
		}
	}
}
