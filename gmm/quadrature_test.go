package gmm

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/revgen/revgen/internal/long"
	"github.com/revgen/revgen/internal/pool"
)

// pair is a mixture of two components of the same covariance σ²(1, ρ; ρ, 1) at
// ±mean.
func pair(mean [2]float64, variance, correlation, weight float64) TargetConfig {
	var c TargetConfig
	for _, sign := range []float64{1, -1} {
		off := variance * correlation
		c.Components = append(c.Components, Component{
			Weight: weight, Mean: []float64{sign * mean[0], sign * mean[1]},
			Covariance: [][]float64{{variance, off}, {off, variance}},
		})
		weight = 1 - weight
	}
	return c
}

// cubature integrates over squares of the plane that are divided until none is
// wider than the narrowest deviation of a component nearby, nor than 1/2: an
// integral of overlaps that knows nothing of laws, weights or coordinates.
// logQ is given the nodes of a square at once.
func cubature(target *Target, logQ func(dst []float64, x [][2]float64)) (o overlap) {
	nodes := [3]float64{0.238619186083196909, 0.661209386466264514, 0.932469514203152028}
	weights := [3]float64{0.467913934572691047, 0.360761573048138608, 0.171324492379170345}
	var at [36][2]float64
	var lqs [36]float64
	var divide func(x, y, half float64)
	divide = func(x, y, half float64) {
		split := half > 16 || half > 0.0625 && math.Max(math.Abs(x), math.Abs(y)) < 4+half ||
			half > 0.25 && math.Max(math.Abs(x), math.Abs(y)) < 9+half
		for _, g := range target.components {
			spectral := 0.0 // at least 1/the narrowest deviation
			for _, l := range g.inverse {
				spectral += l * l
			}
			spectral = math.Sqrt(spectral)
			dx, dy := x-g.Mean[0], y-g.Mean[1]
			distance := math.Hypot(g.inverse[0]*dx, g.inverse[1]*dx+g.inverse[2]*dy)
			split = split || 2*half*spectral > 1 && distance-spectral*half*math.Sqrt2 < 8.5
		}
		if split {
			for _, sx := range []float64{-0.5, 0.5} {
				for _, sy := range []float64{-0.5, 0.5} {
					divide(x+sx*half, y+sy*half, half/2)
				}
			}
			return
		}
		for k := range at {
			i, j := k/6, k%6
			at[k] = [2]float64{x + half*math.Copysign(nodes[i/2], float64(i%2)-0.5), y + half*math.Copysign(nodes[j/2], float64(j%2)-0.5)}
		}
		logQ(lqs[:], at[:])
		for k, lq := range lqs {
			area := half * half * weights[k/6/2] * weights[k%6/2]
			lp := target.LogDensity(at[k][:])
			q, pi := math.Exp(lq), math.Exp(lp)
			o.square += area * (q - pi) * (q - pi)
			o.variation += area * math.Abs(q-pi) / 2
			if q > 0 {
				o.klTo += area * q * (lq - lp)
			}
			if pi > 0 {
				o.klFrom += area * pi * (lp - lq)
			}
			o.mass += area * q
		}
	}
	divide(0.37, -1.21, 64) // no seam along a line of corners
	return o
}

// TestQuadratureResolvesEveryComponent compares the figures with those of an
// independent cubature where components are narrow, far apart, correlated or of
// unlike widths, for a generator that knows nothing of them and for one that
// bends.
func TestQuadratureResolvesEveryComponent(t *testing.T) {
	if testing.Short() {
		t.Skip("integrates by a second cubature")
	}
	workers := pool.New(2)
	defer workers.Close()
	unlike := pair([2]float64{1, 0}, 1e-6, 0, 0.3)
	unlike.Components[1].Covariance = [][]float64{{2, 0}, {0, 0.5}}
	inside := pair([2]float64{0, 0}, 1e-4, 0, 0.5)
	inside.Components[1].Covariance = [][]float64{{1, 0.3}, {0.3, 1}}
	targets := map[string]TargetConfig{
		"unlike": unlike, "inside": inside, "paper": paperTarget(),
		"correlated":      pair([2]float64{1, -1}, 0.5, 0.9998, 0.5),
		"anticorrelated":  pair([2]float64{0.5, 0.5}, 0.01, -0.999, 0.8),
		"close":           pair([2]float64{0.02, 0.01}, 1e-4, 0.5, 0.5),
		"far":             pair([2]float64{30, -20}, 1e-3, 0, 0.5),
		"nearly the same": pair([2]float64{0.01, 0}, 1, 0.001, 0.5),
	}
	for _, variance := range []float64{1e-6, 1e-5, 1e-4, 1e-2, 1, 16} {
		targets[fmt.Sprintf("variance %g", variance)] = pair([2]float64{3, 3}, variance, 0, 0.5)
	}
	for name, target := range targets {
		for _, bent := range []bool{false, true} {
			s, params := gaussianSystem(t, target, workers)
			logQ := func(dst []float64, x [][2]float64) {
				for i, x := range x {
					dst[i] = -(x[0]*x[0]+x[1]*x[1])/2 - math.Log(2*math.Pi)
				}
			}
			tolerance := 2e-4
			d := s.newSampler(params)
			if bent {
				if name != "paper" && name != "correlated" && name != "variance 0.01" {
					continue // it is float32 and slow
				}
				r := rand.New(rand.NewPCG(1, 1))
				for i := range params {
					params[i] += float32(0.4 * r.NormFloat64())
				}
				d = s.newSampler(params)
				var rounded []float32
				logQ = func(dst []float64, x [][2]float64) {
					rounded = rounded[:0]
					for _, x := range x {
						rounded = append(rounded, float32(x[0]), float32(x[1]))
					}
					d.Density(dst, s.states(rounded))
				}
				tolerance = 2e-3
			}
			var table table
			require.NoError(t, d.quadrature(context.Background(), &table))
			require.Empty(t, table.Warnings, name)
			got, want := metricsByName(t, &table.Evaluation), cubature(s.target, logQ)
			require.InDelta(t, 1, want.mass, tolerance, "the cubature itself, %s", name)
			require.InDelta(t, 1, got["captured_mass"].Generated, settledChange, name)
			for metric, value := range map[string]float64{
				"l2_density_error": math.Sqrt(want.square), "l2_relative": math.Sqrt(want.square / s.target.SquaredNorm()),
				"kl_to_target": want.klTo, "kl_from_target": want.klFrom, "total_variation": want.variation,
			} {
				m := got[metric]
				half := (m.Interval[1] - m.Interval[0]) / 2
				require.InDelta(t, value, m.Generated, tolerance*max(1, math.Abs(value))+half, "%s of %s, bent %v", metric, name, bent)
				require.Less(t, half, 0.01*max(0.1, m.Generated), "%s of %s, bent %v", metric, name, bent)
			}
		}
	}
}

// TestQuadratureSaysWhenItCannot takes components that float32 cannot hold apart
// from a point, and a generator whose inverse is not that of what it draws.
func TestQuadratureSaysWhenItCannot(t *testing.T) {
	workers := pool.New(1)
	defer workers.Close()
	for _, target := range []TargetConfig{pair([2]float64{3, 3}, 1e-12, 0, 0.5), pair([2]float64{1e6, 0}, 1, 0, 0.5), pair([2]float64{1, 1}, 1, 1-1e-13, 0.5)} {
		s, params := gaussianSystem(t, target, workers)
		e, err := s.Evaluate(context.Background(), params, 1000)
		require.NoError(t, err)
		require.Contains(t, e.Warnings[0], "not known: neighbouring float32 numbers")
		for _, m := range e.Metrics[:5] {
			require.True(t, math.IsNaN(m.Generated) && math.IsNaN(m.Error) && math.IsNaN(m.Interval[0]), "%+v", m)
		}
	}
	// The same states with twice the density: both laws' nodes cannot agree.
	var lost table
	target, err := NewTarget(paperTarget())
	require.NoError(t, err)
	lost.distances(target, func(figure func(*overlap) float64) (float64, float64) {
		o := quotients(math.Log(2), 0)
		o.mass *= 2
		return figure(&o), 0.01
	})
	require.Contains(t, lost.Warnings[0], "hold a mass of 1.33 of the generated one instead of 1")
	require.True(t, math.IsNaN(lost.Metrics[4].Generated))
}

// TestNodesBecomeDenser until they need not, or may not, or cannot be had.
func TestNodesBecomeDenser(t *testing.T) {
	failed := errors.New("failed")
	for _, c := range []struct {
		most, enough, fails int
		want                []int
	}{
		{maxPoints, 1, 0, []int{firstPoints}}, {maxPoints, 2 * firstPoints, 0, []int{firstPoints, 2 * firstPoints}},
		{maxPoints, maxPoints + 1, 0, []int{firstPoints, 2 * firstPoints, maxPoints}}, {maxPoints - 1, maxPoints, 0, []int{firstPoints, 2 * firstPoints}},
		{22, maxPoints, 0, []int{22}}, {maxPoints, maxPoints, firstPoints, []int{firstPoints}}, {maxPoints, maxPoints, 2 * firstPoints, []int{firstPoints, 2 * firstPoints}},
	} {
		var got []int
		err := denser(c.most, func(points int) (bool, error) {
			got = append(got, points)
			if points == c.fails {
				return false, failed
			}
			return points >= c.enough, nil
		})
		require.Equal(t, c.want, got, "%+v", c)
		require.Equal(t, c.fails > 0, err != nil, "%+v", c)
	}
}

// TestTotalVariationIsAProbability evaluates random generators against random
// mixtures, in the plane and in three dimensions.
func TestTotalVariationIsAProbability(t *testing.T) {
	long.SkipShort(t)
	workers := pool.New(2)
	defer workers.Close()
	r := rand.New(rand.NewPCG(2, 3))
	for range 12 {
		for dim := 2; dim <= 3; dim++ {
			target := randomMixture(dim, 1+r.IntN(4), r.Uint64())
			scale := math.Exp(6 * r.NormFloat64())
			for _, c := range target.Components {
				for i := range c.Covariance {
					for j := range c.Covariance[i] {
						c.Covariance[i][j] *= scale
					}
				}
			}
			s, params := gaussianSystem(t, target, workers)
			spread := math.Exp(2*r.NormFloat64() - 2)
			for i := range params {
				params[i] += float32(spread * r.NormFloat64())
			}
			e, err := s.Evaluate(context.Background(), params, 2000)
			if err != nil {
				require.ErrorContains(t, err, "not finite")
				continue
			}
			for _, m := range e.Metrics[:5] {
				if math.IsNaN(m.Generated) {
					require.Contains(t, e.Warnings[0], "not known")
					continue
				}
				require.GreaterOrEqual(t, m.Interval[0], 0.0)
				require.LessOrEqual(t, m.Interval[0], m.Generated)
				require.LessOrEqual(t, m.Generated, m.Interval[1])
				if m.Name == "total_variation" {
					require.LessOrEqual(t, m.Interval[1], 1.0)
				}
			}
		}
	}
}

func TestRuleIsTheNormalLaw(t *testing.T) {
	for _, points := range []int{rulePoints(firstPoints, maxComponents), 44, firstPoints} {
		r := newRule(points)
		var even, variance, fourth float64
		for i, y := range r.node {
			if i%2 == 0 {
				even += r.weight[i]
			}
			variance += r.weight[i] * y * y
			fourth += r.weight[i] * y * y * y * y
		}
		require.InDelta(t, 0.5, even, 1e-14)
		require.InDelta(t, 1, variance, 1e-4)
		require.InDelta(t, 3, fourth, 1e-2)
	}
	require.Equal(t, firstPoints, rulePoints(firstPoints, 10))
	require.Equal(t, 22, rulePoints(firstPoints, maxComponents))
	// 24,494² nodes of one component, 12,247² of two, an even number of each.
	require.Equal(t, []int{24494, 12246, 672}, []int{rulePoints(1<<20, 1), rulePoints(1<<20, 2), rulePoints(maxPoints, 1)})
	require.Equal(t, []float64{168, 672, 3e-4}, []float64{firstPoints, maxPoints, settledChange})
	for _, points := range []int{8, firstPoints} {
		r := newRule(points)
		step, odd := 14/float64(points-1), 0.0
		for i, y := range r.node {
			require.InDelta(t, -7+(float64(i)+0.3)*step, y, 1e-12)
			require.InEpsilon(t, math.Exp(-y*y/2), r.weight[i]/r.weight[i%2]*math.Exp(-r.node[i%2]*r.node[i%2]/2), 1e-9)
			odd += float64(i%2) * r.weight[i]
		}
		require.InDelta(t, 0.5, odd, 1e-12)
	}
	// Nodes are turned by an angle whose tangent is the golden section.
	for angle := 0.0; angle < 6; angle++ {
		got, by := rotate(2*math.Cos(angle), 2*math.Sin(angle)), math.Atan(2/(1+math.Sqrt(5)))
		require.InDeltaSlice(t, []float64{2 * math.Cos(angle+by), 2 * math.Sin(angle+by)}, got[:], 1e-12)
	}
	var parts, more sublattices
	for i := range parts {
		parts[i].square, parts[i].klTo, more[i].square = float64(i*i), -float64(i), 1
	}
	parts.add(&more)
	value, change := parts.estimate(func(o *overlap) float64 { return o.square })
	require.Equal(t, []float64{4.5, 5.5}, []float64{value, change}) // of 1, 2, 5 and 10
	value, change = parts.estimate(func(o *overlap) float64 { return o.klTo })
	require.Equal(t, []float64{-1.5, 1.5}, []float64{value, change})
	sum := overlap{1, 2, 3, 4, 5}
	sum.add(overlap{1, 3, 5, 7, 9}, 2)
	require.Equal(t, overlap{3, 8, 13, 18, 23}, sum)
}
