package figure

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestHistogram(t *testing.T) {
	h := NewHistogram(-1, 1, 4)
	for _, x := range []float64{-1, -0.6, 0, 0.49, 0.5, 0.99, 1, -1.01} {
		h.Add(x)
	}
	require.Equal(t, []float64{2, 0, 2, 2}, h.Count)
	x, y, low, high := h.Density()
	require.Equal(t, []float64{-0.75, -0.25, 0.25, 0.75}, x)
	require.Equal(t, []float64{0.5, 0, 0.5, 0.5}, y, "of all eight values, two of which are outside")
	require.InDelta(t, 2*(0.25+1.96*0.15309), high[0], 1e-4)
	require.Zero(t, low[0])
}

func TestGrid(t *testing.T) {
	g := NewGrid(0, 3, -1, 1, 3, 2, func(x, y float64) float64 { return x + 10*y })
	require.Equal(t, []float64{0.5 - 5, 1.5 - 5, 2.5 - 5, 0.5 + 5, 1.5 + 5, 2.5 + 5}, g.Z)
	require.Equal(t, []float64{0, 7.5}, []float64{g.Min, g.Max})
}

func TestCount(t *testing.T) {
	for n, want := range map[int]string{0: "0", 999: "999", 2048: "2048", 10000: "10 000", 200000: "200 000", 1234567: "1 234 567"} {
		require.Equal(t, want, Count(n))
	}
}

func TestSeries(t *testing.T) {
	require.Equal(t, 3, Series(3).Index())
	require.Equal(t, -1, Target.Index())
	require.NotEqual(t, Series(0), Reference)
}
