package gmm

import (
	"context"
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/revgen/revgen/engine/measure"
	"github.com/revgen/revgen/engine/rng"
	"github.com/revgen/revgen/engine/run"
	"github.com/revgen/revgen/internal/crash"
	"github.com/revgen/revgen/internal/long"
	"github.com/revgen/revgen/internal/number"
	"github.com/revgen/revgen/internal/pool"
	"github.com/revgen/revgen/internal/stat"
)

// gaussianSystem returns a system whose generator, a flow at the identity, makes
// exactly N(0, I), and its parameters.
func gaussianSystem(t *testing.T, target TargetConfig, workers *pool.Pool) (*system, []float32) {
	c := crash.Must(Preset("paper"))
	c.Target = target
	c.Generator.Gain, c.Generator.Depth, c.Generator.Hidden = 1e-30, 2, []int{4}
	c.Loss.Boundary.Center = nil
	require.NoError(t, c.Validate())
	sys, err := c.New(workers)
	require.NoError(t, err)
	params := make([]float32, sys.NumParams())
	sys.Initialize(params)
	return sys.(*system), params
}

func metricsByName(t *testing.T, e *measure.Evaluation) map[string]measure.Metric {
	all := map[string]measure.Metric{}
	for _, m := range e.Metrics {
		require.NotContains(t, all, m.Name)
		require.False(t, math.IsNaN(m.Error) || math.IsNaN(m.Floor), "%+v", m)
		if m.Name == "log_z" && math.IsNaN(m.Interval[0]) {
			require.True(t, math.IsNaN(m.Interval[1]))
			require.NotEmpty(t, e.Lost, "an interval is withdrawn only where a mode is lost")
			require.Contains(t, e.Weights.Warning, e.Lost[0])
		} else {
			require.LessOrEqual(t, m.Interval[0], m.Generated, m.Name)
			require.GreaterOrEqual(t, m.Interval[1], m.Generated, m.Name)
		}
		all[m.Name] = m
	}
	return all
}

// normal returns N(μ, σ²I) with all coordinates of μ equal.
func normal(d int, mu, sigma float64) TargetConfig {
	g := Component{Weight: 1}
	for i := range d {
		g.Mean = append(g.Mean, mu)
		row := make([]float64, d)
		row[i] = sigma * sigma
		g.Covariance = append(g.Covariance, row)
	}
	return TargetConfig{[]Component{g}}
}

// TestDistancesOfGaussians compares the figures between N(0, I) and N(μ, σ²I)
// with their closed forms, by quadrature in two and by Monte Carlo in three
// dimensions.
func TestDistancesOfGaussians(t *testing.T) {
	long.SkipShort(t)
	workers := pool.New(2)
	defer workers.Close()
	for _, d := range []int{2, 3} {
		for _, c := range []struct{ mu, sigma float64 }{{0, 1}, {0.3, 1}, {0, 1.3}, {-0.5, 0.8}} {
			s, params := gaussianSystem(t, normal(d, c.mu, c.sigma), workers)
			e, err := s.Evaluate(context.Background(), params, 50_000)
			require.NoError(t, err)
			require.Empty(t, e.Warnings)
			got := metricsByName(t, e)
			dim, v := float64(d), c.sigma*c.sigma
			distance := dim * c.mu * c.mu
			norm := func(variance float64) float64 { // N(μ | 0, variance·I)
				return math.Exp(-distance/(2*variance)) * math.Pow(2*math.Pi*variance, -dim/2)
			}
			piSquared := math.Pow(4*math.Pi*v, -dim/2)
			want := map[string]float64{
				"l2_density_error": math.Sqrt(math.Max(0, math.Pow(4*math.Pi, -dim/2)+piSquared-2*norm(1+v))),
				"kl_to_target":     (dim/v + distance/v - dim + dim*math.Log(v)) / 2,
				"kl_from_target":   (dim*v + distance - dim - dim*math.Log(v)) / 2,
			}
			want["l2_relative"] = want["l2_density_error"] / math.Sqrt(piSquared)
			if c.sigma == 1 {
				want["total_variation"] = math.Erf(math.Sqrt(distance) / (2 * math.Sqrt2))
			}
			for name, value := range want {
				m := got[name]
				tolerance := 1e-5
				if name == "total_variation" {
					tolerance = 1e-4 // |q − π| has a kink
				}
				if d == 3 {
					tolerance += 4 * (m.Interval[1] - m.Interval[0])
				}
				require.InDelta(t, value, m.Generated, tolerance, "%s in %d dimensions, %+v", name, d, c)
				require.Equal(t, m.Generated, m.Error)
			}
			require.NotContains(t, got, "mode_weight_0")
			w := got["marginal_w1"]
			if c.sigma == 1 {
				require.InDelta(t, math.Abs(c.mu), w.Generated, 0.03)
			}
			if d == 2 {
				require.InDelta(t, 1, got["captured_mass"].Generated, 1e-6)
			}
		}
	}
}

// TestMonteCarloAgreesWithQuadrature computes the same distances both ways.
func TestMonteCarloAgreesWithQuadrature(t *testing.T) {
	workers := pool.New(2)
	defer workers.Close()
	s, params := gaussianSystem(t, paperTarget(), workers)
	const n = 100_000
	d := s.newSampler(params)
	x, logQ := make([]float32, 2*n), make([]float64, n)
	require.NoError(t, d.DrawAll(context.Background(), s.states(x), logQ))
	var a, b table
	require.NoError(t, d.quadrature(context.Background(), &a))
	require.NoError(t, d.monteCarlo(context.Background(), &b, x, logQ))
	exact, estimated := metricsByName(t, &a.Evaluation), metricsByName(t, &b.Evaluation)
	require.Len(t, estimated, 5)
	for name, m := range estimated {
		require.InDelta(t, exact[name].Generated, m.Generated, 3*(m.Interval[1]-m.Interval[0]), name)
		require.Greater(t, m.Interval[1]-m.Interval[0], 1e-4)
	}
}

func TestCollapseIsReported(t *testing.T) {
	workers := pool.New(2)
	defer workers.Close()
	far := paperTarget()
	far.Components[1].Mean = []float64{-9, -9}
	s, params := gaussianSystem(t, far, workers)
	e, err := s.Evaluate(context.Background(), params, 2000)
	require.NoError(t, err)
	require.Len(t, e.Warnings, 1)
	require.Contains(t, e.Warnings[0], "component 1, of weight 0.4 at [-9 -9], is all but lost")
	m := metricsByName(t, e)
	require.InDelta(t, 0.4, m["mode_weight_1"].Error, 1e-3)
	require.InEpsilon(t, math.Sqrt(2/math.Pi*0.4*0.6/2000), m["mode_weight_1"].Floor, 0.02, "that of samples of the target, not of these")
	require.Nil(t, m["l2_density_error"].Paper, "the paper's figure belongs to its own target")

	// Nine components fill one row instead of nine, the sum of what eight would have.
	for _, n := range []int{8, 9} {
		s, params = gaussianSystem(t, randomMixture(2, n, 1), workers)
		e, err = s.Evaluate(context.Background(), params, 2000)
		require.NoError(t, err)
		m := metricsByName(t, e)
		require.Equal(t, n == 8, m["mode_weight_0"].Name != "")
		require.Equal(t, n == 8, m["mode_weight_7"].Name != "")
		require.Equal(t, n == 9, m["mode_weights_l1"].Name != "")
	}
	x := make([]float32, 2*2000)
	d := s.newSampler(params)
	require.NoError(t, d.DrawAll(t.Context(), s.states(x), nil))
	means := responsibilities(t, d, x)
	exact := make([]float32, 2<<14)
	stream := rng.Stream(1, rng.Reference, 1)
	s.target.Sample(exact, &stream, 0)
	reference := responsibilities(t, d, exact)
	var l1, variance, floor float64
	for k, mean := range means {
		l1 += math.Abs(mean.Value() - s.target.components[k].Weight)
		variance += mean.StandardError() * mean.StandardError()
		floor += math.Sqrt(2/math.Pi) * reference[k].Deviation() / math.Sqrt(2000)
	}
	m9 := metricsByName(t, e)["mode_weights_l1"]
	require.InDeltaSlice(t, []float64{l1, l1 - 1.96*math.Sqrt(variance), l1 + 1.96*math.Sqrt(variance), floor}, []float64{m9.Error, m9.Interval[0], m9.Interval[1], m9.Floor}, 1e-4)

	s.Initialize(params)
	params[len(params)-1] = float32(math.Inf(1))
	_, err = s.Evaluate(context.Background(), params, 2000)
	require.ErrorContains(t, err, "not finite")
}

// TestExactSamplesReachTheFloor evaluates a generator that is exact.
func TestExactSamplesReachTheFloor(t *testing.T) {
	workers := pool.New(1)
	defer workers.Close()
	same := normal(2, 0, 1)
	same.Components = append(same.Components, same.Components[0])
	same.Components[0].Weight, same.Components[1].Weight = 0.5, 0.5
	s, params := gaussianSystem(t, same, workers)
	e, err := s.Evaluate(context.Background(), params, 20_000)
	require.NoError(t, err)
	for _, m := range e.Metrics {
		require.LessOrEqual(t, m.Error, 5*m.Floor+3e-5, "%+v", m)
	}
}

func TestEvaluateStops(t *testing.T) {
	workers := pool.New(1)
	defer workers.Close()
	for _, target := range []TargetConfig{paperTarget(), randomMixture(3, 2, 1)} {
		s, params := gaussianSystem(t, target, workers)
		ctx, cancel := context.WithCancel(context.Background())
		cancel()
		_, err := s.Evaluate(ctx, params, 100)
		require.ErrorIs(t, err, context.Canceled)
	}
}

// TestEvaluateAllGenerators runs the configurations of the training tests to
// the end.
func TestEvaluateAllGenerators(t *testing.T) {
	long.SkipShort(t)
	for name, c := range testConfigs() {
		workers := pool.New(2)
		result, err := run.Train(context.Background(), c, workers, run.Options{})
		require.NoError(t, err, name)
		m := metricsByName(t, result.Evaluation)
		require.Contains(t, m, "marginal_w1")
		require.Equal(t, c.Generator.Kind != "residual", m["kl_to_target"].Name != "", name)
		if name == "paper" {
			require.Equal(t, 0.0483, *m["l2_density_error"].Paper)
		}
		workers.Close()
	}
}

// TestResponsibilities: each component's share of the density at each state, also beyond the
// states that are looked at at once.
func TestResponsibilities(t *testing.T) {
	workers := pool.New(2)
	defer workers.Close()
	c := paperTarget()
	s, params := gaussianSystem(t, c, workers)
	const n = 1<<13 + 70
	x := make([]float32, 2*n)
	stream := rng.Stream(3, rng.Reference, 2)
	s.target.Sample(x, &stream, 0)
	density := func(k int, x []float64) float64 { // in the plane, with the weight
		g := c.Components[k]
		a, b, d := g.Covariance[0][0], g.Covariance[0][1], g.Covariance[1][1]
		u, v := x[0]-g.Mean[0], x[1]-g.Mean[1]
		det := a*d - b*b
		return g.Weight * math.Exp(-(d*u*u-2*b*u*v+a*v*v)/(2*det)) / (2 * math.Pi * math.Sqrt(det))
	}
	components := len(c.Components)
	seen := 0
	d := s.newSampler(params)
	require.NoError(t, d.eachResponsibility(t.Context(), x, func(component int, v float64) {
		require.Equal(t, seen%components, component)
		row := seen / components
		seen++
		at := number.Widen(x[2*row : 2*row+2])
		total := 0.0
		for k := range components {
			total += density(k, at)
		}
		if want := density(component, at) / total; math.Abs(want-v) > 1e-4 {
			t.Fatalf("%d of row %d: %g, not %g", component, row, v, want)
		}
	}))
	require.Equal(t, n*components, seen)
}

// responsibilities returns the means of the components' responsibilities.
func responsibilities(t *testing.T, d *sampler, x []float32) []stat.Mean {
	means := make([]stat.Mean, d.system.target.Components())
	require.NoError(t, d.eachResponsibility(t.Context(), x, func(component int, v float64) { means[component].Add(v) }))
	return means
}
