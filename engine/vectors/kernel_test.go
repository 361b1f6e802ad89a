package vectors

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/revgen/revgen/asm"
	"github.com/revgen/revgen/engine"
	"github.com/revgen/revgen/internal/alloctest"
	"github.com/revgen/revgen/internal/long"
	"github.com/revgen/revgen/internal/number"
	"github.com/revgen/revgen/internal/stat"
)

// TestTransitionLeavesTargetInvariant moves exact samples, and finds by the same
// statistics that another target's moves are another's.
func TestTransitionLeavesTargetInvariant(t *testing.T) {
	long.SkipShort(t)
	const bound, n = 5.5, 1 << 14 // of 2·10⁻⁷ false alarms for all
	moves := TransitionConfig{Sigma: []float64{0.1, 0.7, 2}}
	for _, target := range []gaussians{plane(0.6), randomMixture(1, 3, 4), randomMixture(6, 3, 5)} {
		after := func(of gaussians, steps int) float64 {
			x := exact(target, n, 3)
			newKernel(of, moves).newMover(strip).run(states(x, of.Dim()), steps, &asm.Counter{Seed: 4}, 0)
			return target.deviation(x, nil)
		}
		require.Less(t, after(target, 4), bound)
		require.Greater(t, after(target.shifted(0.5), 40), 2*bound)
	}
}

// TestTransitionAcceptance compares the rate of acceptance and the size of the
// moves with a scalar computation from the same definition.
func TestTransitionAcceptance(t *testing.T) {
	target := plane(0.6)
	const n = 1 << 14
	for _, sigma := range [][]float64{{0.1}, {2}, {0.1, 2}} {
		tr := newKernel(target, TransitionConfig{Sigma: sigma})
		x := exact(target, n, 5)
		y := append([]float32(nil), x...)
		count := tr.newMover(strip).run(states(y, 2), 1, &asm.Counter{Seed: 6}, 0)
		require.EqualValues(t, n, count.Proposed)

		// ε from another stream, acceptance in expectation.
		e := make([]float32, 4*n)
		asm.Normals(e, &asm.Counter{Seed: 7}, 0)
		var want, wantSquare, square stat.Mean
		moved := 0
		for r := range n {
			from := number.Widen(x[2*r : 2*r+2])
			s := sigma[r%len(sigma)]
			to := []float64{from[0] + s*float64(e[4*r]), from[1] + s*float64(e[4*r+1])}
			a := math.Exp(min(0, target.log(to, 0)-target.log(from, 0)))
			want.Add(a)
			wantSquare.Add(a * (math.Pow(to[0]-from[0], 2) + math.Pow(to[1]-from[1], 2)))
			step := math.Pow(float64(y[2*r]-x[2*r]), 2) + math.Pow(float64(y[2*r+1]-x[2*r+1]), 2)
			square.Add(step)
			if step > 0 {
				moved++
			}
		}
		require.EqualValues(t, moved, count.Accepted)
		rate := count.Rate()
		require.InDelta(t, want.Value(), rate, 6*math.Hypot(want.StandardError(), math.Sqrt(rate*(1-rate)/n)), "%v", sigma)
		require.InDelta(t, wantSquare.Value(), square.Value(), 6*math.Hypot(wantSquare.StandardError(), square.StandardError()), "%v", sigma)
	}
}

// TestTransitionSplitsIntoAnyRows cuts a batch at several places and steps.
func TestTransitionSplitsIntoAnyRows(t *testing.T) {
	for _, target := range []gaussians{plane(0.6), randomMixture(3, 2, 1), randomMixture(9, 2, 1)} {
		tr := newKernel(target, TransitionConfig{Sigma: []float64{0.3, 1}})
		const n = 400
		d := target.Dim()
		m := tr.newMover(strip)
		run := func(x []float32, steps int, c *asm.Counter, first uint64) { m.run(states(x, d), steps, c, first) }
		whole := exact(target, n, 1)
		run(whole, 5, &asm.Counter{Seed: 6}, 1000)
		for _, cut := range []int{1, 16, 33, 99, 300} {
			parts := exact(target, n, 1)
			run(parts[:cut*d], 5, &asm.Counter{Seed: 6}, 1000)
			run(parts[cut*d:], 5, &asm.Counter{Seed: 6}, 1000+uint64(cut))
			require.Equal(t, whole, parts, "cut at %d", cut)
		}
		require.Zero(t, alloctest.PerRun(5, func() { run(whole, 2, &asm.Counter{}, 0) }))
	}
}

// TestTransitionFarFromTheTarget: states that float32 cannot tell a density of
// are left where they are, and nothing becomes NaN.
func TestTransitionFarFromTheTarget(t *testing.T) {
	target := plane(0.6)
	tr := newKernel(target, TransitionConfig{Sigma: []float64{0.1}})
	nan := float32(math.NaN())
	x := []float32{1e25, 1e25, 1000, -1000, nan, 0, 0, 0}
	y := append([]float32(nil), x...)
	count := tr.newMover(strip).run(states(y, 2), 50, &asm.Counter{Seed: 2}, 0)
	require.Equal(t, x[:2], y[:2])
	require.Less(t, y[2], x[2]+1, "moves far away lead towards the target")
	require.NotEqual(t, x[2], y[2])
	require.True(t, y[4] != y[4])
	require.NotEqual(t, x[6], y[6])
	require.Less(t, count.Rate(), 0.5)
}

// TestAcceptance compares the moves that are made with those
// whose uniform number is below the ratio.
func TestAcceptance(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	special := []float32{0, 1, 0x1p-149, float32(math.NaN()), float32(math.Copysign(math.NaN(), -1)), math.Nextafter32(1, 0)}
	for d := 1; d <= 5; d++ {
		m := newKernel(unplaced{randomMixture(d, 1, 1)}, TransitionConfig{Sigma: []float64{1}}).newMover(strip)
		x, ratio := make([]float32, strip*d), make([]float32, strip)
		for _, values := range [][]float32{x, m.next.X} {
			for i := range values {
				values[i] = float32(r.NormFloat64())
			}
		}
		for i := range strip {
			m.logPi[i], m.logNext[i] = r.NormFloat64(), r.NormFloat64()
			m.uniforms[4*i] = (float32(r.IntN(1<<23)) + 0.5) / (1 << 23)
			switch ratio[i] = r.Float32(); {
			case i < len(special):
				ratio[i] = special[i]
			case i%7 == 0:
				ratio[i] = m.uniforms[4*i]
			}
		}
		m.logNext[9], m.next.X[0] = math.Inf(-1), float32(math.Inf(1))
		wantX, wantCurrent, want := slices.Clone(x), slices.Clone(m.logPi), uint64(0)
		for i, p := range ratio {
			if m.uniforms[4*i] < p {
				copy(wantX[i*d:(i+1)*d], m.next.X[i*d:])
				wantCurrent[i] = m.logNext[i]
				want++
			}
		}
		var count engine.Count
		m.accept(states(x, d), ratio, &count)
		require.Equal(t, engine.Count{Proposed: strip, Accepted: want}, count)
		require.Equal(t, wantX, x)
		require.Equal(t, wantCurrent, m.logPi)
	}
}

// TestTemperedDensity: moves at an inverse temperature see β ln π, in float32 where there are no
// modes, and all else sees ln π.
func TestTemperedDensity(t *testing.T) {
	const n, beta = 20, 0.3
	for _, c := range []struct {
		target Target
		s      States
	}{{plane(0.6), states(exact(plane(0.6), n, 1), 2)}, {threeTwins(3), exactTwins(threeTwins(3), n, 1)}} {
		m := newKernel(c.target, TransitionConfig{Sigma: []float64{1}}).newMover(strip)
		plain, got := make([]float64, n), make([]float64, n)
		densityOf(c.target)(plain, c.s.X, c.s.K)
		m.logDensity(got, c.s)
		require.Equal(t, plain, got)
		m.beta = beta
		m.logDensity(got, c.s)
		for i, v := range plain {
			want := beta * v
			if c.s.K == nil {
				want = float64(float32(v) * float32(beta))
			}
			require.Equal(t, want, got[i])
		}
		m.LogDensity(got, c.s)
		require.Equal(t, plain, got)
	}
}
