package pool

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"
)

// A buffer that a pool lent is another's when it was given back, and not before.
func TestLending(t *testing.T) {
	for n := range 1 << 12 {
		c := capacity(n + leastLent)
		require.GreaterOrEqual(t, c, n+leastLent)
		require.LessOrEqual(t, float64(c), 1.125*float64(n+leastLent)+1)
		require.Equal(t, c, capacity(c), "those of one shelf are of one length")
	}
	const n = 1<<17 + 5
	a, b := New(1), New(2)
	defer a.Close()
	defer b.Close()
	var small, x, y, z []float32
	giveBack := a.Lending(func() {
		small = a.Float32s(10)
		SpoilLent = true
		x, y = a.Float32s(n), a.Float32s(n)
	})
	defer func() { SpoilLent = false }()
	b.Lending(func() { z = b.Float32s(n - 1) }) // and keeps it
	require.Len(t, x, n)
	require.Equal(t, n, cap(x), "nobody appends to what is not lent")
	require.NotSame(t, &x[0], &y[0])
	require.NotSame(t, &x[0], &z[0])
	x[n-1], y[0] = 7, 8
	giveBack()
	giveBack()
	require.Equal(t, make([]float32, 10), small, "what is too small to be lent is its owner's")
	require.Equal(t, make([]float32, n), a.Float32s(n), "without a loan")
	again := 0
	b.Lending(func() {
		for range 3 { // the collector may have taken some, and the race detector lets some go
			w := b.Float32s(n)
			if &w[0] == &x[0] || &w[0] == &y[0] {
				again++
				require.True(t, math.IsNaN(float64(w[n-1])))
			}
		}
	})
	require.LessOrEqual(t, again, 2)
}
