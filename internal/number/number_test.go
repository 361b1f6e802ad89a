package number

import (
	"encoding/json"
	"math"
	"math/bits"
	"testing"

	"github.com/stretchr/testify/require"
)

type figure struct {
	Name     string     `json:"name"`
	Value    float64    `json:"value"`
	Interval [2]float64 `json:"interval"`
	Paper    *float64   `json:"paper"`
	Parts    []part     `json:"parts,omitempty"`
	Law      law        `json:"law,omitempty"`
}

type law []float64

type part struct {
	X float64 `json:"x"`
}

func (f figure) MarshalJSON() ([]byte, error)     { return Marshal(f) }
func (f *figure) UnmarshalJSON(text []byte) error { return Unmarshal(text, f) }
func (p part) MarshalJSON() ([]byte, error)       { return Marshal(p) }
func (p *part) UnmarshalJSON(text []byte) error   { return Unmarshal(text, p) }

// TestRoundTrip writes every kind of number in every place that may hold one.
func TestRoundTrip(t *testing.T) {
	inf, paper := math.Inf(1), math.Inf(-1)
	f := figure{"kl", inf, [2]float64{-inf, 0.1}, &paper, []part{{math.MaxFloat64}, {inf}}, law{1, inf}}
	text, err := json.Marshal(f)
	require.NoError(t, err)
	require.Equal(t, `{"name":"kl","value":"Infinity","interval":["-Infinity",0.1],"paper":"-Infinity","parts":[{"x":1.7976931348623157e+308},{"x":"Infinity"}],"law":[1,"Infinity"]}`, string(text))
	var back figure
	require.NoError(t, json.Unmarshal(text, &back))
	require.Equal(t, f, back)

	// Not equal to itself, and nil where there is none.
	text, err = json.Marshal([]figure{{Name: "n", Value: math.NaN()}})
	require.NoError(t, err)
	require.Equal(t, `[{"name":"n","value":"NaN","interval":[0,0],"paper":null}]`, string(text))
	var all []figure
	require.NoError(t, json.Unmarshal(text, &all))
	require.True(t, math.IsNaN(all[0].Value))
	require.Nil(t, all[0].Paper)

	// What the text leaves out stays, and what it says is nothing does not.
	filled := figure{Name: "kept", Parts: []part{{1}}, Law: law{2, 3}}
	require.NoError(t, json.Unmarshal([]byte(`{"value":4}`), &filled))
	require.Equal(t, figure{Name: "kept", Value: 4, Parts: []part{{1}}, Law: law{2, 3}}, filled)
	require.NoError(t, json.Unmarshal([]byte(`{"parts":null}`), &filled))
	require.Nil(t, filled.Parts)
}

// TestFiniteAsBefore holds finite numbers to encoding/json's bytes.
func TestFiniteAsBefore(t *testing.T) {
	for _, x := range []float64{0, math.Copysign(0, -1), 1, 0.1, 1e21, 1e-7, -5e-324, math.MaxFloat64} {
		want, err := json.Marshal(x)
		require.NoError(t, err)
		got, err := json.Marshal(Float(x))
		require.NoError(t, err)
		require.Equal(t, string(want), string(got))
	}
}

func TestUnmarshalRefuses(t *testing.T) {
	for _, text := range []string{`{"value":"inf"}`, `{"value":null}`, `{"value":[1]}`, `{"interval":["x",1]}`, `[]`, `{"value":1e999}`} {
		require.Error(t, json.Unmarshal([]byte(text), new(figure)), text)
	}
	kept := figure{Name: "old", Value: 3}
	require.NoError(t, json.Unmarshal([]byte(`{"name":"new"}`), &kept))
	require.Equal(t, figure{Name: "new", Value: 3}, kept)
}

func TestFigures(t *testing.T) {
	for x, want := range map[float64]float64{0: 0, 1234.5: 1230, -1234.5: -1230, 0.0012345: 0.00123, 0.1 + 0.2: 0.3, 999.6: 1000, 99.96: 100} {
		require.Equal(t, want, Rounded(x, 3))
	}
	require.Equal(t, 2e15, Rounded(2.4e15, 1))
	for x, want := range map[float64]bool{0: true, -math.MaxFloat64: true, math.Inf(1): false, math.Inf(-1): false, math.NaN(): false} {
		require.Equal(t, want, Finite(x))
	}
	require.Equal(t, []float64{0.5, -2}, Widen([]float32{0.5, -2}))
	require.Equal(t, []float32{0.5, -2}, Narrow([]float64{0.5, -2}))
	require.Equal(t, 3.0, Largest([]float64{1, -3, 2}))
	require.Zero(t, Largest(nil))
	v := 2.0
	require.InDelta(t, 12, CentralDifference(&v, 1e-3, func() float64 { return v * v * v }), 2e-6)
	require.Equal(t, 2.0, v)
	x := []float64{1, 2, 3, 5, 8, 13, 21, 34}
	want := make([]float64, len(x))
	for i := range want {
		for j, v := range x {
			want[i] += v * float64(1-2*(bits.OnesCount(uint(i&j))&1))
		}
	}
	WalshHadamard(x)
	require.Equal(t, want, x)
}

func TestPercent(t *testing.T) {
	for x, want := range map[float64]string{0: "0 %", 1: "100 %", 0.996: "100 %", 0.994: "99 %", 12.34: "1200 %", -0.0123: "-1.2 %", 0.00019: "0.019 %", 3.14e-7: "3.1e-05 %"} {
		require.Equal(t, want, Percent(x))
	}
	require.Equal(t, "NaN %", Percent(math.NaN()))
}

// TestEmbedded: the figures of an embedded struct stand among the others.
func TestEmbedded(t *testing.T) {
	type Part struct {
		X float64 `json:"x"`
	}
	type whole struct {
		Name string `json:"name"`
		Part
		Y float64 `json:"y"`
	}
	text, err := Marshal(whole{"a", Part{math.Inf(1)}, math.NaN()})
	require.NoError(t, err)
	require.Equal(t, `{"name":"a","x":"Infinity","y":"NaN"}`, string(text))
	var back whole
	require.NoError(t, Unmarshal(text, &back))
	require.True(t, back.Name == "a" && math.IsInf(back.X, 1) && math.IsNaN(back.Y))
}
