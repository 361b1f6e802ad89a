package asm

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestProbesCountTheirOperations(t *testing.T) {
	forEachPath(t, func(t *testing.T, _ Path) {
		for _, rounds := range []int{0, 1, 2, 7, probeRounds} {
			n := uint64(rounds) * probeUnroll
			number := uint64(math.Float32bits(float32(n)))
			require.Equal(t, number|number<<32, ProbeFMA.run(rounds))
			require.Equal(t, number|number<<32, ProbeFloat.run(rounds))
			require.Equal(t, n|n<<32, ProbeInteger.run(rounds))
			require.Equal(t, n%8|n%8<<32, ProbeLookup.run(rounds))
			power := uint64(1)
			for range n {
				power = power % (1 << 32) * 3
			}
			require.Equal(t, power, ProbeMultiply.run(rounds))
		}
		require.Positive(t, ProbeFMA.Run(1))
		require.Equal(t, 3*ProbeInteger.Run(1), ProbeInteger.Run(3))
		require.Equal(t, ProbeFMA.Run(probeRounds+1), float64(probeRounds+1)*ProbeFMA.Run(1))
	})
}

// TestEveryChainOfProbes: the portable probes return the largest number of a chain, which one that
// computed otherwise would exceed, or not come to an end.
func TestEveryChainOfProbes(t *testing.T) {
	twice := func(x float32) uint64 { return uint64(math.Float32bits(x)) * (1 + 1<<32) }
	half := twice(-0.5)
	for rounds, want := range map[int]float32{0: 0, 1: -0.3125, 2: -0.33203125} { // (−½)ⁿ/3 − ⅓ after n steps
		require.Equal(t, twice(want), probeFMAGeneric(0, half, rounds))
		require.Equal(t, twice(want), probeFloatGeneric(0, half, rounds))
	}
	require.Zero(t, probeMultiplyGeneric(5, 0, 1))
	require.Equal(t, uint64(5), probeMultiplyGeneric(5, 0, 0))
	require.Equal(t, uint64(5+4*7), probeIntegerGeneric(5, 7, 1))
	require.Zero(t, probeLookupGeneric(0, math.MaxUint32, 1), "the number after 0 less one")
	require.Equal(t, uint64(3*(1+1<<32)), probeLookupGeneric(3, 0, 0))
}

func TestReadWords(t *testing.T) {
	forEachPath(t, func(t *testing.T, _ Path) {
		atEnd := endOfPage[uint64](t, 400)
		for _, n := range []int{0, 1, 3, 4, 5, 63, 64, 65, 127, 128, 129, 197, 400} {
			x := atEnd(n)
			var want uint64
			for i := range x {
				x[i] = uint64(i+1) * 0x9E3779B97F4A7C15
				want ^= x[i]
			}
			require.Equal(t, want, ReadWords(x), n)
		}
	})
}

func BenchmarkProbes(b *testing.B) {
	benchEachPath(b, func(b *testing.B, _ Path) {
		for name, p := range map[string]Probe{"fma": ProbeFMA, "float": ProbeFloat, "integer": ProbeInteger, "multiply": ProbeMultiply, "lookup": ProbeLookup} {
			b.Run(name, func(b *testing.B) {
				operations := 0.0
				for b.Loop() {
					operations += p.Run(probeRounds)
				}
				b.ReportMetric(operations/float64(b.Elapsed().Nanoseconds()), "op/ns")
			})
		}
	})
}
