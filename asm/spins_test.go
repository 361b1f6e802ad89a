package asm

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
)

// specialLogits are values whose sign is not obvious, and ordinary ones.
func specialLogits(r *rand.Rand, dst []float32) {
	sign := func() float64 { return float64(2*r.IntN(2) - 1) }
	for i := range dst {
		switch r.IntN(12) {
		case 0:
			dst[i] = float32(math.Copysign(0, sign()))
		case 1:
			dst[i] = math.Float32frombits(0x7FC00000 | r.Uint32()&0x80000000) // NaN
		case 2:
			dst[i] = float32(sign() * 0x1p-149)
		case 3:
			dst[i] = float32(math.Inf(int(sign())))
		default:
			dst[i] = float32(r.NormFloat64())
		}
	}
}

func TestSpinsRoundTrip(t *testing.T) {
	forEachPath(t, func(t *testing.T, _ Path) {
		r := rand.New(rand.NewPCG(1, 2))
		logitPage, spinPage := endOfPage[float32](t, 33*200), endOfPage[uint64](t, 33*4)
		for n := 1; n <= 200; n++ {
			for _, rows := range []int{0, 1, 2, 3, 33} {
				words := (n + 63) / 64
				logits := logitPage(rows * n)
				specialLogits(r, logits)
				spins := newGuarded[uint64](rows * words)
				for i := range spins.data {
					spins.data[i] = ^uint64(0) // every word must be written
				}
				SignMask(spins.data, logits, rows, n)
				spins.check(t)
				in := spinPage(rows * words)
				copy(in, spins.data)
				values := newGuarded[float32](rows * n)
				Unpack(values.data, in, rows, n)
				values.check(t)
				for i, v := range logits {
					want := float32(-1)
					if v > 0 {
						want = 1
					}
					bit := in[i/n*words+i%n/64] >> (i % n % 64) & 1
					if want > 0 != (bit == 1) || want != values.data[i] {
						require.Fail(t, "wrong spin", "n %d, value %d, logit %v: bit %d, value %v", n, i, v, bit, values.data[i])
					}
				}
				for row := range rows {
					if n%64 != 0 {
						require.Zero(t, in[row*words+words-1]>>(n%64), "unused bits of row %d, n %d", row, n)
					}
				}
			}
		}
	})
}

// More values than one call of the assembly takes, in many rows and in one.
func TestSpinsOfManyValues(t *testing.T) {
	forEachPath(t, func(t *testing.T, _ Path) {
		for _, c := range []struct{ rows, n int }{{9000, 9}, {3, 40001}} {
			logits := make([]float32, c.rows*c.n)
			specialLogits(rand.New(rand.NewPCG(3, 4)), logits)
			want, got := make([]uint64, c.rows*((c.n+63)/64)), make([]uint64, c.rows*((c.n+63)/64))
			signMaskGeneric(want, logits, c.rows, c.n)
			SignMask(got, logits, c.rows, c.n)
			require.Equal(t, want, got)
			wantValues, gotValues := make([]float32, len(logits)), make([]float32, len(logits))
			unpackGeneric(wantValues, want, c.rows, c.n)
			Unpack(gotValues, want, c.rows, c.n)
			require.Equal(t, wantValues, gotValues)
		}
	})
}

func TestSpinsRefuseWrongLengths(t *testing.T) {
	requireRefusal(t, func() { SignMask(make([]uint64, 2), make([]float32, 9), 1, 9) })
	requireRefusal(t, func() { Unpack(make([]float32, 10), make([]uint64, 1), 1, 9) })
}

func BenchmarkSpins(b *testing.B) {
	for _, n := range []int{9, 64, 256} {
		const rows = 2048
		logits, spins := make([]float32, rows*n), make([]uint64, rows*((n+63)/64))
		specialLogits(rand.New(rand.NewPCG(1, 1)), logits)
		run := func(name string, f func()) {
			b.Run(fmt.Sprintf("%s/n=%d", name, n), func(b *testing.B) {
				benchEachPath(b, func(b *testing.B, _ Path) {
					b.SetBytes(4 * int64(len(logits)))
					for b.Loop() {
						f()
					}
					b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(len(logits)), "ns/spin")
				})
			})
		}
		run("sign", func() { SignMask(spins, logits, rows, n) })
		run("unpack", func() { Unpack(logits, spins, rows, n) })
	}
}

func FuzzSpins(f *testing.F) {
	f.Add(uint64(1), uint8(3), uint8(9))
	f.Fuzz(func(t *testing.T, seed uint64, rows, n uint8) {
		size := 1 + int(n)
		logits := make([]float32, int(rows)*size)
		specialLogits(rand.New(rand.NewPCG(seed, 0)), logits)
		want := make([]uint64, int(rows)*((size+63)/64))
		signMaskGeneric(want, logits, int(rows), size)
		values := make([]float32, len(logits))
		unpackGeneric(values, want, int(rows), size)
		before, why, _ := Active()
		defer activate(before, why)
		for _, path := range Supported() {
			require.NoError(t, Use(path))
			got, back := make([]uint64, len(want)), make([]float32, len(values))
			SignMask(got, logits, int(rows), size)
			require.Equal(t, want, got, "%v", path)
			Unpack(back, got, int(rows), size)
			require.Equal(t, values, back, "%v", path)
		}
	})
}

func TestTranspose64(t *testing.T) {
	forEachPath(t, func(t *testing.T, _ Path) {
		r := rand.New(rand.NewPCG(3, 4))
		for range 100 {
			square, before := newGuarded[uint64](64), [64]uint64{}
			for i := range before {
				before[i] = r.Uint64()
			}
			copy(square.data, before[:])
			Transpose64((*[64]uint64)(square.data))
			square.check(t)
			for i, row := range square.data {
				for j, column := range before {
					require.Equal(t, column>>i&1, row>>j&1, "bit %d of word %d", j, i)
				}
			}
		}
	})
}

func BenchmarkTranspose64(b *testing.B) {
	benchEachPath(b, func(b *testing.B, _ Path) {
		var square [64]uint64
		for b.Loop() {
			Transpose64(&square)
		}
	})
}
