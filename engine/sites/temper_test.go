package sites

import (
	"context"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	gonum "gonum.org/v1/gonum/stat"

	"github.com/revgen/revgen/engine/chains"
	"github.com/revgen/revgen/engine/rng"
	"github.com/revgen/revgen/internal/pool"
)

func TestLadders(t *testing.T) {
	// σ falls as 1 − β/2: the length to β is β − β²/4.
	betas, deviations := make([]float64, 101), make([]float64, 101)
	for k := range betas {
		betas[k] = float64(k) / 100
		deviations[k] = 1 - betas[k]/2
	}
	for k, b := range equidistant(betas, ladderLength(betas, deviations), 6) {
		require.InDelta(t, 0.75*float64(k)/5, b-b*b/4, 1e-4)
	}
	ends := []float64{0, 1}
	require.Equal(t, []float64{0, 0.5, 1}, equidistant(ends, ladderLength(ends, []float64{0, 0}), 3))
	require.Equal(t, []int{0, 0, 1, 2, 2}, nearestLevels([]float64{0, 0.5, 1}, []float64{0, 0.2, 0.4, 0.9, 2}))
}

// tempered is an ensemble whose energies vary by some.
func tempered(workers *pool.Pool) *Ensemble[byte] {
	e, _ := ensemble(workers, 64)
	e.Energy = func(dst []float64, batch []byte) {
		for i := range dst {
			dst[i] = float64(batch[3*i]%16) + float64(batch[3*i+1]%8)
		}
	}
	return e
}

// many are as many sites as it says.
type many struct {
	bytes3
	sites int
}

func (m many) Sites() int { return m.sites }

// TestTemper: a ladder is that of four stages, each of which measures the energy's variance in
// its second half. Chains go on where they were at the nearest temperature, with draws that were
// not used before.
func TestTemper(t *testing.T) {
	workers := pool.New(2)
	defer workers.Close()
	const n, steps = 150, 90
	e := tempered(workers)
	for _, c := range []struct {
		of            rng.Purpose
		sites, levels int // at first, the root of the sites
	}{{0, 3, 4}, {rng.OfReference, 30, 5}, {0, 1 << 20, 32}} {
		e.States = many{sites: c.sites}
		got, err := e.Temper(t.Context(), c.of, n, steps)
		require.NoError(t, err)
		var betas []float64
		for k := range c.levels {
			betas = append(betas, 0.5*float64(k)/float64(c.levels-1))
		}
		l, err := e.newLadder(betas, n, c.of, func(level int, batch []byte) {
			bytes3{}.Disperse(batch, nil, uint64(level*n))
		})
		require.NoError(t, err)
		for stage := range 4 {
			seen := make([][]float64, len(l.betas))
			for step := range 11 {
				require.NoError(t, l.Advance(t.Context(), 1))
				for k, energies := range l.energies {
					if step >= 5 {
						seen[k] = append(seen[k], energies...)
					}
				}
			}
			require.EqualValues(t, 11*(stage+1), l.steps)
			length, sigma := []float64{0}, []float64{}
			for k := range l.betas {
				sigma = append(sigma, gonum.StdDev(seen[k], nil))
			}
			least := slices.Max(sigma) / 50
			for k := 1; k < len(l.betas); k++ {
				length = append(length, length[k-1]+(max(sigma[k], least)+max(sigma[k-1], least))/2*(l.betas[k]-l.betas[k-1]))
			}
			next := equidistant(l.betas, length, max(2, 1+int(math.Ceil(length[len(length)-1]/1.2))))
			old := l
			l, err = e.newLadder(next, n, c.of, func(level int, batch []byte) {
				copy(batch, old.observed[nearestLevels(old.betas, next)[level]].Batch)
			})
			require.NoError(t, err)
			l.steps = old.steps
		}
		require.NoError(t, l.Advance(t.Context(), 46))
		require.InDeltaSlice(t, l.betas, got.Betas(), 1e-9)
		require.EqualValues(t, steps, got.steps)
		for k := range l.observed {
			require.Equal(t, l.Level(k).(*Observed[byte]).Batch, got.Level(k).(*Observed[byte]).Batch)
		}
		lo, hi := got.Level(0).Own()
		require.Equal(t, []int{0, n}, []int{lo, hi})
		batch, energies := got.Coldest()
		require.Equal(t, l.observed[len(l.observed)-1].Batch, batch)
		require.Equal(t, l.energies[len(l.observed)-1], energies)
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	for _, beta := range []float64{0, 1} {
		e.Beta = beta
		_, err := e.Temper(ended, 0, n, steps)
		require.ErrorIs(t, err, context.Canceled)
	}
	e.Beta = 9
	_, err := e.Temper(t.Context(), 0, n, steps)
	require.EqualError(t, err, "inverse temperature 9: too cold")
}

// TestTemperAtInfiniteTemperature has one level.
func TestTemperAtInfiniteTemperature(t *testing.T) {
	workers := pool.New(1)
	defer workers.Close()
	e := tempered(workers)
	e.Beta = 0
	l, err := e.Temper(t.Context(), 0, 64, 64)
	require.NoError(t, err)
	require.Equal(t, []float64{0}, l.Betas())
	require.EqualValues(t, 64, l.steps)
	steps := 0
	z, err := l.Measure(t.Context(), 3, 7, func(step int) {
		require.Equal(t, steps, step)
		steps++
	})
	require.NoError(t, err)
	require.Equal(t, 3, steps)
	require.EqualValues(t, 67, l.steps)
	require.Equal(t, []float64{7, 0}, []float64{z.Value, z.Uncertainty})
}

// TestTemperedWalk: chains begin far apart, and are the coldest ones of replica exchange from the
// first step on.
func TestTemperedWalk(t *testing.T) {
	workers := pool.New(2)
	defer workers.Close()
	e := tempered(workers)
	for _, n := range []int{10, 64, 70} {
		e.Tempered = true
		w, err := e.Chains([]float32{4}, n)
		require.NoError(t, err)
		levels := w.(chains.LevelledWalk).Levels
		require.Equal(t, 1, levels())
		states, want := make([]byte, 3*n), make([]byte, 3*n)
		require.NoError(t, w.States(states, "plain"))
		bytes3{}.Disperse(want, nil, 0)
		require.Equal(t, want, states)
		ended, cancel := context.WithCancel(t.Context())
		cancel()
		require.ErrorIs(t, w.Advance(ended, 1), context.Canceled)
		require.Equal(t, 1, levels())
		require.NoError(t, w.Advance(t.Context(), 3))
		require.NoError(t, w.Advance(t.Context(), 2))
		l, err := e.Temper(t.Context(), 0, n, 256)
		require.NoError(t, err)
		require.NoError(t, l.Advance(t.Context(), 5))
		require.NoError(t, w.States(states, "plain"))
		want, _ = l.Coldest()
		require.Equal(t, want, states)
		require.Equal(t, len(l.Betas()), levels())
		require.ErrorIs(t, w.Advance(ended, 1), context.Canceled)
		values := make([]float64, 3*n)
		w.Observe(values)
		require.Equal(t, []float64{float64(states[0]), number(states), -number(states) / 4}, values[:3])
	}
}

// TestMeasure: ln Z is that of the energies after each step, of the halves of the steps apart.
func TestMeasure(t *testing.T) {
	workers := pool.New(2)
	defer workers.Close()
	const n, steps = 70, 11
	e := tempered(workers)
	run := func() *Ladder[byte] {
		l, err := e.Temper(t.Context(), 0, n, 64)
		require.NoError(t, err)
		return l
	}
	l, again := run(), run()
	require.Greater(t, len(l.betas), 2)
	b := newBridge(l.betas, n)
	got, err := again.Measure(t.Context(), steps, 3, func(step int) {
		require.NoError(t, l.Advance(t.Context(), 1))
		want, _ := l.Coldest()
		batch, _ := again.Coldest()
		require.Equal(t, want, batch)
		half := 0
		if step >= 6 {
			half = n
		}
		for level, energies := range l.energies {
			for i, x := range energies {
				if step == 0 && i == 0 {
					b.origin[level] = x
				}
				if level < len(l.betas)-1 {
					b.up[level][half+i] += math.Exp(-(l.betas[level+1] - l.betas[level]) / 2 * (x - b.origin[level]))
				}
				if level > 0 {
					b.down[level][half+i] += math.Exp((l.betas[level] - l.betas[level-1]) / 2 * (x - b.origin[level-1]))
				}
			}
		}
	})
	require.NoError(t, err)
	want := b.logZ(3)
	require.InDelta(t, want.Value, got.Value, 1e-12)
	require.InEpsilon(t, want.Uncertainty, got.Uncertainty, 1e-9)
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	_, err = l.Measure(ended, steps, 3, nil)
	require.ErrorIs(t, err, context.Canceled)
}

// TestFiguresOfBridges: ln Z from sums at three levels, and its error by leaving out one
// ladder after the other. Halves of the rounds that are far apart widen it by that.
func TestFiguresOfBridges(t *testing.T) {
	const ladders, first = 128, 7 * math.Ln2
	b := newBridge([]float64{0, 0.5, 0.8}, ladders)
	copy(b.origin, []float64{-3, 2})
	random := rand.New(rand.NewPCG(1, 2))
	for k := range 3 {
		for i := range b.up[k] {
			b.up[k][i], b.down[k][i] = 1+random.Float64(), 2+random.Float64()
		}
	}
	without := func(x []float64, i int) []float64 { // of sums over both halves
		return slices.Delete(slices.Delete(slices.Clone(x), ladders+i, ladders+i+1), i, i+1)
	}
	logZ := func(of func(x []float64) []float64) float64 {
		ratio := func(k int) float64 { return math.Log(gonum.Mean(of(b.up[k]), nil) / gonum.Mean(of(b.down[k+1]), nil)) }
		return first + ratio(0) - 0.5*-3 + ratio(1) - 0.3*2
	}
	got := b.logZ(first)
	require.InDelta(t, logZ(func(x []float64) []float64 { return x }), got.Value, 1e-12)
	var all []float64
	for i := range ladders {
		all = append(all, logZ(func(x []float64) []float64 { return without(x, i) }))
	}
	jackknife := func(all []float64) float64 { return math.Sqrt((ladders - 1) * gonum.PopVariance(all, nil)) }
	require.InEpsilon(t, jackknife(all), got.Uncertainty, 1e-9)

	for i := range ladders {
		b.up[1][ladders+i] *= 1.5
	}
	got = b.logZ(first)
	one := logZ(func(x []float64) []float64 { return x[:ladders] })
	other := logZ(func(x []float64) []float64 { return x[ladders:] })
	require.Greater(t, other-one, 0.3)
	all = nil
	for i := range ladders {
		all = append(all, logZ(func(x []float64) []float64 { return without(x, i) }))
	}
	require.InEpsilon(t, math.Hypot(jackknife(all), other-one), got.Uncertainty, 1e-9)
	require.True(t, one < got.Value && got.Value < other)
}
