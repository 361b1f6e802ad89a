package figure

import (
	"math"
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

func TestLayers(t *testing.T) {
	l := Samples(12345)
	require.Equal(t, Layer{Mark: Points, Role: Generated, Label: "generated (12 345 samples)"}, l)
	l.Add(1, 10, 0.5)
	l.Add(2, -3, 0)
	require.Equal(t, Layer{Mark: Points, Role: Generated, Label: l.Label, X: []float64{1, 2}, Y: []float64{10, -3}, Low: []float64{10 - 0.98, -3}, High: []float64{10 + 0.98, -3}}, l)
	var f Layer
	f.AddFrequency(3, 0.2, 400)   // ± 1.96 √(.2·.8/400) = .0392
	f.AddFrequency(4, 0.001, 100) // whose interval reaches below 0
	require.InDeltaSlice(t, []float64{0.2 - 0.0392, 0.0001}, f.Low, 1e-12)
	require.InDeltaSlice(t, []float64{0.2 + 0.0392, 0.001 + 1.96*math.Sqrt(0.001*0.999/100)}, f.High, 1e-12)
	require.Equal(t, [][]float64{{3, 4}, {0.2, 0.001}}, [][]float64{f.X, f.Y})
}

func TestColourBar(t *testing.T) {
	g := &Grid{Min: -1, Max: 3}
	p := ColourBar(g, "a label")
	require.Equal(t, Panel{Width: 0.08, X: Axis{Max: 1, Ticks: []float64{}}, Y: Axis{Label: "a label", Min: -1, Max: 3}, Layers: p.Layers}, p)
	require.Len(t, p.Layers, 1)
	bar := p.Layers[0].Grid
	require.Equal(t, Heat, p.Layers[0].Mark)
	require.Equal(t, Grid{X1: 1, Y0: -1, Y1: 3, NX: 1, NY: 256, Z: bar.Z, Min: -1, Max: 3}, *bar)
	for j, z := range bar.Z {
		require.InDelta(t, -1+4*(float64(j)+0.5)/256, z, 1e-12)
	}
	x, y := Sample(-1, 2, 4, func(x float64) float64 { return x * x })
	require.Equal(t, [][]float64{{-1, 0, 1, 2}, {1, 0, 1, 4}}, [][]float64{x, y})
	g = &Grid{X0: 1, X1: 5, Y0: -2, Y1: 2, NX: 2, NY: 4}
	require.Equal(t, []float64{2, 4, -1.5, 1.5}, []float64{g.X(0), g.X(1), g.Y(0), g.Y(3)})
	for n, want := range map[int]string{9999: "9999", 100: "100", -1: "-1", 123456: "123 456"} {
		require.Equal(t, want, Count(n))
	}
	require.Equal(t, []int{-1, -1, -1, 0, 1}, []int{Target.Index(), Generated.Index(), Reference.Index(), Series(0).Index(), Series(1).Index()})
}
