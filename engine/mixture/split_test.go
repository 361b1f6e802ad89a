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

// TestDomains: points belong to their likeliest component, whose domain contributes what a quadratic
// function leaves of ln π, with its weight, or next to nothing where that cannot be told.
func TestDomains(t *testing.T) {
	const d, k = 2, 3
	r := rand.New(rand.NewPCG(5, 6))
	var x []float32
	var logPi []float64
	for i := range 61 { // 30, 20 and 11 points, of which the last do not tell: 12 would
		owner := 0
		if i >= 30 {
			owner = 1
		}
		if i >= 50 {
			owner = 2
		}
		x = append(x, float32(20*owner)+float32(r.NormFloat64()), float32(r.NormFloat64()))
		v := -float64(x[2*i]*x[2*i]) / 2
		if owner == 0 {
			v += math.Sin(3 * float64(x[2*i]))
		}
		logPi = append(logPi, v)
	}
	f := newFit(t.Context(), x, d, k)
	for j := range f.components {
		f.components[j] = Component{float64(j+1) / 6, []float64{float64(20 * j), 0}, []float64{1, 0, 1}}
	}
	f.expect()
	all := f.domains(logPi)
	require.Len(t, all, k)
	from := 0
	for j, size := range []int{30, 20, 11} {
		require.Equal(t, x[from*d:(from+size)*d], all[j].x)
		require.Equal(t, logPi[from:from+size], all[j].logPi)
		from += size
	}
	left, _ := (&Found{X: all[0].x, LogPi: all[0].logPi}).unexplained(d)
	require.InDelta(t, left/6, all[0].residual, 1e-12)
	require.Greater(t, left, 0.1)
	require.InDelta(t, 0, all[1].residual, 1e-6, "it is quadratic")
	require.InEpsilon(t, 0.5e-12, all[2].residual, 1e-9)

	// One component is split where more is left than a level, as often as asked for.
	for _, c := range []struct {
		most  int
		level float64
		want  int
	}{{3, 0, 3}, {4, left/6 + 1e-9, 3}, {4, left/6 - 1e-9, 4}, {4, left / 60, 4}} {
		g := newFit(t.Context(), x, d, k)
		copy(g.components, f.components)
		stream := rng.Stream(1, rng.Scouting, 1)
		g.grow(logPi, c.most, c.level, &stream, 0)
		require.Len(t, g.components, c.want, c)
		var sum float64
		for _, one := range g.components {
			sum += one.Weight
		}
		require.InDelta(t, 1, sum, 1e-9)
	}
}

// TestHalves: a domain of enough points is split where they lie apart, and one of fewer beside its
// middle; the halves have the weight of the whole.
func TestHalves(t *testing.T) {
	const d = 2
	whole := Component{0.3, []float64{0, 0}, []float64{6, 0, 1}}
	r := rand.New(rand.NewPCG(7, 8))
	for _, n := range []int{2*(d+2) - 1, 2 * (d + 2)} {
		one := domain{logPi: make([]float64, n)}
		for i := range n {
			one.x = append(one.x, float32(6*(2*(i%2)-1))+0.1*float32(r.NormFloat64()), 0.1*float32(r.NormFloat64()))
		}
		stream := rng.Stream(1, rng.Scouting, 1)
		parts := one.halves(d, whole, &stream, 0)
		require.InDelta(t, 0.3, parts[0].Weight+parts[1].Weight, 1e-9)
		require.InDelta(t, 0.15, parts[0].Weight, 1e-6)
		at := 3.0
		if n == 2*(d+2) {
			at = 6
		}
		require.InDelta(t, at, math.Abs(parts[0].Mean[0]), 0.2)
		require.InDelta(t, 0, parts[0].Mean[0]+parts[1].Mean[0], 0.4)
	}
}
