package bench

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestMedian(t *testing.T) {
	require.Equal(t, 3.0, median([]float64{5, 1, 3}))
	require.Equal(t, 2.5, median([]float64{4, 1, 3, 2}))
	require.True(t, math.IsNaN(median(nil)))
}

func TestMedianInterval(t *testing.T) {
	// Of ten values the second and the ninth: both sides miss with probability
	// 2·(1+10)/1024 = 2.1 %; the third and the eighth would miss with 10.9 %.
	require.Equal(t, [2]float64{2, 9}, medianInterval([]float64{10, 9, 8, 7, 6, 5, 4, 3, 2, 1}))
	// Six extremes miss with 2/64 = 3.1 %; five with 6.3 %, but there is no better.
	require.Equal(t, [2]float64{1, 6}, medianInterval([]float64{1, 2, 3, 4, 5, 6}))
	require.Equal(t, [2]float64{1, 5}, medianInterval([]float64{1, 2, 3, 4, 5}))
	require.Equal(t, [2]float64{7, 7}, medianInterval([]float64{7}))
}

func TestMannWhitneyDistribution(t *testing.T) {
	// All six orders of two and two values, counted by hand.
	require.InDeltaSlice(t, []float64{1. / 6, 1. / 6, 2. / 6, 1. / 6, 1. / 6}, mannWhitney(2, 2), 1e-15)
	p := mannWhitney(7, 5)
	require.Len(t, p, 36)
	sum := 0.0
	for u, x := range p {
		require.InDelta(t, x, p[len(p)-1-u], 1e-15, "symmetric")
		sum += x
	}
	require.InDelta(t, 1, sum, 1e-14)
	require.InDelta(t, 1./792, p[0], 1e-15) // 12!/(7! 5!) orders
}

func TestRatioIntervalCoversTheRatio(t *testing.T) {
	const trials, factor = 2000, 1.3
	random := rand.New(rand.NewPCG(1, 2))
	missed := 0
	for range trials {
		a, b := make([]float64, 8), make([]float64, 10)
		for i := range a {
			a[i] = math.Exp(0.2 * random.NormFloat64())
		}
		for i := range b {
			b[i] = factor * math.Exp(0.2*random.NormFloat64())
		}
		interval, ok := ratioInterval(a, b)
		require.True(t, ok)
		if interval[0] > factor || interval[1] < factor {
			missed++
		}
	}
	// 5 % at most are missed; 5 standard deviations more have probability 3e-7.
	require.Less(t, float64(missed), trials*0.05+5*math.Sqrt(trials*0.05*0.95))
	require.Greater(t, missed, trials/100, "an interval that never misses is too wide")
}

func TestVerdicts(t *testing.T) {
	before := []float64{100, 102, 98, 101, 99, 100.5, 99.5, 101.5}
	scaled := func(f float64) []float64 {
		x := make([]float64, len(before))
		for i, v := range before {
			x[i] = f * v
		}
		return x
	}
	require.Equal(t, Faster, change(before, scaled(0.9)).Verdict)
	require.Equal(t, Slower, change(before, scaled(1.1)).Verdict)
	require.Equal(t, Inconclusive, change(before, scaled(1.002)).Verdict)
	require.InDelta(t, 0.9, change(before, scaled(0.9)).Ratio, 1e-12)
	few := change(before[:2], scaled(0.5)[:2])
	require.Equal(t, Inconclusive, few.Verdict)
	require.Contains(t, few.Detail, "too few")
}

func TestCompareMatchesRows(t *testing.T) {
	row := func(name string, amount float64, ns ...float64) Row {
		return Row{Suite: "gemm", Name: name, Path: "avx2", Threads: 1, Amount: amount, Times: Times{Nanoseconds: ns}}
	}
	now := []float64{5, 5.1, 5.2, 5.3, 5.4}
	former := &Report{Rows: []Row{row("a", 1, 10, 11, 12, 13, 14), row("b", 2, 10, 11, 12, 13, 14)}}
	report := &Report{Rows: []Row{row("a", 1, now...), row("b", 1, now...), row("c", 1, now...)}}
	report.Machine.CPU = "another"
	report.Compare(former)
	require.Equal(t, Faster, report.Rows[0].Change.Verdict)
	require.Contains(t, report.Rows[0].Change.Detail, "another CPU")
	require.Equal(t, Inconclusive, report.Rows[1].Change.Verdict, "another amount of work")
	require.Nil(t, report.Rows[2].Change)
}
