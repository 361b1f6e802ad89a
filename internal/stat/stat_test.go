package stat

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
)

// uniform is the law on [low, low+1].
type uniform struct{ low float64 }

func (u uniform) clamp(x float64) float64 { return min(max(x-u.low, 0), 1) }
func (u uniform) CDF(x float64) float64   { return u.clamp(x) }
func (u uniform) Quantile(p float64) float64 {
	if !(p > 0 && p < 1) {
		panic("quantiles are asked for between 0 and 1")
	}
	return u.low + p
}
func (u uniform) Mean() float64 { return u.low + 0.5 }
func (u uniform) Density(x float64) float64 {
	return map[bool]float64{true: 1}[x >= u.low && x <= u.low+1]
}
func (u uniform) CDFIntegral(x float64) float64 {
	c := u.clamp(x)
	return c*c/2 + max(0, x-u.low-1)
}

func TestWasserstein(t *testing.T) {
	for _, low := range []float64{0, -3, 10} {
		l := uniform{low}
		// One sample in the middle, at the left end, beyond the right end.
		for at, want := range map[float64]float64{0.5: 0.25, 0: 0.5, 3: 2.5, -1: 1.5} {
			d, _, _ := Wasserstein(context.Background(), []float64{low + at}, l)
			require.InDelta(t, want, d, 1e-14, "%v", at)
		}
		// n samples at the centres of n cells.
		x := make([]float64, 10)
		for i := range x {
			x[i] = low + (float64(i)+0.5)/10
		}
		d, _, _ := Wasserstein(context.Background(), x, l)
		require.InDelta(t, 0.025, d, 1e-14)
		// A quarter of them moved by one.
		x = []float64{low + 0.25, low + 0.5, low + 0.75, low + 2}
		numeric := 0.0
		const cells = 1 << 16
		for i := range cells {
			at := low + 2.5*(float64(i)+0.5)/cells
			below, _ := slices.BinarySearch(x, at)
			numeric += 2.5 / cells * math.Abs(float64(below)/4-l.CDF(at))
		}
		d, _, _ = Wasserstein(context.Background(), x, l)
		require.InDelta(t, numeric, d, 1e-4)
	}
}

// TestFloorAndStandardError compares both with the scatter of exact and of
// shifted samples.
func TestFloorAndStandardError(t *testing.T) {
	// ∫ √(F(1−F)) of the uniform law is π/8; the rule's step costs 1.5e-7.
	require.InEpsilon(t, math.Pi/8*math.Sqrt(2/(math.Pi*400)), WassersteinFloor(uniform{-1}, 400), 4e-7)

	r := rand.New(rand.NewPCG(1, 1))
	l := uniform{-1}
	const n, repeats = 400, 2000
	var exact, shifted, claimed Mean
	for range repeats {
		x := make([]float64, n)
		for i := range x {
			x[i] = -1 + r.Float64()
		}
		slices.Sort(x)
		d, _, _ := Wasserstein(context.Background(), x, l)
		exact.Add(d)
		for i := range x {
			x[i] += 0.5
		}
		d, se, _ := Wasserstein(context.Background(), x, l)
		shifted.Add(d)
		claimed.Add(se)
	}
	require.InDelta(t, exact.Value(), WassersteinFloor(l, n), 6*exact.StandardError()+0.02*exact.Value())
	require.InDelta(t, 0.5, shifted.Value(), 6*shifted.StandardError())
	require.InEpsilon(t, shifted.Deviation(), claimed.Value(), 0.1)
}

// TestStandardErrorIsThatOfTheInfluence integrates the influence of each sample,
// ∫ sign(F_n − F) up to it, for laws of samples that lie above and below the
// exact one and cross it between samples.
func TestStandardErrorIsThatOfTheInfluence(t *testing.T) {
	l := uniform{0}
	for _, x := range [][]float64{
		{0.02, 0.1, 0.15, 0.2, 0.3, 0.7, 0.99}, // above
		{0.3, 0.6, 0.8, 0.9, 0.95},             // below
		{0.1, 0.12, 0.55, 0.85, 0.9, 1.4},      // both, with crossings
		{-1, 0.5, 2},
	} {
		n := float64(len(x))
		var influence, sum, squares float64
		for i, b := range x[1:] {
			const cells = 1 << 14
			step := (b - x[i]) / cells
			for c := range cells {
				if float64(i+1)/n >= l.CDF(x[i]+(float64(c)+0.5)*step) {
					influence += step
				} else {
					influence -= step
				}
			}
			sum += influence
			squares += influence * influence
		}
		_, se, _ := Wasserstein(context.Background(), x, l)
		require.InDelta(t, math.Sqrt((squares/n-sum/n*sum/n)/n), se, 1e-3*se, "%v", x)
	}
}

// logistic is the law with CDF 1/(1+e^−x).
type logistic struct{}

func (logistic) CDF(x float64) float64     { return 1 / (1 + math.Exp(-x)) }
func (logistic) Density(x float64) float64 { return 1 / (2 + 2*math.Cosh(x)) }

func TestRoot(t *testing.T) {
	for _, u := range []float64{1e-9, 0.2, 0.5, 0.999} {
		require.InDelta(t, math.Log(u/(1-u)), Root(logistic{}, u, -50, 50, 7), 1e-6, "%v", u)
	}

	l := uniform{2}
	for _, u := range []float64{1e-12, 0.3, 0.999} {
		require.InDelta(t, 2+u, Root(l, u, 1, 4, 1.5), 1e-14)
	}
}

func TestMean(t *testing.T) {
	var m Mean
	m.Add(3)
	require.Zero(t, m.Deviation(), "of one sample")
	m = Mean{}
	for _, x := range []float64{1e9 + 1, 1e9 + 2, 1e9 + 6} {
		m.Add(x)
	}
	require.InDelta(t, 1e9+3, m.Value(), 1e-6)
	require.InDelta(t, math.Sqrt(7), m.Deviation(), 1e-9)
	require.InDelta(t, math.Sqrt(7.0/3), m.StandardError(), 1e-9)
	interval := Interval(1, 0.5)
	require.InDelta(t, 1-0.98, interval[0], 1e-4)
	require.InDelta(t, 1+0.98, interval[1], 1e-4)
	require.InDelta(t, 0.7978845608, MeanAbsolute(1), 1e-9)
}

func TestMedian(t *testing.T) {
	require.Equal(t, 3.0, Median([]float64{5, 1, 3}))
	require.Equal(t, 2.5, Median([]float64{4, 1, 3, 2}))
	require.True(t, math.IsNaN(Median(nil)))
	require.True(t, math.IsNaN(Median([]float64{1, math.NaN(), 2})))
}

// TestWassersteinIsInterrupted: a cancellation is seen after at most interruptible numbers more.
func TestWassersteinIsInterrupted(t *testing.T) {
	x := make([]float64, 3*interruptible)
	for i := range x {
		x[i] = float64(i) / float64(len(x))
	}
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	l := &newTestRecorder{uniform: uniform{0}, at: 10, then: cancel}
	distance, standardError, err := Wasserstein(ctx, x, l)
	require.ErrorIs(t, err, context.Canceled)
	require.Zero(t, distance)
	require.Zero(t, standardError)
	require.Equal(t, 1+interruptible, l.calls)
	_, _, err = Wasserstein(ctx, x[:2], l)
	require.ErrorIs(t, err, context.Canceled, "at once")
	_, _, err = Wasserstein(context.Background(), x, l)
	require.NoError(t, err)
}

// newTestRecorder is a uniform law that counts the calls of its CDF.
type newTestRecorder struct {
	uniform
	calls, at int
	then      func()
}

func (w *newTestRecorder) CDF(x float64) float64 {
	if w.calls++; w.calls == w.at {
		w.then()
	}
	return w.uniform.CDF(x)
}

// counted is a logistic law that counts the calls of its CDF.
type counted struct {
	logistic
	calls int
}

func (c *counted) CDF(x float64) float64 { c.calls++; return c.logistic.CDF(x) }

// TestRootIsNewtons: few evaluations give all digits, from a good start, from one that
// Newton's method leaves the bounds from, and where a bound is the root.
func TestRootIsNewtons(t *testing.T) {
	for _, c := range []struct {
		u, a, b, x float64
		most       int
	}{
		{0.2, -50, 50, -1, 6}, {0.7, -50, 50, 0, 6}, {0.7, -50, 50, 49, 14}, {0.3, -50, 50, -49, 14},
		{0.5, 0, 50, 3, 60}, {0.5, -50, 0, -3, 60}, {0.25, -2, 1, 1, 12},
	} {
		l := new(counted)
		require.InDelta(t, math.Log(c.u/(1-c.u)), Root(l, c.u, c.a, c.b, c.x), 8e-15, "%v", c)
		require.LessOrEqual(t, l.calls, c.most, "%v", c)
	}
	l := new(counted)
	require.Equal(t, 0.0, Root(l, 0.5, -1, 1, 0))
	require.Equal(t, 1, l.calls)
}

// TestLargest holds the largest values to those of a sorted list, of every number of them, with
// equal ones and NaN among them.
func TestLargest(t *testing.T) {
	r := rand.New(rand.NewPCG(8, 9))
	for n := range 40 {
		values := make([]float64, n)
		for i := range values {
			values[i] = float64(r.IntN(30))
			if r.IntN(12) == 0 {
				values[i] = math.NaN()
			}
		}
		sorted := slices.Sorted(slices.Values(values))
		for m := 1; m <= n; m++ {
			require.Equal(t, fmt.Sprint(sorted[n-m:]), fmt.Sprint(Largest(values, m)))
		}
	}
}
