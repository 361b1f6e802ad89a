package asm

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/revgen/revgen/internal/alloctest"
)

// streamLengths covers every length around the unrolls of the kernels that
// walk flat arrays, and a few that take several calls of the assembly.
func streamLengths() []int {
	var all []int
	for n := range 131 {
		all = append(all, n)
	}
	return append(all, 255, 256, 257, 1000, 65535, 65536, 65537, 140000)
}

func TestAdamWStep(t *testing.T) {
	forEachPath(t, func(t *testing.T, _ Path) {
		rng := rand.New(rand.NewPCG(21, 22))
		for _, n := range streamLengths() {
			h := AdamW{
				LearningRate: 1e-3, Beta1: 0.9, Beta2: 0.999, Epsilon: 1e-8, WeightDecay: 0.01,
				Correction1: 0.271, Correction2: 0.002997, GradScale: 0.5, EMADecay: 0.995,
			}
			if rng.IntN(4) == 0 {
				h.WeightDecay, h.GradScale, h.Beta1 = 0, 1, 0
			}
			var buffers [5]guarded[float32]
			for i := range buffers {
				buffers[i] = newGuarded[float32](n)
				fillWild(rng, buffers[i].data)
			}
			p, g, m, v, ema := buffers[0].data, buffers[1].data, buffers[2].data, buffers[3].data, buffers[4].data
			for i := range v {
				v[i] *= v[i]
			}
			withEMA := rng.IntN(2) == 0
			var before [5][]float32
			for i := range buffers {
				before[i] = slices.Clone(buffers[i].data)
			}
			average, twinAverage := ema, slices.Clone(ema)
			if !withEMA {
				average, twinAverage = nil, nil
			}
			AdamWStep(p, g, m, v, average, &h)

			twin := [3][]float32{slices.Clone(before[0]), slices.Clone(before[2]), slices.Clone(before[3])}
			f := h.factors()
			adamWStepGeneric(twin[0], before[1], twin[1], twin[2], twinAverage, &f)
			require.Equal(t, twin, [3][]float32{p, m, v})
			require.Equal(t, twinAverage, average)

			for i := range p[:min(n, 1000)] {
				requireAdamW(t, &h, [5]float32{before[0][i], before[1][i], before[2][i], before[3][i], before[4][i]},
					[5]float32{p[i], g[i], m[i], v[i], ema[i]}, withEMA)
			}
			for _, b := range buffers {
				b.check(t)
			}
		}
	})
}

// requireAdamW checks the step of one parameter (p, g, m, v, ema) against
// float64, with a few roundings allowed in each term.
func requireAdamW(t testing.TB, h *AdamW, before, after [5]float32, withEMA bool) {
	t.Helper()
	const rounding = 0x1p-24
	f := func(x float32) float64 { return float64(x) }
	p, g, m, v, ema := f(before[0]), f(before[1]), f(before[2]), f(before[3]), f(before[4])
	require.Equal(t, before[1], after[1], "gradient")

	g *= f(h.GradScale)
	newM := f(h.Beta1)*m + (1-f(h.Beta1))*g
	sizeM := math.Abs(f(h.Beta1)*m) + math.Abs((1-f(h.Beta1))*g)
	newV := f(h.Beta2)*v + (1-f(h.Beta2))*g*g
	requireClose(t, after[2], newM, 4*rounding*sizeM, "first moment of %v", before)
	requireClose(t, after[3], newV, 6*rounding*newV, "second moment of %v", before)

	denominator := math.Sqrt(newV)/math.Sqrt(f(h.Correction2)) + f(h.Epsilon)
	factor := f(h.LearningRate) / f(h.Correction1) / denominator
	kept := p * (1 - f(h.LearningRate)*f(h.WeightDecay))
	newP := kept - factor*newM
	sizeP := math.Abs(kept) + factor*sizeM
	requireClose(t, after[0], newP, 16*rounding*sizeP, "parameter of %v", before)

	if !withEMA {
		require.Equal(t, before[4], after[4], "average")
		return
	}
	size := math.Abs(f(h.EMADecay)*ema) + (1-f(h.EMADecay))*(math.Abs(f(after[0])))
	requireClose(t, after[4], f(h.EMADecay)*ema+(1-f(h.EMADecay))*f(after[0]), 4*rounding*size, "average of %v", before)
}

func TestAdamWStepPage(t *testing.T) {
	forEachPath(t, func(t *testing.T, _ Path) {
		var pages [5]func(n int) []float32
		for i := range pages {
			pages[i] = endOfPage[float32](t, 1000)
		}
		h := AdamW{LearningRate: 1, Beta1: 0.5, Beta2: 0.5, Epsilon: 1, Correction1: 1, Correction2: 1, GradScale: 1, EMADecay: 0.5}
		for n := range 140 {
			p, g, m, v, ema := pages[0](n), pages[1](n), pages[2](n), pages[3](n), pages[4](n)
			for i := range g {
				g[i] = 2
			}
			AdamWStep(p, g, m, v, ema, &h)
			AdamWStep(p, g, m, v, nil, &h)
			for i := range p {
				require.InDelta(t, -1.5/(math.Sqrt(3)+1)-1/(math.Sqrt(2)+1), p[i], 1e-6)
			}
			for i := range g {
				g[i] = 1
			}
			Accumulate(g, g)
			require.Equal(t, float64(4*n), SumSquares(g))
			require.True(t, AllFinite(g))
		}
	})
}

// A step from zero moves every parameter by the learning rate, whatever the
// gradient's size: the reason for the bias corrections.
func TestAdamWFirstStep(t *testing.T) {
	forEachPath(t, func(t *testing.T, _ Path) {
		h := AdamW{LearningRate: 1e-2, Beta1: 0.9, Beta2: 0.999, Epsilon: 1e-12, GradScale: 1}
		h.Correction1, h.Correction2 = 1-h.Beta1, 1-h.Beta2
		g := []float32{1e-3, -1, 1e6, -3e-5, 0}
		p, m, v := make([]float32, 5), make([]float32, 5), make([]float32, 5)
		AdamWStep(p, g, m, v, nil, &h)
		require.InDeltaSlice(t, []float64{-1e-2, 1e-2, -1e-2, 1e-2, 0}, p, 1e-7)
	})
}

func TestAdamWPropagatesNaN(t *testing.T) {
	forEachPath(t, func(t *testing.T, _ Path) {
		h := AdamW{LearningRate: 1, Beta1: 0.5, Beta2: 0.5, Epsilon: 1, Correction1: 1, Correction2: 1, GradScale: 1, EMADecay: 0.5}
		for at := range 37 {
			p, g, m, v, ema := make([]float32, 37), make([]float32, 37), make([]float32, 37), make([]float32, 37), make([]float32, 37)
			g[at] = float32(math.NaN())
			AdamWStep(p, g, m, v, ema, &h)
			for i := range p {
				for _, x := range []float32{p[i], m[i], v[i], ema[i]} {
					require.Equal(t, i == at, math.IsNaN(float64(x)))
				}
			}
		}
	})
}

func TestSumSquares(t *testing.T) {
	rng := rand.New(rand.NewPCG(23, 24))
	for _, n := range streamLengths() {
		x := newGuarded[float32](n)
		fillWild(rng, x.data)
		if n > 3 {
			x.data[rng.IntN(n)] = math.MaxFloat32
			x.data[rng.IntN(n)] = math.SmallestNonzeroFloat32
		}
		var want float64
		for _, v := range x.data {
			want += float64(v) * float64(v)
		}
		bits := map[uint64]bool{}
		forEachPath(t, func(t *testing.T, _ Path) {
			have := SumSquares(x.data)
			require.InEpsilon(t, 1+want, 1+have, 1e-15*float64(n+1))
			bits[math.Float64bits(have)] = true
		})
		require.Len(t, bits, 1, "paths differ for %d elements", n)
	}
}

func TestNotFinite(t *testing.T) {
	forEachPath(t, func(t *testing.T, _ Path) {
		rng := rand.New(rand.NewPCG(25, 26))
		specials := []float32{float32(math.NaN()), float32(-math.NaN()), math.Float32frombits(0x7f800001), float32(math.Inf(1)), float32(math.Inf(-1))}
		for _, n := range streamLengths() {
			x := make([]float32, n)
			for i := range x {
				x[i] = math.Float32frombits(rng.Uint32() &^ (1 << 23)) // any finite pattern
			}
			require.True(t, AllFinite(x))
			require.False(t, math.IsNaN(SumSquares(x)) || math.IsInf(SumSquares(x), 0))
			if n == 0 {
				continue
			}
			for _, s := range specials {
				at := rng.IntN(n)
				keep := x[at]
				x[at] = s
				require.False(t, AllFinite(x), "%g at %d of %d", s, at, n)
				sum := SumSquares(x)
				require.True(t, math.IsNaN(sum) || math.IsInf(sum, 0))
				x[at] = keep
			}
		}
	})
}

func TestAccumulate(t *testing.T) {
	forEachPath(t, func(t *testing.T, _ Path) {
		rng := rand.New(rand.NewPCG(27, 28))
		for _, n := range streamLengths() {
			dst, src := newGuarded[float32](n), newGuarded[float32](n)
			fillWild(rng, dst.data)
			fillWild(rng, src.data)
			want := make([]float32, n)
			for i := range want {
				want[i] = dst.data[i] + src.data[i]
			}
			Accumulate(dst.data, src.data)
			require.Equal(t, want, append([]float32{}, dst.data...))
			dst.check(t)
		}
	})
}

func TestStreamAllocatesNothing(t *testing.T) {
	forEachPath(t, func(t *testing.T, _ Path) {
		x := make([]float32, 1000)
		y, h := make([]float32, 1000), AdamW{Correction1: 1, Correction2: 1, Epsilon: 1}
		require.Zero(t, alloctest.PerRun(10, func() {
			AdamWStep(x, y, y, y, x, &h)
			Accumulate(x, y)
			if !AllFinite(x) || SumSquares(x) < 0 {
				t.Error("not finite")
			}
		}))
	})
}

func TestStreamPanics(t *testing.T) {
	a, b := make([]float32, 3), make([]float32, 4)
	requireRefusal(t, func() { Accumulate(a, b) })
	requireRefusal(t, func() { AdamWStep(a, a, a, b, nil, &AdamW{}) })
	requireRefusal(t, func() { AdamWStep(a, a, a, a, b, &AdamW{}) })
}
