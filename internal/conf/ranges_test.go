package conf

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestRanges takes the numbers on either side of each bound: what a network
// computes with in single precision must not become 0 or infinite there.
func TestRanges(t *testing.T) {
	const (
		least  = 0x1p-126
		below  = 0x1.fffffffffffffp-127
		most   = math.MaxFloat32
		beyond = 0x1p128
	)
	inf, nan := math.Inf(1), math.NaN()
	for _, c := range []struct {
		name    string
		check   func(key string, x float64) error
		good    []float64
		bad     []float64 // for what they are
		beyond  []float64 // single precision
		message string
	}{
		{"positive", Positive, []float64{least, 1, most}, []float64{0, -1, -least, inf, -inf, nan}, []float64{below, 1e-300, beyond, 1e300, math.MaxFloat64}, "is not a positive finite number"},
		{"not negative", rules["not negative"].check, []float64{0, least, most}, []float64{-1, -1e-300, inf, nan}, []float64{below, 1e-300, beyond, math.MaxFloat64}, "is not a finite number ≥ 0"},
		{"finite", rules["finite"].check, []float64{0, 1e-300, -1e-300, most, -most}, []float64{inf, -inf, nan}, []float64{beyond, -beyond, 1e150}, "is not finite"},
		{"slope", rules["slope"].check, []float64{least, 0.2, 1}, []float64{0, -0.1, math.Nextafter(1, 2), inf, nan}, []float64{below, 1e-300}, "is not in (0, 1]"},
		{"fraction", Fraction, []float64{0, 1e-300, 1}, []float64{-1e-300, math.Nextafter(1, 2), inf, nan}, nil, "is not between 0 and 1"},
	} {
		for _, x := range c.good {
			require.NoError(t, c.check("a.b", x), "%s: %v", c.name, x)
		}
		for _, x := range c.bad {
			require.ErrorContains(t, c.check("a.b", x), c.message, "%s: %v", c.name, x)
		}
		for _, x := range c.beyond {
			require.ErrorContains(t, c.check("a.b", x), "is beyond single precision", "%s: %v", c.name, x)
		}
		require.ErrorContains(t, c.check("a.b", nan), "a.b: NaN")
	}
	for _, x := range []float64{0, 0.5, 0.9999999} {
		require.NoError(t, rules["decay"].check("a", x))
	}
	for _, x := range []float64{-1e-300, 1, 2, nan} {
		require.ErrorContains(t, rules["decay"].check("a", x), "a: ", "%v", x)
		require.ErrorContains(t, rules["decay"].check("a", x), "is not in [0, 1)", "%v", x)
	}
	require.ErrorContains(t, rules["decay"].check("a", 1-1e-9), "is 1 in single precision")
	require.NoError(t, First(Between("a", 1, 1, 3), Between("a", 3, 1, 3), Widths("a", []int{1, 1024}), Widths("a", make([]int, 0))))
	require.EqualError(t, First(nil, Between("a", 0, 1, 3), Between("a", 4, 1, 3)), "a: 0 is not between 1 and 3")
	require.EqualError(t, Between("a", 4, 1, 3), "a: 4 is not between 1 and 3")
	require.EqualError(t, Widths("a", []int{1, 1025}), "a[1]: 1025 is not between 1 and 1024")
	require.EqualError(t, Widths("a", make([]int, 65)), "a: 65 layers are more than 64")
	require.EqualError(t, Widths("a", make([]int, 64)), "a[0]: 0 is not between 1 and 1024")
	for x, good := range map[float64]bool{0: true, 1: true, -1e-300: false, math.Nextafter(1, 2): false} {
		require.Equal(t, good, rules["probability"].check("a", x) == nil, x)
	}
	require.EqualError(t, rules["probability"].check("a", nan), "a: NaN is not a probability")
	require.EqualError(t, Deviations("a", nil), "a: the list is empty; give at least one standard deviation")
	require.EqualError(t, Deviations("a", []float64{1, 0}), "a[1]: 0 is not a positive finite number")
	require.NoError(t, Deviations("a", []float64{1, 2}))
	require.NoError(t, AllPositive("a", nil))
	require.EqualError(t, OneOf("a", "x", []string{"y", "z"}), `a: "x" is not one of y, z`)
	require.NoError(t, OneOf("a", "z", []string{"y", "z"}))
	require.NoError(t, Under("a", nil))
	require.EqualError(t, Under("a", rules["probability"].check("b", 2)), "a.b: 2 is not a probability")
	require.NoError(t, First(nil, nil))
	require.EqualError(t, Positive("a", beyond), "a: 3.402823669209385e+38 is beyond single precision, in which it is used and which holds 1.2e-38 to 3.4e38")
}

// TestIs: what tags say of numbers is checked at any depth, by path, where the choices leave them.
func TestIs(t *testing.T) {
	type rest struct {
		Kind  string    `json:"kind" enum:"long,short"`
		Bars  int       `json:"bars" is:"2..8"`
		Beats int       `json:"beats" is:"1.."`
		Force float64   `json:"force" is:"not negative" when:"kind=long"`
		Lines []int     `json:"lines" is:"widths"`
		Pitch []float64 `json:"pitch" is:"finite"`
		Free  float64   `json:"free"`
	}
	type piece struct {
		Rest  rest    `json:"rest"`
		Tempo float64 `json:"tempo" is:"positive"`
		Fade  float64 `json:"fade" is:"decay"`
		Slope float64 `json:"slope" is:"slope"`
		Share float64 `json:"share" is:"fraction"`
		Odds  float64 `json:"odds" is:"probability"`
	}
	for want, change := range map[string]func(p *piece){
		"":                                    func(p *piece) { p.Rest.Bars, p.Rest.Beats, p.Rest.Free = 8, math.MaxInt32, math.NaN() },
		"rest.bars: 1 is not between 2 and 8": func(p *piece) { p.Rest.Bars = 1 },
		"rest.bars: 9 is not between 2 and 8": func(p *piece) { p.Rest.Bars = 9 },
		"rest.beats: 0 is not between 1 and 2147483647":          func(p *piece) { p.Rest.Beats = 0 },
		"rest.beats: 2147483648 is not between 1 and 2147483647": func(p *piece) { p.Rest.Beats = math.MaxInt32 + 1 },
		"rest.force: -1 is not a finite number ≥ 0":              func(p *piece) { p.Rest.Force = -1 },
		"rest.lines[1]: 0 is not between 1 and 1024":             func(p *piece) { p.Rest.Lines = []int{3, 0} },
		"rest.pitch[1]: NaN is not finite":                       func(p *piece) { p.Rest.Pitch = []float64{0, math.NaN()} },
		"tempo: 0 is not a positive finite number":               func(p *piece) { p.Tempo = 0 },
		"fade: 1 is not in [0, 1)":                               func(p *piece) { p.Fade = 1 },
		"slope: 2 is not in (0, 1]":                              func(p *piece) { p.Slope = 2 },
		"share: 2 is not between 0 and 1":                        func(p *piece) { p.Share = 2 },
		"odds: -1 is not a probability":                          func(p *piece) { p.Odds = -1 },
	} {
		p := piece{rest{Kind: "long", Bars: 2, Beats: 1, Lines: []int{1}}, 1, 0, 1, 0, 1}
		change(&p)
		if err := Check(&p); want == "" {
			require.NoError(t, err)
		} else {
			require.EqualError(t, err, want)
		}
	}
	require.NoError(t, Check(&piece{rest{Kind: "short", Bars: 2, Beats: 1, Force: -1}, 1, 0, 1, 0, 1}))
}
