package mmd

import (
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"
)

// What a loss is said to take bounds what it allocates, in each shape that another part of
// it takes most of, and is not far above.
func TestBytesBoundWhatIsAllocated(t *testing.T) {
	k := Kernel{Bandwidths: []float64{1}}
	holds := func(bound, atMost float64, make func() error) {
		t.Helper()
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		require.NoError(t, make())
		runtime.ReadMemStats(&after)
		took := float64(after.TotalAlloc - before.TotalAlloc)
		require.GreaterOrEqual(t, bound, took)
		require.Less(t, bound, atMost*took)
	}
	for _, c := range [][2]int{{2, 1}, {70, 1}, {1000, 10}, {1024, 1}, {1100, 200}, {20000, 2}} {
		n, dim := c[0], c[1]
		holds(GramBytes(n, dim), 1.15+2000/float64(n*n), func() error { _, err := NewGram(n, dim, k, V, nil); return err })
		for _, modes := range []int{1, 4, 100} {
			holds(MixedBytes(n, dim, modes), 1.25+400/float64(n), func() error { _, err := NewMixed(n, dim, modes, k, V, nil); return err })
		}
	}
	for _, c := range [][2]int{{2000, 3}, {1000, 64}, {200, 2000}, {20000, 100}} {
		n, spins := c[0], c[1]
		holds(HammingBytes(n, spins), 2.6, func() error { _, err := NewHamming(n, spins, k, Surrogate, V, nil); return err })
	}
}
