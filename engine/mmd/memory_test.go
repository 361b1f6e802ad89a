package mmd

import (
	"math"
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"
)

// What a loss is said to take bounds what it allocates, in each shape that another part of
// it takes most of, and is not far above.
func TestBytesBoundWhatIsAllocated(t *testing.T) {
	k := Kernel{Bandwidths: []float64{1}}
	holds := func(bound, atMost float64, make func()) {
		t.Helper()
		took := math.Inf(1)
		for range 3 { // the runtime allocates at times, too
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			make()
			runtime.ReadMemStats(&after)
			took = min(took, float64(after.TotalAlloc-before.TotalAlloc))
		}
		require.GreaterOrEqual(t, bound, took)
		require.Less(t, bound, atMost*took)
	}
	for _, c := range [][2]int{{2, 1}, {70, 1}, {1000, 10}, {1024, 1}, {1100, 200}, {20000, 2}} {
		n, dim := c[0], c[1]
		holds(GramBytes(n, dim), 1.15+2000/float64(n*n), func() { NewGram(n, dim, k, V, nil) })
		for _, modes := range []int{1, 4, 100} {
			holds(MixedBytes(n, dim, modes), 1.25+400/float64(n), func() { NewMixed(n, dim, modes, k, V, nil) })
		}
	}
	for _, c := range [][2]int{{2000, 3}, {1000, 64}, {200, 2000}, {20000, 100}} {
		n, spins := c[0], c[1]
		holds(HammingBytes(n, spins), 2.6, func() { NewHamming(n, spins, k, Surrogate, V, nil) })
	}
}

// TestBytes counts what the bounds are sums of: of 70 states in three coordinates, which are five
// pads and three strips of 32 in three tiles; of 40 configurations of 70 spins, in rows of two
// blocks more; and of 128 states in four modes, which are two tiles and a piece for each pair of
// modes.
func TestBytes(t *testing.T) {
	for n, want := range map[int]layout{1: {16, 32, 1}, 32: {32, 32, 1}, 33: {48, 32, 2}, 70: {80, 32, 3}, 1024: {1024, 32, 32}, 1025: {1040, 48, 22}, 1536: {1536, 48, 32}, 1537: {1552, 64, 25}} {
		require.Equal(t, want, layoutOf(n))
	}
	require.Equal(t, []float64{1. / 49, 1. / 42}, []float64{pairNorm(V, 7), pairNorm(U, 7)})
	scratch := func(dim float64) float64 { return 24*16 + 64*dim + math.Ceil(4*dim/16)*16 }
	floats := 70 + 3*3*80 + 3*(5*3*32+scratch(6)+8) + 3*((4*3+1)*32+3*32+scratch(6)+8)
	require.InEpsilon(t, 1.125*4*floats+4096, GramBytes(70, 3), 1e-14)
	require.Equal(t, (40.+64)*(8*70+8*20*2+400)+2*65536, HammingBytes(40, 70))
	require.Equal(t, (40.+64)*(8*64+8*20+400)+65536, HammingBytes(40, 64))
	piece := (12+12*3)*64 + 160 + 4*scratch(6)
	require.InEpsilon(t, 1.125*((4+16*3+4*4)*128+24*16+(16+2)*piece)+4096, MixedBytes(128, 3, 4), 1e-14)
	require.InEpsilon(t, 1.125*((4+16*3+4*4)*8+24*16+8.125*piece)+4096, MixedBytes(8, 3, 4), 1e-14)
}
