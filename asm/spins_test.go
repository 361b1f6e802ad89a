package asm

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestSpinsRoundTrip(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for n := 1; n <= 200; n++ {
		for _, rows := range []int{0, 1, 2, 3, 17} {
			words := (n + 63) / 64
			logits := make([]float32, rows*n)
			for i := range logits {
				switch r.IntN(12) {
				case 0:
					logits[i] = float32(math.Copysign(0, float64(r.IntN(2))-0.5))
				case 1:
					logits[i] = float32(math.NaN())
				case 2:
					logits[i] = float32(math.Copysign(0x1p-149, float64(r.IntN(2))-0.5))
				default:
					logits[i] = float32(r.NormFloat64())
				}
			}
			spins := make([]uint64, rows*words)
			for i := range spins {
				spins[i] = ^uint64(0) // every word must be written
			}
			SignMask(spins, logits, rows, n)
			values := make([]float32, len(logits))
			Unpack(values, spins, rows, n)
			for i, v := range logits {
				want := float32(-1)
				if v > 0 {
					want = 1
				}
				bit := spins[i/n*words+i%n/64] >> (i % n % 64) & 1
				require.Equal(t, want > 0, bit == 1, "n %d, value %d, logit %v", n, i, v)
				require.Equal(t, want, values[i], "n %d, value %d", n, i)
			}
			for row := range rows {
				if n%64 != 0 {
					require.Zero(t, spins[row*words+words-1]>>(n%64), "unused bits of row %d, n %d", row, n)
				}
			}
		}
	}
}

func TestSpinsRefuseWrongLengths(t *testing.T) {
	require.Panics(t, func() { SignMask(make([]uint64, 2), make([]float32, 9), 1, 9) })
	require.Panics(t, func() { Unpack(make([]float32, 10), make([]uint64, 1), 1, 9) })
}
