package density

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// TestInside: however far out on the line, a state is between its bounds and on none, so
// that ln π is asked for inside alone.
func TestInside(t *testing.T) {
	bound := func(v float64) *float64 { return &v }
	for _, pair := range [][2]*float64{
		{bound(0), nil}, {nil, bound(0)}, {bound(0.1), nil}, {nil, bound(0.3)}, {bound(-1e9), nil},
		{bound(0), bound(1)}, {bound(-0.1), bound(0.7)}, {bound(1), bound(1.000001)},
	} {
		c := newChart(1, 1)
		require.NoError(t, c.bounds([][2]*float64{pair}))
		for y := -1000.0; y <= 1000; y += 0.37 {
			x, volume := []float32{0}, []float64{0}
			c.place(x, volume, []float32{float32(y)}, nil)
			require.True(t, pair[0] == nil || float64(x[0]) > *pair[0], y)
			require.True(t, pair[1] == nil || float64(x[0]) < *pair[1], y)
		}
	}
}
