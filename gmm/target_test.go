package gmm

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/revgen/revgen/engine/mixture"
	"github.com/revgen/revgen/internal/number"
	"github.com/stretchr/testify/require"
)

// planar is the paper's target by the formula of the two-dimensional normal
// density with variances v and covariance c.
func planar(x, y float64) float64 {
	normal := func(x, y, v, c float64) float64 {
		det := v*v - c*c
		return math.Exp(-(v*x*x-2*c*x*y+v*y*y)/(2*det)) / (2 * math.Pi * math.Sqrt(det))
	}
	return 0.6*normal(x-1, y-1, 0.5, 0.2) + 0.4*normal(x+1, y+1, 0.5, -0.2)
}

func newTestTarget(t testing.TB, c TargetConfig) *Target {
	target, err := NewTarget(c)
	require.NoError(t, err)
	return target
}

// randomMixture returns k components in d dimensions with random means and full
// covariances.
func randomMixture(d, k int, seed uint64) TargetConfig {
	r := rand.New(rand.NewPCG(seed, 1))
	var c TargetConfig
	for range k {
		g := Component{Weight: 1 / float64(k)}
		root := make([][]float64, d)
		for i := range d {
			g.Mean = append(g.Mean, 2*r.NormFloat64())
			for range d {
				root[i] = append(root[i], r.NormFloat64()/math.Sqrt(float64(d)))
			}
		}
		for i := range d {
			row := make([]float64, d)
			for j := range d {
				for l := range d {
					row[j] += root[i][l] * root[j][l]
				}
				if i == j {
					row[j] += 0.3
				}
			}
			g.Covariance = append(g.Covariance, row)
		}
		c.Components = append(c.Components, g)
	}
	return c
}

func TestDensityOfThePapersTarget(t *testing.T) {
	target := newTestTarget(t, paperTarget())
	r := rand.New(rand.NewPCG(1, 1))
	p := make([]float64, 2)
	for range 1000 {
		x := []float64{4 * r.NormFloat64(), 4 * r.NormFloat64()}
		want := planar(x[0], x[1])
		require.InEpsilon(t, want, target.Density(x), 1e-12)
		require.InDelta(t, math.Log(want), target.LogDensity(x), 1e-11)
		target.Responsibilities(p, x)
		require.InDelta(t, 1, p[0]+p[1], 1e-15)
		require.InDelta(t, 0.4*newTestTarget(t, TargetConfig{[]Component{{1, paperTarget().Components[1].Mean, paperTarget().Components[1].Covariance}}}).Density(x)/want, p[1], 1e-12)
	}
	require.True(t, math.IsInf(target.LogDensity([]float64{1e200, 0}), -1))
	require.True(t, math.IsNaN(target.LogDensity([]float64{math.NaN(), 0})))
}

// TestCholesky multiplies the factors out again.
func TestCholesky(t *testing.T) {
	for _, d := range []int{1, 2, 5, 17} {
		for _, g := range newTestTarget(t, randomMixture(d, 3, uint64(d))).components {
			var determinant float64
			at := func(triangle []float64, i, j int) float64 {
				if j > i {
					return 0
				}
				return mixture.Row(triangle, i)[j]
			}
			for i := range d {
				for j := range d {
					var sum, identity float64
					for k := range d {
						sum += at(g.factor, i, k) * at(g.factor, j, k)
						identity += at(g.factor, i, k) * at(g.inverse, k, j)
					}
					require.InDelta(t, g.Covariance[i][j], sum, 1e-13)
					require.InDelta(t, map[bool]float64{true: 1}[i == j], identity, 1e-13)
				}
				determinant += math.Log(at(g.factor, i, i))
			}
			require.InDelta(t, math.Log(g.Weight)-float64(d)/2*math.Log(2*math.Pi)-determinant, g.logNorm, 1e-13)
		}
	}
}

// TestDensityOfBatches compares the float32 density with the float64 one.
func TestDensityOfBatches(t *testing.T) {
	for _, c := range []TargetConfig{paperTarget(), randomMixture(1, 1, 1), randomMixture(3, 5, 2), randomMixture(24, 2, 3)} {
		target := newTestTarget(t, c)
		f := newDensity(target)
		const rows = blockRows + 77
		r := rand.New(rand.NewPCG(1, 1))
		x := make([]float32, rows*target.Dim())
		for i := range x {
			x[i] = float32(3 * r.NormFloat64())
		}
		got := make([]float32, rows)
		f.LogDensity(got, x, nil)
		for i, v := range got {
			want := target.LogDensity(number.Widen(x[i*target.Dim():][:target.Dim()]))
			require.InDelta(t, want, float64(v), 2e-6*(1+math.Abs(want)))
		}
	}
}

func TestTargetErrors(t *testing.T) {
	nan := math.NaN()
	cases := []struct {
		spoil func(c *TargetConfig)
		want  string
	}{
		{func(c *TargetConfig) { c.Components = nil }, "components: 0 of them"},
		{func(c *TargetConfig) { c.Components[0].Mean = nil }, "components[0].mean: 0 coordinates"},
		{func(c *TargetConfig) { c.Components[0].Weight = 0.5 }, "components: the weights sum to 0.9 instead of 1"},
		{func(c *TargetConfig) { c.Components[1].Weight = -0.4 }, "components[1].weight: -0.4 is not in (0, 1]"},
		{func(c *TargetConfig) { c.Components[1].Weight = nan }, "components[1].weight: NaN"},
		{func(c *TargetConfig) { c.Components[1].Mean = []float64{1} }, "components[1].mean: 1 coordinates where the first component has 2"},
		{func(c *TargetConfig) { c.Components[1].Mean = []float64{1, -1e150} }, "components[1].mean[1]: -1e+150 is more than 1e+12 of the component's standard deviations"},
		{func(c *TargetConfig) { c.Components[1].Mean = []float64{1, nan} }, "components[1].mean[1]: NaN is not finite"},
		{func(c *TargetConfig) { c.Components[1].Covariance = [][]float64{{1}} }, "components[1].covariance: 1 rows"},
		{func(c *TargetConfig) { c.Components[1].Covariance[1] = []float64{1} }, "components[1].covariance[1]: 1 values"},
		{func(c *TargetConfig) { c.Components[1].Covariance[1][1] = nan }, "components[1].covariance[1][1]: NaN is not finite"},
		{func(c *TargetConfig) { c.Components[1].Covariance[0][1] = 0.3 }, "components[1].covariance: not symmetric: [1][0] is -0.2 and [0][1] is 0.3"},
		{func(c *TargetConfig) { c.Components[0].Covariance = [][]float64{{1, 2}, {2, 1}} }, "components[0].covariance: not positive definite: its leading 2×2"},
		{func(c *TargetConfig) { c.Components[0].Covariance = [][]float64{{1, 1}, {1, 1}} }, "components[0].covariance: not positive definite: its leading 2×2"},
		{func(c *TargetConfig) { c.Components[0].Covariance = [][]float64{{-1, 0}, {0, 1}} }, "components[0].covariance: not positive definite: its leading 1×1"},
	}
	for _, c := range cases {
		config := paperTarget()
		c.spoil(&config)
		_, err := NewTarget(config)
		require.ErrorContains(t, err, c.want)
	}
	// What the errors name is allowed to its last value.
	one := func(mean, variance float64) error {
		_, err := NewTarget(TargetConfig{Components: []Component{{Weight: 1, Mean: []float64{mean}, Covariance: [][]float64{{variance}}}}})
		return err
	}
	for _, good := range [][2]float64{{1e12, 1}, {-1e12, 1}, {0, 1e-24}, {0, 1e24}} {
		require.NoError(t, one(good[0], good[1]))
	}
	require.ErrorContains(t, one(1.001e12, 1), "components[0].mean[0]: 1.001e+12 is more than 1e+12 of")
	require.ErrorContains(t, one(0, 0.999e-24), "components[0].covariance[0][0]: 9.99e-25 is not between 1e-24 and 1e+24")
	require.ErrorContains(t, one(0, 1.001e24), "components[0].covariance[0][0]: 1.001e+24 is not between")

	tied := func(correlation float64) error {
		_, err := NewTarget(TargetConfig{Components: []Component{{Weight: 1, Mean: []float64{0, 0}, Covariance: [][]float64{{1, correlation}, {correlation, 1}}}}})
		return err
	}
	require.NoError(t, tied(1-1e-14))
	require.EqualError(t, tied(1-2e-15), "components[0].covariance: not positive definite: its leading 2×2 block is not")
	many := func(n int, weight float64) error {
		_, err := NewTarget(TargetConfig{Components: slices.Repeat([]Component{{Weight: weight, Mean: []float64{0}, Covariance: [][]float64{{1}}}}, n)})
		return err
	}
	require.NoError(t, many(1024, 1./1024))
	require.EqualError(t, many(1025, 1./1025), "components: 1025 of them are not between 1 and 1024")
	require.NoError(t, many(1, 1.000009))
	require.EqualError(t, many(1, 1.000011), "components[0].weight: 1.000011 is not in (0, 1]")
	require.NoError(t, many(2, 0.500004))
	require.EqualError(t, many(2, 0.500006), "components: the weights sum to 1.000012 instead of 1")
	require.EqualError(t, many(2, 0.499994), "components: the weights sum to 0.999988 instead of 1")
	_, err := NewTarget(TargetConfig{Components: []Component{{Weight: 1, Mean: make([]float64, 1025)}}})
	require.EqualError(t, err, "components[0].mean: 1025 coordinates are not between 1 and 1024")

	third := paperTarget()
	third.Components[0].Weight, third.Components[1].Weight = 0.333333, 0.666666
	rounded, exact := newTestTarget(t, third), paperTarget()
	exact.Components[0].Weight, exact.Components[1].Weight = 1.0/3, 2.0/3
	require.InDelta(t, 1.0/3, rounded.components[0].Weight, 1e-12)
	// The density is normalised, too, and not only its weights.
	for _, x := range [][]float64{{1, 1}, {-1, -1}, {0, 0}, {5, -3}} {
		require.InEpsilon(t, newTestTarget(t, exact).Density(x), rounded.Density(x), 1e-12)
	}
}
