package asm

import (
	"fmt"
	"testing"
)

// denseLadder is the layers that the systems' networks have, and the two
// square ones that are compared with OpenBLAS.
var denseLadder = []denseShape{
	{2048, 64, 64}, {2048, 256, 256},
	{2048, 1, 64}, {2048, 2, 64}, {2048, 64, 1}, {2048, 64, 2},
	{2048, 9, 256}, {2048, 256, 9}, {2048, 32, 256}, {2048, 32, 128}, {2048, 128, 3},
	{128, 64, 64}, {128, 256, 256}, {2048, 128, 128}, {256, 1024, 1024},
}

func benchDense(b *testing.B, f func(b *testing.B, s denseShape)) {
	benchEachPath(b, func(b *testing.B, _ Path) {
		for _, s := range denseLadder {
			b.Run(fmt.Sprintf("%dx%dx%d", s.rows, s.in, s.out), func(b *testing.B) {
				f(b, s)
				flops := 2 * float64(s.rows) * float64(s.in) * float64(s.out)
				b.ReportMetric(flops*float64(b.N)/float64(b.Elapsed().Nanoseconds()), "GFLOP/s")
			})
		}
	})
}

func ones(n int) []float32 {
	x := make([]float32, n)
	for i := range x {
		x[i] = float32(i%7) - 3
	}
	return x
}

func BenchmarkDenseForward(b *testing.B) {
	benchDense(b, func(b *testing.B, s denseShape) {
		x, packed, bias, y := ones(s.rows*s.in), ones(PackedLen(s.in, s.out)), ones(s.out), ones(s.rows*s.out)
		for b.Loop() {
			DenseForward(y, x, packed, bias, s.rows, s.in, s.out, 0.01)
		}
	})
}

func BenchmarkDenseBackwardInput(b *testing.B) {
	benchDense(b, func(b *testing.B, s denseShape) {
		dy, packed, act, dx := ones(s.rows*s.out), ones(PackedLen(s.out, s.in)), ones(s.rows*s.in), ones(s.rows*s.in)
		for b.Loop() {
			DenseBackwardInput(dx, dy, packed, act, s.rows, s.in, s.out, 0.01)
		}
	})
}

func BenchmarkDenseBackwardWeights(b *testing.B) {
	benchDense(b, func(b *testing.B, s denseShape) {
		x, dy, dw, db := ones(s.rows*s.in), ones(s.rows*s.out), make([]float32, s.in*s.out), make([]float32, s.out)
		for b.Loop() {
			DenseBackwardWeights(dw, db, x, dy, s.rows, s.in, s.out)
		}
	})
}

func BenchmarkPackWeights(b *testing.B) {
	benchEachPath(b, func(b *testing.B, _ Path) {
		for _, n := range []int{64, 256} {
			w, dst := ones(n*n), make([]float32, PackedLen(n, n))
			b.Run(fmt.Sprintf("plain/%dx%d", n, n), func(b *testing.B) {
				for b.Loop() {
					PackWeights(dst, w, n, n)
				}
			})
			b.Run(fmt.Sprintf("transposed/%dx%d", n, n), func(b *testing.B) {
				for b.Loop() {
					PackWeightsTransposed(dst, w, n, n)
				}
			})
		}
	})
}

func BenchmarkAdamWStep(b *testing.B) {
	benchEachPath(b, func(b *testing.B, _ Path) {
		for _, n := range []int{1000, 70000, 1000000} {
			b.Run(fmt.Sprint(n), func(b *testing.B) {
				p, g, m, v, ema := ones(n), ones(n), ones(n), make([]float32, n), ones(n)
				h := AdamW{LearningRate: 1e-3, Beta1: 0.9, Beta2: 0.999, Epsilon: 1e-8, WeightDecay: 0.01, Correction1: 1, Correction2: 1, GradScale: 1, EMADecay: 0.99}
				b.SetBytes(4 * 9 * int64(n))
				for b.Loop() {
					AdamWStep(p, g, m, v, ema, &h)
				}
			})
		}
	})
}

func BenchmarkSumSquares(b *testing.B) {
	benchEachPath(b, func(b *testing.B, _ Path) {
		x := ones(70000)
		b.SetBytes(4 * int64(len(x)))
		for b.Loop() {
			SumSquares(x)
		}
	})
}
