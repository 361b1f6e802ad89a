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
		{"not negative", NotNegative, []float64{0, least, most}, []float64{-1, -1e-300, inf, nan}, []float64{below, 1e-300, beyond, math.MaxFloat64}, "is not a finite number ≥ 0"},
		{"finite", Finite, []float64{0, 1e-300, -1e-300, most, -most}, []float64{inf, -inf, nan}, []float64{beyond, -beyond, 1e150}, "is not finite"},
		{"slope", Slope, []float64{least, 0.2, 1}, []float64{0, -0.1, math.Nextafter(1, 2), inf, nan}, []float64{below, 1e-300}, "is not in (0, 1]"},
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
		require.NoError(t, Decay("a", x))
	}
	for _, x := range []float64{-1e-300, 1, 2, nan} {
		require.ErrorContains(t, Decay("a", x), "a: ", "%v", x)
		require.ErrorContains(t, Decay("a", x), "is not in [0, 1)", "%v", x)
	}
	require.ErrorContains(t, Decay("a", 1-1e-9), "is 1 in single precision")
	require.NoError(t, First(Between("a", 1, 1, 3), Between("a", 3, 1, 3), Widths("a", []int{1, 1024}), Widths("a", make([]int, 0))))
	require.EqualError(t, First(nil, Between("a", 0, 1, 3), Between("a", 4, 1, 3)), "a: 0 is not between 1 and 3")
	require.EqualError(t, Between("a", 4, 1, 3), "a: 4 is not between 1 and 3")
	require.EqualError(t, Widths("a", []int{1, 1025}), "a[1]: 1025 is not between 1 and 1024")
	require.EqualError(t, Widths("a", make([]int, 65)), "a: 65 layers are more than 64")
	require.EqualError(t, Widths("a", make([]int, 64)), "a[0]: 0 is not between 1 and 1024")
	for x, good := range map[float64]bool{0: true, 1: true, -1e-300: false, math.Nextafter(1, 2): false} {
		require.Equal(t, good, Probability("a", x) == nil, x)
	}
	require.EqualError(t, Probability("a", nan), "a: NaN is not a probability")
	require.EqualError(t, Deviations("a", nil), "a: the list is empty; give at least one standard deviation")
	require.EqualError(t, Deviations("a", []float64{1, 0}), "a[1]: 0 is not a positive finite number")
	require.NoError(t, Deviations("a", []float64{1, 2}))
	require.NoError(t, AllPositive("a", nil))
	require.EqualError(t, OneOf("a", "x", []string{"y", "z"}), `a: "x" is not one of y, z`)
	require.NoError(t, OneOf("a", "z", []string{"y", "z"}))
	require.NoError(t, Under("a", nil))
	require.EqualError(t, Under("a", Probability("b", 2)), "a.b: 2 is not a probability")
	require.NoError(t, First(nil, nil))
	require.EqualError(t, Positive("a", beyond), "a: 3.402823669209385e+38 is beyond single precision, in which it is used and which holds 1.2e-38 to 3.4e38")
}
