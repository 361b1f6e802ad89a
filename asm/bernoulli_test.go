package asm

import (
	"math"
	"math/bits"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/revgen/revgen/internal/alloctest"
)

func TestBernoulliFollowsItsDefinition(t *testing.T) {
	forEachPath(t, func(t *testing.T, _ Path) {
		c := Counter{Seed: 8, Purpose: 1, Step: 2}
		for _, p := range []float64{0, 0x1p-32, 0.1, 0.25, 0.5, 0.62, 1 - 0x1p-32, 1} {
			for _, n := range []int{0, 2, 4, 126, 128, 130, 260} {
				got := newGuarded[uint64](n)
				for i := range got.data {
					got.data[i] = math.MaxUint64 / 3 // all bits must be written
				}
				Bernoulli(got.data, p, &c, 1000)
				got.check(t)
				for i, w := range got.data {
					if n > 130 && i%7 != 0 {
						continue // enough
					}
					var u [64]uint64 // uniform integers of 32 bits
					for k := range uint64(32) {
						block := c.block(1000 + uint64(i/2) + k<<58)
						word := uint64(block[i%2*2+1])<<32 | uint64(block[i%2*2])
						for b := range u {
							u[b] = u[b]<<1 | word>>b&1
						}
					}
					for b := range u {
						require.Equal(t, float64(u[b]) < p*(1<<32), w>>b&1 == 1, "p %v, word %d, bit %d", p, i, b)
					}
				}
			}
		}
	})
}

func TestBernoulliFrequencies(t *testing.T) {
	dst := make([]uint64, 1<<15)
	for i, p := range []float64{0.01, 0.3, 0.5, 0.9} {
		Bernoulli(dst, p, &Counter{Seed: 3, Step: uint32(i)}, 0)
		var ones, neighbours int
		var byBit [64]int
		for _, w := range dst {
			ones += bits.OnesCount64(w)
			neighbours += bits.OnesCount64(w & (w >> 1) & 0x5555555555555555)
			for b := range byBit {
				byBit[b] += int(w >> b & 1)
			}
		}
		// Six standard errors: 2·10⁻⁹ each.
		n := float64(64 * len(dst))
		require.InDelta(t, p*n, float64(ones), 6*math.Sqrt(p*(1-p)*n))
		require.InDelta(t, p*p*n/2, float64(neighbours), 6*math.Sqrt(p*p*(1-p*p)*n/2))
		for b, count := range byBit {
			require.InDelta(t, p*n/64, float64(count), 6*math.Sqrt(p*(1-p)*n/64), "bit %d", b)
		}
	}
}

func TestBernoulliRefuses(t *testing.T) {
	for _, odd := range []int{1, 3, 129} {
		require.Panics(t, func() { Bernoulli(make([]uint64, odd), 0.5, &Counter{}, 0) })
	}
	require.Panics(t, func() { Bernoulli(make([]uint64, 2), math.NaN(), &Counter{}, 0) })
	require.Panics(t, func() { Bernoulli(make([]uint64, 2), 1.5, &Counter{}, 0) })
	require.Zero(t, alloctest.PerRun(5, func() { Bernoulli(make([]uint64, 64), 0.3, &Counter{}, 0) }))
}

func BenchmarkBernoulli(b *testing.B) {
	dst := make([]uint64, 4096)
	benchEachPath(b, func(b *testing.B, _ Path) {
		for b.Loop() {
			Bernoulli(dst, 0.3, &Counter{}, 0)
		}
		b.ReportMetric(float64(b.N)*64*float64(len(dst))/float64(b.Elapsed().Nanoseconds()), "bits/ns")
	})
}
