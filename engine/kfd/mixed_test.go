package kfd

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/revgen/revgen/asm"
	"github.com/revgen/revgen/internal/alloctest"
	"github.com/revgen/revgen/internal/pool"
)

// jumps returns n states of a coordinate and a mode and where a step takes
// them.
func jumps(n, dim, modes int, seed uint64) (x, y []float32, k, l []uint8) {
	r := rand.New(rand.NewPCG(seed, 1))
	x, y = walk(n, dim, seed)
	k, l = make([]uint8, n), make([]uint8, n)
	for i := range k {
		k[i] = uint8(r.IntN(modes))
		l[i] = k[i]
		if r.IntN(2) == 0 {
			l[i] = uint8(r.IntN(modes))
		}
	}
	return x, y, k, l
}

func newMixed(t *testing.T, n, dim, modes, features int, workers *pool.Pool) *Mixed {
	t.Helper()
	m, err := NewMixed(n, dim, modes, Features{Number: features, Scale: 0.7, Range: 1}, Config{Ridge: 1e-2, Memory: 0.9, Every: 1}, 3, workers)
	require.NoError(t, err)
	return m
}

func TestMixedAgainstNaive(t *testing.T) {
	before, _, _ := asm.Active()
	defer func() { require.NoError(t, asm.Use(before)) }()
	workers := pool.New(2)
	defer workers.Close()
	for _, path := range asm.Supported() {
		require.NoError(t, asm.Use(path))
		for _, c := range []struct{ n, dim, modes, features int }{{2, 1, 1, 1}, {63, 1, 2, 5}, {65, 3, 3, 16}, {501, 1, 3, 20}, {501, 2, 3, 20}, {700, 5, 6, 9}} {
			m := newMixed(t, c.n, c.dim, c.modes, c.features, workers)
			x, y, k, l := jumps(c.n, c.dim, c.modes, 5)
			loss := m.Fit(x, y, k, l)
			want, g := m.Naive(widen(x), widen(y), k, l)
			require.InDelta(t, want, loss, 2e-4*(math.Abs(want)+0.01), "%v %+v", path, c)

			// Two points of each sample, in pieces that cut across the halves.
			points := make([]float32, 2*c.n*c.dim)
			for i := range c.n {
				for j, v := range x[i*c.dim : (i+1)*c.dim] {
					points[2*i*c.dim+j], points[(2*i+1)*c.dim+j] = v, -v
				}
			}
			value, slope := make([]float32, 2*c.n*c.modes), make([]float32, 2*c.n*c.modes*c.dim)
			for lo := 0; lo < c.n; lo += 100 {
				hi := min(lo+100, c.n)
				m.Evaluate(value[2*lo*c.modes:2*hi*c.modes], slope[2*lo*c.modes*c.dim:2*hi*c.modes*c.dim], points[2*lo*c.dim:2*hi*c.dim],
					make([]float32, m.ScratchLen(2*(hi-lo))), lo, hi, 2)
			}
			var largest, steepest, worst, tilt, fitted float64
			const h = 1e-5
			wide := widen(points)
			for at := range 2 * c.n {
				i, point := at/2, wide[at*c.dim:(at+1)*c.dim]
				naive := g[m.half(i)]
				for mode := range c.modes {
					got, want := float64(value[at*c.modes+mode]), naive(point, mode)
					largest, worst = max(largest, math.Abs(want)), max(worst, math.Abs(got-want))
					fitted = max(fitted, math.Abs(got-m.Value(i, point, mode)))
					for j, v := range point {
						point[j] = v + h
						up := naive(point, mode)
						point[j] = v - h
						wantSlope := (up - naive(point, mode)) / (2 * h)
						point[j] = v
						steepest = max(steepest, math.Abs(wantSlope))
						tilt = max(tilt, math.Abs(float64(slope[(at*c.modes+mode)*c.dim+j])-wantSlope))
					}
				}
			}
			require.Less(t, worst, 1e-3*largest, "%v %+v", path, c)
			require.Less(t, tilt, 1e-3*steepest, "%v %+v", path, c)
			require.Less(t, fitted, 1e-5*largest, "%v %+v", path, c)
		}
	}
}

// TestMixedFindsModes: where the states' law differs from the equilibrium of
// their moves in the modes' weights alone, g is the logarithm of the ratio.
func TestMixedFindsModes(t *testing.T) {
	workers := pool.New(2)
	defer workers.Close()
	const n, modes, steps = 8192, 3, 40
	m, err := NewMixed(n, 1, modes, Features{Number: 24, Scale: 1, Range: 1}, Config{Ridge: 1e-4, Memory: 0.95, Every: 1}, 1, workers)
	require.NoError(t, err)
	r := rand.New(rand.NewPCG(1, 2))
	weights := [modes]float64{0.36, 0.34, 0.30}
	x, y, k, l := make([]float32, n), make([]float32, n), make([]uint8, n), make([]uint8, n)
	value, slope, scratch := make([]float32, n*modes), make([]float32, n*modes), make([]float32, m.ScratchLen(n))
	var mean [modes]float64
	for range steps {
		for i := range x {
			x[i] = float32(r.NormFloat64())
			k[i] = uint8(modes - 1)
			if u := r.Float64(); u < weights[0] {
				k[i] = 0
			} else if u < weights[0]+weights[1] {
				k[i] = 1
			}
			// Independent of where it was: the moves' equilibrium is uniform.
			y[i], l[i] = float32(r.NormFloat64()), uint8(r.IntN(modes))
		}
		m.Fit(x, y, k, l)
		m.Evaluate(value, slope, x, scratch, 0, n, 1)
		for i, v := range value {
			mean[i%modes] += float64(v) / (n * steps)
		}
	}
	require.InDelta(t, math.Log(weights[0]/weights[1]), mean[0]-mean[1], 0.02)
	require.InDelta(t, math.Log(weights[1]/weights[2]), mean[1]-mean[2], 0.02)
}

func TestMixedProperties(t *testing.T) {
	const n, modes = 333, 3
	x, y, k, l := jumps(n, 1, modes, 7)
	var want []float32
	for _, threads := range []int{1, 2, 3} {
		workers := pool.New(threads)
		m := newMixed(t, n, 1, modes, 20, workers)
		value, slope, scratch := make([]float32, n*modes), make([]float32, n*modes), make([]float32, m.ScratchLen(n))
		step := func() {
			m.Fit(x, y, k, l)
			m.Evaluate(value, slope, x, scratch, 0, n, 1)
		}
		step()
		step()
		if want == nil {
			want = append(append(want, value...), slope...)
		}
		require.Equal(t, want, append(append([]float32{}, value...), slope...), "%d threads", threads)
		require.Zero(t, alloctest.PerRun(5, step))
		for _, bad := range []float32{float32(math.NaN()), float32(math.Inf(1))} {
			keep := y[100]
			y[100] = bad
			require.True(t, math.IsNaN(m.Fit(x, y, k, l)))
			y[100] = keep
		}
		require.False(t, math.IsNaN(m.Fit(x, y, k, l)), "a bad batch leaves no trace")
		require.Panics(t, func() { m.Fit(x[1:], y, k, l) })
		require.Panics(t, func() { m.Evaluate(value, slope, x, scratch, 0, n, 2) })
		workers.Close()
	}
	good, c := Features{Number: 4, Scale: 1, Range: 1}, Config{Ridge: 1, Every: 1}
	for message, f := range map[string]func() (*Mixed, error){
		"features.scale":                func() (*Mixed, error) { return NewMixed(8, 1, 2, Features{Number: 4}, c, 1, nil) },
		"features.number: 2000":         func() (*Mixed, error) { return NewMixed(8, 1, 3, Features{2000, 1, 1}, c, 1, nil) },
		"ridge":                         func() (*Mixed, error) { return NewMixed(8, 1, 2, good, Config{}, 1, nil) },
		"a batch of 1 states":           func() (*Mixed, error) { return NewMixed(1, 1, 2, good, c, 1, nil) },
		"of 1 coordinates in 257 modes": func() (*Mixed, error) { return NewMixed(8, 1, 257, good, c, 1, nil) },
	} {
		_, err := f()
		require.ErrorContains(t, err, message)
	}
}

func BenchmarkMixed(b *testing.B) {
	workers := pool.New(1)
	defer workers.Close()
	const n, modes, points = 2048, 3, 6
	m, err := NewMixed(n, 1, modes, Features{Number: 64, Scale: 1, Range: 1}, Config{Ridge: 1e-4, Memory: 0.99, Every: 4}, 1, workers)
	require.NoError(b, err)
	x, y, k, l := jumps(n, 1, modes, 7)
	at := make([]float32, n*points)
	value, slope, scratch := make([]float32, n*points*modes), make([]float32, n*points*modes), make([]float32, m.ScratchLen(n*points))
	b.Run("fit", func(b *testing.B) {
		for b.Loop() {
			m.Fit(x, y, k, l)
		}
	})
	b.Run("evaluate", func(b *testing.B) {
		for b.Loop() {
			m.Evaluate(value, slope, at, scratch, 0, n, points)
		}
	})
}
