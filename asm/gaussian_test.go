package asm

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/revgen/revgen/internal/alloctest"
)

// gaussian64 returns a guarded buffer of random numbers.
func gaussian64(r *rand.Rand, n int) guarded[float64] {
	b := newGuarded[float64](n)
	for i := range b.data {
		b.data[i] = r.NormFloat64()
	}
	return b
}

// TestGaussian compares the kernels with their twins, bit by bit, and these with sums in the
// order of their definition.
func TestGaussian(t *testing.T) {
	forEachPath(t, func(t *testing.T, _ Path) {
		r := rand.New(rand.NewPCG(41, 42))
		for d := range 40 {
			triangle := d * (d + 1) / 2
			x, y, squares := gaussian64(r, d*GaussianRows), gaussian64(r, d*GaussianRows), gaussian64(r, GaussianRows)
			mean, inverse := gaussian64(r, d), gaussian64(r, triangle)
			Whiten((*Octet)(squares.data), y.data, x.data, mean.data, inverse.data)

			var twin Octet
			again := make([]float64, d*GaussianRows)
			whitenGeneric(&twin, again, x.data, mean.data, inverse.data)
			require.Equal(t, again, append([]float64{}, y.data...), "%d coordinates", d)
			require.Equal(t, twin, *(*Octet)(squares.data))
			for row := range GaussianRows {
				var square float64
				for i := range d {
					var sum float64
					for c := range i + 1 {
						sum += inverse.data[i*(i+1)/2+c] * (x.data[c*GaussianRows+row] - mean.data[c])
					}
					require.InDelta(t, sum, y.data[i*GaussianRows+row], 1e-12*float64(d))
					square += sum * sum
				}
				require.InEpsilon(t, 1+square, 1+squares.data[row], 1e-12)
			}

			f, v := gaussian64(r, GaussianRows), gaussian64(r, d*GaussianRows)
			sums := newGuarded[float32](d + triangle)
			for i := range sums.data {
				sums.data[i] = float32(r.NormFloat64())
			}
			before := append([]float32{}, sums.data...)
			AddMoments(sums.data, (*Octet)(f.data), v.data, y.data)
			for i := range d {
				var sum float64
				for row := range GaussianRows {
					sum += f.data[row] * v.data[i*GaussianRows+row]
				}
				require.InDelta(t, float64(before[i])+sum, sums.data[i], 1e-5)
				for c := range i + 1 {
					var sum float64
					for row := range GaussianRows {
						sum += f.data[row] * v.data[i*GaussianRows+row] * y.data[c*GaussianRows+row]
					}
					at := d + i*(i+1)/2 + c
					require.InDelta(t, float64(before[at])+sum, sums.data[at], 1e-4)
				}
			}
			addMomentsGeneric(before, (*Octet)(f.data), v.data, y.data)
			require.Equal(t, before, append([]float32{}, sums.data...), "%d coordinates", d)

			slope := gaussian64(r, d*GaussianRows)
			was := append([]float64{}, slope.data...)
			AddSlope(slope.data, (*Octet)(f.data), v.data, inverse.data)
			for c := range d {
				for row := range GaussianRows {
					var sum float64
					for i := c; i < d; i++ {
						sum += v.data[i*GaussianRows+row] * inverse.data[i*(i+1)/2+c]
					}
					at := c*GaussianRows + row
					require.InDelta(t, was[at]-f.data[row]*sum, slope.data[at], 1e-12*float64(d))
				}
			}
			addSlopeGeneric(was, (*Octet)(f.data), v.data, inverse.data)
			require.Equal(t, was, append([]float64{}, slope.data...), "%d coordinates", d)
			for _, b := range []guarded[float64]{x, y, squares, mean, inverse, f, v, slope} {
				b.check(t)
			}
			sums.check(t)
		}
	})
}

func TestGaussianPanics(t *testing.T) {
	var octet Octet
	x, triangle := make([]float64, 2*GaussianRows), make([]float64, 3)
	sums := make([]float32, 5)
	require.Zero(t, alloctest.PerRun(10, func() {
		Whiten(&octet, x, x, triangle[:2], triangle)
		AddMoments(sums, &octet, x, x)
		AddSlope(x, &octet, x, triangle)
	}))
	requireRefusal(t, func() { Whiten(&octet, x[:8], x, triangle[:2], triangle) })
	requireRefusal(t, func() { Whiten(&octet, x, x[:8], triangle[:2], triangle) })
	requireRefusal(t, func() { Whiten(&octet, x, x, triangle[:2], triangle[:2]) })
	requireRefusal(t, func() { AddMoments(sums[:4], &octet, x, x) })
	requireRefusal(t, func() { AddMoments(sums, &octet, x, x[:8]) })
	requireRefusal(t, func() { AddMoments(sums, &octet, x[:9], x[:9]) })
	requireRefusal(t, func() { AddSlope(x[:8], &octet, x, triangle) })
	requireRefusal(t, func() { AddSlope(x, &octet, x, triangle[:2]) })
	requireRefusal(t, func() { AddSlope(x[:9], &octet, x[:9], triangle[:1]) })
}

func BenchmarkGaussian(b *testing.B) {
	benchEachPath(b, func(b *testing.B, _ Path) {
		const d = 10
		var octet Octet
		x, y := make([]float64, d*GaussianRows), make([]float64, d*GaussianRows)
		mean, inverse, sums := make([]float64, d), make([]float64, d*(d+1)/2), make([]float32, d+d*(d+1)/2)
		b.Run("whiten", func(b *testing.B) {
			for b.Loop() {
				Whiten(&octet, y, x, mean, inverse)
			}
		})
		b.Run("moments", func(b *testing.B) {
			for b.Loop() {
				AddMoments(sums, &octet, y, y)
			}
		})
		b.Run("slope", func(b *testing.B) {
			for b.Loop() {
				AddSlope(x, &octet, y, inverse)
			}
		})
	})
}
