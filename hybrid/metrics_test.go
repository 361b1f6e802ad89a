package hybrid

import (
	"context"
	"math"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	gonum "gonum.org/v1/gonum/stat"

	"github.com/revgen/revgen/asm"
	"github.com/revgen/revgen/engine/measure"
	"github.com/revgen/revgen/internal/long"
	"github.com/revgen/revgen/internal/number"
	"github.com/revgen/revgen/internal/stat"
)

// naiveDiscrepancy is the squared discrepancy by sums over samples and
// integrals over the target.
func naiveDiscrepancy(target *Target, x []float32, k []uint8) float64 {
	kernel := func(x, y float64) float64 { return math.Exp(-(x - y) * (x - y) / 2) }
	n, m := float64(len(x)), float64(target.Modes())
	var sum float64
	for i := range x {
		for j := range x {
			if k[i] == k[j] {
				sum += kernel(float64(x[i]), float64(x[j])) / (n * n)
			}
		}
		w := target.Well(int(k[i]))
		sum -= 2 / (n * m) * simpson(func(y float64) float64 { return w.Density(y) * kernel(float64(x[i]), y) }, -w.edge(), w.edge(), 600)
	}
	for k := range target.Modes() {
		w := target.Well(k)
		sum += 1 / (m * m) * simpson(func(y float64) float64 {
			return w.Density(y) * simpson(func(z float64) float64 { return w.Density(z) * kernel(y, z) }, -w.edge(), w.edge(), 300)
		}, -w.edge(), w.edge(), 300)
	}
	return sum
}

func split(x []float32, k []uint8, modes int) [][]float64 {
	byMode := make([][]float64, modes)
	for i, v := range x {
		byMode[k[i]] = append(byMode[k[i]], float64(v))
	}
	return byMode
}

func TestJointDiscrepancy(t *testing.T) {
	target, err := NewTarget([]float64{.4, 9})
	require.NoError(t, err)
	x, k := exactBatch(target, 60, 1)
	for range 2 {
		want := naiveDiscrepancy(target, x, k)
		got := jointDiscrepancy(target, split(x, k, 2))
		require.InDelta(t, want, got.squared, 1e-9)
		for i := range x {
			x[i] = 1.5*x[i] + 1
			k[i] = 0
		}
	}
	// Far samples count as if all at one place, which is what these are.
	for i := range x[:20] {
		x[i] = 1000
	}
	got := jointDiscrepancy(target, split(x, k, 2))
	require.InDelta(t, naiveDiscrepancy(target, x, k), got.squared, 1e-9)
	var witness []float64
	for i, a := range x {
		var w float64
		for j, b := range x {
			if k[i] == k[j] {
				w += math.Exp(-math.Pow(float64(a)-float64(b), 2)/2) / float64(len(x))
			}
		}
		for _, b := range nodes(target.Well(int(k[i])), 4000) {
			w -= math.Exp(-math.Pow(float64(a)-b, 2)/2) / (2 * 4000)
		}
		witness = append(witness, w)
	}
	_, deviation := gonum.PopMeanStdDev(witness, nil)
	require.InEpsilon(t, 2*deviation/math.Sqrt(float64(len(x))), got.standardError, 1e-5)
}

// TestMetricsOfExactSamples compares the mean of each metric over repeated
// experiments with its floor. joint_mmd's floor is an upper bound.
func TestMetricsOfExactSamples(t *testing.T) {
	long.SkipShort(t)
	target := paperTarget(t)
	const repeats, n = 200, 3000
	values, quantiles := map[string][]float64{}, map[string]float64{}
	floors := map[string]float64{}
	x, k := make([]float32, n), make([]uint8, n)
	for r := range repeats {
		target.Sample(x, k, &asm.Counter{Seed: 21, Step: uint32(r)}, 0)
		e := table(t, target, x, k)
		require.Empty(t, e.Warnings)
		require.Equal(t, n, e.Samples)
		for _, m := range e.Metrics {
			values[m.Name] = append(values[m.Name], m.Error)
			floors[m.Name], quantiles[m.Name] = m.Floor, m.Quantile
			require.NotNil(t, m.Paper, m.Name)
			require.LessOrEqual(t, m.Interval[0], m.Generated)
			require.GreaterOrEqual(t, m.Interval[1], m.Generated)
		}
	}
	require.Len(t, values, 5)
	for name, v := range values {
		mean, sd := meanAndDeviation(v)
		slack := 6*sd/math.Sqrt(repeats) + 0.01*mean
		require.LessOrEqual(t, mean, floors[name]+slack, name)
		if name != "joint_mmd" {
			require.GreaterOrEqual(t, mean, floors[name]-slack, name)
		}
		// Twenty of them exceed their quantile, give or take five standard deviations.
		above := 0
		for _, error := range v {
			if error > quantiles[name] {
				above++
			}
		}
		require.InDelta(t, 0.05*repeats, above, 15, name)
	}
}

// TestIntervals takes samples of a law that is wrong in a known way and counts
// how often the intervals cover the metrics of that law, as estimated from a
// hundred times as many samples.
func TestIntervals(t *testing.T) {
	long.SkipShort(t)
	target, err := NewTarget([]float64{1, 2})
	require.NoError(t, err)
	wrong := func(n int, step uint32) ([]float32, []uint8) {
		x, k := make([]float32, n), make([]uint8, n)
		target.Sample(x, k, &asm.Counter{Seed: 22, Step: step}, 0)
		for i := range x {
			x[i] += .5
			if i%10 == 0 {
				k[i] = 0
			}
		}
		return x, k
	}
	truth := map[string]float64{}
	x, k := wrong(200000, 1000)
	for _, m := range table(t, target, x, k).Metrics {
		truth[m.Name] = m.Error
		require.Nil(t, m.Paper, "the target is not the paper's")
	}
	const repeats = 100
	covered := map[string]int{}
	for r := range repeats {
		x, k := wrong(2000, uint32(r))
		for _, m := range table(t, target, x, k).Metrics {
			if m.Interval[0] <= truth[m.Name] && truth[m.Name] <= m.Interval[1] {
				covered[m.Name]++
			}
		}
	}
	for name := range truth {
		// Six standard deviations of a binomial count below 95 %. The modes
		// are drawn with less than a binomial's variance.
		require.GreaterOrEqual(t, covered[name], 82, name)
	}
}

func TestWarnings(t *testing.T) {
	target := paperTarget(t)
	const n = 3000
	for want, change := range map[string]func(x *float32, k *uint8){
		"mode 1 (μ = 9) is all but lost: its probability is 0.0": func(_ *float32, k *uint8) {
			if *k == 1 {
				*k = 2
			}
		},
		"mode 0 (μ = 1) has all but lost its well at x = −1: 0.000": func(x *float32, k *uint8) {
			if *k == 0 && *x < 0 {
				*x = -*x
			}
		},
		"mode 2 (μ = 25) has all but lost its well at x = +5": func(x *float32, k *uint8) {
			if *k == 2 && *x > 0 {
				*x = -*x
			}
		},
		"100.0 % of the samples lie outside the wells": func(x *float32, _ *uint8) { *x += 20 },
	} {
		x, k := exactBatch(target, n, 2)
		for i := range x {
			change(&x[i], &k[i])
		}
		e := table(t, target, x, k)
		found := false
		for _, w := range e.Warnings {
			found = found || len(w) >= len(want) && w[:len(want)] == want
		}
		require.True(t, found, "%q is not in %q", want, e.Warnings)
	}
}

// TestTableOfAnEmptyMode: each figure of a table is that of its modes together, of which one without
// samples counts as if all of them were at 0, with the errors of those that have some.
func TestTableOfAnEmptyMode(t *testing.T) {
	target := paperTarget(t)
	const n = 4000
	x, k := exactBatch(target, n, 6)
	for i := range k {
		if k[i] == 1 {
			k[i] = 2
		}
	}
	byMode, all := split(x, k, 3), number.Widen(x)
	slices.Sort(all)
	conditional, variance, floor, l1 := target.Well(1).MeanAbs()/3, 0.0, 0.0, 1./3
	for _, mode := range []int{0, 2} {
		slices.Sort(byMode[mode])
		w, se, err := stat.Wasserstein(t.Context(), byMode[mode], target.Well(mode))
		require.NoError(t, err)
		conditional, variance = conditional+w/3, variance+se*se/9
		l1 += math.Abs(float64(len(byMode[mode]))/n - 1./3)
	}
	for mode := range 3 {
		floor += stat.WassersteinFloor(target.Well(mode), n/3.) / 3
	}
	marginal, se, err := stat.Wasserstein(t.Context(), all, target)
	require.NoError(t, err)
	d := jointDiscrepancy(target, byMode)
	laws := target.errorLaws()
	got := map[string]measure.Metric{}
	for _, m := range table(t, target, x, k).Metrics {
		got[m.Name] = m
		require.Equal(t, m.Generated, m.Error)
	}
	for name, want := range map[string][4]float64{ // value, standard error, floor, 95 % quantile
		"mode_l1":        {l1, math.NaN(), 3 * stat.MeanAbsoluteDeviation(n, 1./3), math.NaN()},
		"conditional_w1": {conditional, math.Sqrt(variance), floor, laws.conditional.Scale(1/math.Sqrt(n)).Quantile(0.95, 1)},
		"marginal_w1":    {marginal, se, stat.WassersteinFloor(target, n), laws.marginal.Scale(1/math.Sqrt(n)).Quantile(0.95, 1)},
		"joint_mmd2":     {d.squared, d.standardError, d.floor, laws.squared.Scale(1./n).Quantile(0.95, 1)},
		"joint_mmd":      {math.Sqrt(d.squared), d.standardError / (2 * math.Sqrt(d.squared)), math.Sqrt(d.floor), laws.discrepancy.Scale(1/math.Sqrt(n)).Quantile(0.95, 1)},
	} {
		m := got[name]
		require.InEpsilon(t, want[0], m.Error, 1e-9, name)
		require.InEpsilon(t, want[2], m.Floor, 1e-9, name)
		if name != "mode_l1" {
			require.InDeltaSlice(t, []float64{max(0, want[0]-1.96*want[1]), want[0] + 1.96*want[1]}, m.Interval[:], 1e-4*want[1], name)
			require.InEpsilon(t, want[3], m.Quantile, 1e-9, name)
		}
	}
}

// TestLimitsOfWarnings: counts of samples at each limit of a warning, and just beyond, word for word.
func TestLimitsOfWarnings(t *testing.T) {
	target := paperTarget(t)
	out := math.Sqrt(9 + math.Sqrt(12.01)) // where the energy is that
	for _, c := range []struct {
		left, right [3]int // samples at −√μ and √μ of each mode
		far         int    // more in the second mode, beyond the barrier on both sides
		n           int
		lost        []string
		outside     []string
	}{
		{[3]int{500, 500, 500}, [3]int{500, 500, 500}, 0, 3000, nil, nil},
		{[3]int{500, 101, 500}, [3]int{500, 100, 500}, 0, 3000, nil, nil},
		{[3]int{500, 100, 500}, [3]int{500, 99, 500}, 0, 3000, []string{"mode 1 (μ = 9) is all but lost: its probability is 0.066 where the target has 0.333"}, nil},
		{[3]int{500, 500, 900}, [3]int{500, 500, 100}, 0, 3000, nil, nil},
		{[3]int{500, 500, 901}, [3]int{500, 500, 100}, 0, 3001, []string{"mode 2 (μ = 25) has all but lost its well at x = +5: 0.100 of its samples are there where the target has 0.500"}, nil},
		{[3]int{100, 500, 500}, [3]int{900, 500, 500}, 0, 3000, nil, nil},
		{[3]int{99, 500, 500}, [3]int{901, 500, 500}, 0, 3000, []string{"mode 0 (μ = 1) has all but lost its well at x = −1: 0.099 of its samples are there where the target has 0.500"}, nil},
		{[3]int{0, 40, 40}, [3]int{49, 40, 40}, 0, 209, nil, nil},
		{[3]int{0, 40, 40}, [3]int{50, 40, 40}, 0, 210, []string{"mode 0 (μ = 1) has all but lost its well at x = −1: 0.000 of its samples are there where the target has 0.500"}, nil},
		{[3]int{0, 0, 0}, [3]int{0, 0, 0}, 0, 30, []string{
			"mode 0 (μ = 1) is all but lost: its probability is 0.000 where the target has 0.333",
			"mode 1 (μ = 9) is all but lost: its probability is 0.000 where the target has 0.333",
			"mode 2 (μ = 25) is all but lost: its probability is 0.000 where the target has 0.333"}, nil},
		{[3]int{500, 470, 500}, [3]int{500, 470, 500}, 60, 3000, nil, nil},
		{[3]int{500, 469, 500}, [3]int{500, 469, 500}, 62, 3000, nil, []string{"2.1 % of the samples lie outside the wells, where the target has less than 0.0001 %"}},
	} {
		byMode := make([][]float64, 3)
		for k, mu := range []float64{1, 9, 25} {
			byMode[k] = slices.Concat(slices.Repeat([]float64{-math.Sqrt(mu)}, c.left[k]), slices.Repeat([]float64{math.Sqrt(mu)}, c.right[k]))
		}
		byMode[1] = slices.Concat(byMode[1], slices.Repeat([]float64{-out, out}, c.far/2))
		lost, outside := warnings(target, byMode, c.n)
		require.Equal(t, c.lost, lost)
		require.Equal(t, c.outside, outside)
	}
	within := math.Sqrt(9 + math.Sqrt(11.99))
	_, outside := warnings(target, [][]float64{nil, {within, -within}, nil}, 2)
	require.Nil(t, outside)
	_, outside = warnings(target, [][]float64{nil, {within, math.Sqrt(9 - math.Sqrt(12.01))}, {1}}, 3)
	require.Equal(t, []string{"66.7 % of the samples lie outside the wells, where the target has less than 0.0001 %"}, outside)
}

// TestEvaluate measures an untrained generator, a cancelled one and one whose
// samples are not finite.
func TestEvaluate(t *testing.T) {
	trainer := newTrainer(t, small(t, "paper"), 2)
	s := trainer.System().(*system)
	e, err := s.Evaluate(context.Background(), trainer.Params(), 70000)
	require.NoError(t, err)
	require.Equal(t, 70000, e.Samples)
	require.NotEmpty(t, e.Warnings)
	for _, m := range e.Metrics {
		require.Greater(t, m.Error, m.Floor, m.Name)
	}

	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	_, err = s.Evaluate(ctx, trainer.Params(), 10)
	require.ErrorIs(t, err, context.Canceled)

	trainer.Params()[s.NumParams()-4] = float32(math.Inf(1)) // the coordinate's bias
	_, err = s.Evaluate(context.Background(), trainer.Params(), 10)
	require.ErrorContains(t, err, "not finite")
}

// table is compare without an interruption.
func table(t *testing.T, target *Target, x []float32, k []uint8) *measure.Evaluation {
	t.Helper()
	e, err := compare(context.Background(), target, x, k)
	require.NoError(t, err)
	return e
}

// TestNullLawOfTheDiscrepancy: the squared discrepancy of n exact samples is, n times,
// 1 − E[k(s, s′)] in the mean, s and s′ independent. 500 draws give the mean to a few
// percent.
func TestNullLawOfTheDiscrepancy(t *testing.T) {
	target, err := NewTarget([]float64{1, 9, 25})
	require.NoError(t, err)
	m := float64(target.Modes())
	want := 1.
	for k := range target.Modes() {
		x := nodes(target.Well(k), 400)
		for _, a := range x {
			for _, b := range x {
				want -= math.Exp(-(a-b)*(a-b)/2) / (m * m * float64(len(x)*len(x)))
			}
		}
	}
	var mean float64
	all := target.simulateDiscrepancy()
	for _, v := range all {
		mean += v / float64(len(all))
	}
	require.InEpsilon(t, want, mean, 0.1)
}

// TestLawsOfTheDiscrepancyAndItsSquare: the one is the other's root.
func TestLawsOfTheDiscrepancyAndItsSquare(t *testing.T) {
	target, err := NewTarget([]float64{1, 9})
	require.NoError(t, err)
	laws := target.errorLaws()
	for _, p := range []float64{0.2, 0.5, 0.95} {
		require.InEpsilon(t, math.Sqrt(laws.squared.Quantile(p, 1)), laws.discrepancy.Quantile(p, 1), 0.01) // between levels
	}
}
