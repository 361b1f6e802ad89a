package draw

import (
	"fmt"
	"io"
	"math"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"gonum.org/v1/plot/vg"

	"github.com/revgen/revgen/internal/figure"
)

// TestEveryTick lists the ticks of ranges, those without labels as dots.
func TestEveryTick(t *testing.T) {
	log := figure.Axis{Scale: figure.Log}
	for _, c := range []struct {
		axis      figure.Axis
		low, high float64
		want      string
	}{
		{figure.Axis{}, 0, 10, "0 2 4 6 8 10"},
		{figure.Axis{}, 0, 5, "0 1 2 3 4 5"},
		{figure.Axis{}, 0, 5.1, "0 2 4"},
		{figure.Axis{}, -7, 3, "−6 −4 −2 0 2"},
		{figure.Axis{}, 0.999, 1.001, "0.9990 0.9995 1.0000 1.0005 1.0010"},
		{figure.Axis{}, 0.01, 0.014, "0.010 0.011 0.012 0.013 0.014"},
		{figure.Axis{}, 1e-4, 9e-4, "2·10^{−4} 4·10^{−4} 6·10^{−4} 8·10^{−4}"},
		{figure.Axis{}, -1e6, 0, "−10^{6} −8·10^{5} −6·10^{5} −4·10^{5} −2·10^{5} 0"},
		{figure.Axis{}, -9e5, 0, "−800000 −600000 −400000 −200000 0"},
		{figure.Axis{}, 2, 2, ""},
		{figure.Axis{}, 3, 2, ""},
		{figure.Axis{}, math.NaN(), 2, ""},
		{figure.Axis{Ticks: []float64{-0.5, 2e6, 1e-4}}, 0, 1, "−0.5 2·10^{6} 10^{−4}"},
		{figure.Axis{Ticks: []float64{}}, 0, 1, ""},
		{log, 1, 5, "1 2 3 4 5"}, // of less than .7 decades
		{log, 1, 5.02, "1 2 . . 5"},
		{log, 1, 50, "1 2 . . 5 . . . . 10 20 . . 50"},
		{log, 1, 51, "1 . . . . . . . . 10 . . . ."}, // of more than 1.7
		{log, 3, 30, ". . 5 . . . . 10 20 ."},
		{log, 1, 9.9e2, "1 . . . . . . . . 10 . . . . . . . . 10^{2} . . . . . . . ."},
		{log, 0.5, 3e6, "1 . 10^{2} . 10^{4} . 10^{6}"},
		{log, 0, 1, ""}, {log, -1, 1, ""}, {log, 2, 2, ""}, {log, 2, math.NaN(), ""},
	} {
		var all []string
		for _, tick := range (ticker{c.axis}).Ticks(c.low, c.high) {
			if tick.Label == "" {
				tick.Label = "."
			}
			all = append(all, tick.Label)
			if c.axis.Ticks == nil && tick.Label != "." && !strings.ContainsAny(tick.Label, "^·") && c.low < 0.5 {
				var x float64
				_, err := fmt.Sscan(strings.ReplaceAll(tick.Label, "−", "-"), &x)
				require.NoError(t, err)
				require.InDelta(t, x, tick.Value, 1e-9*math.Abs(x))
			}
		}
		require.Equal(t, c.want, strings.Join(all, " "), "%v to %v", c.low, c.high)
	}
	for x, want := range map[float64]string{
		0: "0", 0.001: "0.001", 0.0009: "9·10^{−4}", 999_999: "999999", 1e6: "10^{6}", -1e6: "−10^{6}", 0.30000000000000004: "0.3", -2.5: "−2.5", 10: "10", -0.00012: "−1.2·10^{−4}",
	} {
		require.Equal(t, want, number(x))
	}
	for x, want := range map[float64]string{0: "0", 1: "1", 10: "10", 100: "10^{2}", 25: "2.5·10", 9.9999e3: "10^{4}", 12345: "1.234·10^{4}", -0.2: "−2·10^{−1}", 3: "3", -1.5: "−1.5"} {
		require.Equal(t, want, scientific(x))
	}
	require.False(t, math.Signbit(round10(math.Copysign(0, -1))))
}

// TestScales: values stand where they or their logarithms do.
func TestScales(t *testing.T) {
	log := normalizer{figure.Axis{Scale: figure.Log}}
	for _, c := range []struct {
		n                  normalizer
		low, high, x, want float64
	}{
		{normalizer{}, 2, 6, 3, 0.25}, {normalizer{}, 2, 6, 0, -0.5},
		{log, 1, 100, 10, 0.5}, {log, 10, 1000, 100_000, 2}, {log, 1, 100, 0, 0}, {log, 1, 100, -3, 0},
	} {
		require.InDelta(t, c.want, c.n.Normalize(c.low, c.high, c.x), 1e-12, c)
	}
	inf := math.Inf(1)
	linear := &figure.Axis{}
	for _, c := range []struct {
		axis                  *figure.Axis
		from, to, least, most float64
	}{
		{linear, 2, 2, 1, 3}, {&log.Axis, 2, 2, 1, 4},
		{linear, inf, -inf, 0, 2}, {&log.Axis, inf, -inf, 0.5, 2},
		{linear, 0, 10, 0, 10.6}, {linear, 1, 11, 0.4, 11.6}, {linear, -10, 0, -10.6, 0.6},
		{&log.Axis, 1, 100, math.Pow(100, -0.06), math.Pow(100, 1.06)},
	} {
		low, high := widen(c.axis, extent{c.from, c.to})
		require.InDeltaSlice(t, []float64{c.least, c.most}, []float64{low, high}, 1e-12, c)
	}
}

// TestFiniteLayers: points with an undefined value are left out, lines are broken there, and layers
// without any are left out.
func TestFiniteLayers(t *testing.T) {
	nan, inf := math.NaN(), math.Inf(1)
	x := []float64{1, 2, 3, 4}
	for _, c := range []struct {
		in, want figure.Layer
	}{
		{figure.Layer{Mark: figure.Points, X: x, Y: []float64{1, nan, 3, inf}}, figure.Layer{Mark: figure.Points, X: []float64{1, 3}, Y: []float64{1, 3}}},
		{figure.Layer{Mark: figure.Points, X: x, Y: x, Low: []float64{0, 0, -inf, 0}, High: []float64{nan, 9, 9, 9}},
			figure.Layer{Mark: figure.Points, X: []float64{2, 4}, Y: []float64{2, 4}, Low: []float64{0, 0}, High: []float64{9, 9}}},
		{figure.Layer{Mark: figure.Band, X: []float64{1, nan}, Low: []float64{0, 1}, High: []float64{2, 3}}, figure.Layer{Mark: figure.Band, X: []float64{1}, Low: []float64{0}, High: []float64{2}}},
		{figure.Layer{Mark: figure.Line, X: x[:3], Y: []float64{1, inf, 3}}, figure.Layer{Mark: figure.Line, X: x[:3], Y: []float64{1, inf, 3}}},
		{figure.Layer{Mark: figure.Level, Y: []float64{nan}}, figure.Layer{Mark: figure.Level}},
		{figure.Layer{Mark: figure.Heat, Grid: &figure.Grid{}}, figure.Layer{Mark: figure.Heat, Grid: &figure.Grid{}}},
	} {
		got := finiteLayers([]figure.Layer{{Mark: figure.Bars}, c.in, {Mark: figure.Points, X: []float64{1}, Y: []float64{nan}}})
		require.Len(t, got, 1, "%v", c.in)
		if c.in.Mark != figure.Level {
			require.Equal(t, c.want, got[0])
		}
	}
	require.Equal(t, []float64{1, 2, 3, 4}, x)
}

// TestExtents: axes show what their layers need, and on a logarithmic scale what is positive.
func TestExtents(t *testing.T) {
	log := figure.Axis{Scale: figure.Log}
	grid := &figure.Grid{X0: -1, X1: 4, Y0: -2, Y1: 5}
	l := figure.Layer{X: []float64{1, 3}, Y: []float64{2, 6}, Low: []float64{0.5, -1}, High: []float64{8, 7}, Width: 4}
	of := func(m figure.Mark) figure.Layer { l := l; l.Mark = m; return l }
	for _, c := range []struct {
		layer figure.Layer
		axis  figure.Axis
		want  [4]float64
	}{
		{of(figure.Points), figure.Axis{}, [4]float64{-1, 5, -1, 8}},
		{of(figure.Points), log, [4]float64{1, 5, 2, 8}}, // not where intervals begin
		{of(figure.Band), log, [4]float64{1, 5, 0.5, 8}},
		{of(figure.Bars), figure.Axis{}, [4]float64{-1, 5, -1, 8}},
		{figure.Layer{Mark: figure.Bars, X: []float64{1}, Y: []float64{2}}, figure.Axis{}, [4]float64{1, 1, 0, 2}},
		{figure.Layer{Mark: figure.Area, X: []float64{1}, Y: []float64{2}}, figure.Axis{}, [4]float64{1, 1, 0, 2}},
		{figure.Layer{Mark: figure.Area, X: []float64{1}, Y: []float64{2}}, log, [4]float64{1, 1, 2, 2}},
		{figure.Layer{Mark: figure.Line, X: []float64{1, 2}, Y: []float64{2, math.NaN()}}, figure.Axis{}, [4]float64{1, 2, 2, 2}},
		{figure.Layer{Mark: figure.Heat, Grid: grid, X: []float64{9}, Y: []float64{9}}, figure.Axis{}, [4]float64{-1, 4, -2, 5}},
		{figure.Layer{Mark: figure.Contour, Grid: grid, Y: []float64{99}}, log, [4]float64{4, 4, 5, 5}},
	} {
		x, y := extents(&figure.Panel{X: c.axis, Y: c.axis}, []figure.Layer{c.layer})
		require.Equal(t, c.want, [4]float64{x.low, x.high, y.low, y.high}, c.layer)
	}
	x, y := extents(&figure.Panel{X: log}, []figure.Layer{of(figure.Points)})
	require.Equal(t, [4]float64{1, 5, -1, 8}, [4]float64{x.low, x.high, y.low, y.high})
	for n, want := range map[int]vg.Length{60: pointRadius, 61: 0.7 * pointRadius} {
		require.Equal(t, want, layer{&figure.Layer{X: make([]float64, n)}}.dot().Radius)
	}
}

// TestMarks of labels: scripts end at their brace, and a mark that does not end is text.
func TestLabels(t *testing.T) {
	for in, want := range map[string][]fragment{
		"":           nil,
		"*a":         {{"*", false, 0}, {"a", false, 0}},
		"**":         nil,
		"*a*b*":      {{"a", true, 0}, {"b*", false, 0}},
		"a_{}b":      {{"a", false, 0}, {"b", false, 0}},
		"a^{2}_{x}":  {{"a", false, 0}, {"2", false, 1}, {"x", false, -1}},
		"*a_{i}b* c": {{"a", true, 0}, {"i", true, -1}, {"b", true, 0}, {" c", false, 0}},
		"a}_{b":      {{"a}_", false, 0}, {"{b", false, 0}},
		"_":          {{"_", false, 0}},
		"x_1^{2}":    {{"x_", false, 0}, {"1", false, 0}, {"2", false, 1}},
	} {
		require.Equal(t, want, parse(in), in)
	}
}

type full struct{}

func (full) Write([]byte) (int, error) { return 0, io.ErrShortWrite }

// TestFullDisk: what cannot be written is an error.
func TestFullDisk(t *testing.T) {
	f := &figure.Figure{Name: "a", Title: "a"}
	require.ErrorIs(t, SVG(full{}, f), io.ErrShortWrite)
	require.Error(t, PNG(full{}, f))
	none := filepath.Join(t.TempDir(), "none")
	require.NoError(t, Write(none, nil, Vector))
	require.NoDirExists(t, none)
	require.Error(t, Write(t.TempDir(), []figure.Figure{{Name: "no/such/folder"}}, Vector))
}
