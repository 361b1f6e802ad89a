package asm

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
)

// flipMasks returns flips of n configurations: none, each bit, all bits, and
// some at random.
func flipMasks(r *rand.Rand, n int) []uint32 {
	flips := []uint32{0, uint32(n - 1)}
	for bit := 1; bit < n; bit *= 2 {
		flips = append(flips, uint32(bit))
	}
	for range 5 {
		flips = append(flips, uint32(r.IntN(n)))
	}
	return flips
}

// TestFlipSums compares all paths with the definition, for parts of all
// configurations and flips of all kinds.
func TestFlipSums(t *testing.T) {
	forEachPath(t, func(t *testing.T, _ Path) {
		r := rand.New(rand.NewPCG(5, 6))
		for _, n := range []int{64, 128, 512, 4096, 65536} {
			all := flipMasks(r, n)
			for _, flips := range [][]uint32{all, all[:1], all[1:2], all[3:], nil} {
				for range 3 {
					blocks := n / FlipBlock
					first := r.IntN(blocks)
					count := r.IntN(blocks - first + 1)
					dst := newGuarded[float32](count * FlipBlock)
					weights := endOfPage[float32](t, count*FlipBlock*len(flips))(count * FlipBlock * len(flips))
					x := endOfPage[float32](t, n)(n)
					fillWild(r, dst.data)
					fillWild(r, weights)
					fillWild(r, x)
					FlipSums(dst.data, weights, x, flips, first*FlipBlock)
					dst.check(t)
					want := make([]float32, len(dst.data))
					for i := range want {
						for k, f := range flips {
							w := weights[(i/FlipBlock*len(flips)+k)*FlipBlock+i%FlipBlock]
							want[i] += float32(w * x[(first*FlipBlock+i)^int(f)])
						}
					}
					require.Equal(t, want, dst.data)
				}
			}
		}
	})
}

func TestFlipSumsRefusesWrongArguments(t *testing.T) {
	x := make([]float32, 128)
	sums := func(dst, weights int, x []float32, first int, flips ...uint32) func() {
		return func() { FlipSums(make([]float32, dst), make([]float32, weights), x, flips, first) }
	}
	require.NotPanics(t, sums(64, 128, x, 64, 1, 127))
	require.Panics(t, sums(64, 127, x, 64, 1, 2), "too few weights")
	require.Panics(t, sums(64, 64, x, 64, 128), "a flip of a bit that there is not")
	require.Panics(t, sums(64, 64, x, 32, 1), "a part of a block")
	require.Panics(t, sums(64, 64, x, 128, 1), "beyond the last configuration")
	require.Panics(t, sums(64, 64, x[:96], 0, 1), "not a power of two")
}

func BenchmarkFlipSums(b *testing.B) {
	for _, spins := range []int{9, 16} {
		n := 1 << spins
		flips := make([]uint32, spins+2)
		for k := range spins {
			flips[k+1] = 1 << k
		}
		flips[spins+1] = uint32(n - 1)
		dst, weights, x := make([]float32, n), make([]float32, n*len(flips)), make([]float32, n)
		b.Run(fmt.Sprintf("spins=%d", spins), func(b *testing.B) {
			benchEachPath(b, func(b *testing.B, _ Path) {
				b.SetBytes(4 * int64(len(weights)))
				for b.Loop() {
					FlipSums(dst, weights, x, flips, 0)
				}
			})
		})
	}
}
