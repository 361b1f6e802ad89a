package gmm

import (
	"math"
	"math/rand/v2"
)

// Neighbour returns the mixture that belongs to a seed: 2 to 6 components in 1 to
// 16 dimensions, of weights up to ten times each other's, with standard
// deviations along their axes between 0.4 and 1.6, whose means are at distances of
// about 2 to 8, and no two of them nearer than half of that. They are what recipes
// are measured on that were not chosen by them.
func Neighbour(seed uint64) TargetConfig {
	r := rand.New(rand.NewPCG(seed, 0x6e65696768))
	d, components := 1+r.IntN(16), 2+r.IntN(5)
	separation := 2 + 6*r.Float64()
	var c TargetConfig
	var sum float64
	for len(c.Components) < components {
		mean := make([]float64, d)
		for i := range mean {
			mean[i] = separation * r.NormFloat64() / math.Sqrt(float64(2*d))
			if d < 3 { // where there is little room
				mean[i] *= float64(components)
			}
		}
		near := false
		for _, other := range c.Components {
			var square float64
			for i, v := range mean {
				square += (v - other.Mean[i]) * (v - other.Mean[i])
			}
			near = near || square < separation*separation/4
		}
		if near {
			continue
		}
		g := Component{Weight: math.Exp(math.Log(10) * r.Float64()), Mean: mean, Covariance: randomCovariance(d, r)}
		sum += g.Weight
		c.Components = append(c.Components, g)
	}
	for k := range c.Components {
		c.Components[k].Weight /= sum
	}
	return c
}

// randomCovariance returns a matrix of random axes.
func randomCovariance(d int, r *rand.Rand) [][]float64 {
	axes := make([][]float64, 0, d)
	for len(axes) < d {
		v := make([]float64, d)
		for i := range v {
			v[i] = r.NormFloat64()
		}
		for _, a := range axes {
			var along float64
			for i := range v {
				along += v[i] * a[i]
			}
			for i := range v {
				v[i] -= along * a[i]
			}
		}
		var square float64
		for _, x := range v {
			square += x * x
		}
		for i := range v {
			v[i] /= math.Sqrt(square)
		}
		axes = append(axes, v)
	}
	c := make([][]float64, d)
	for i := range c {
		c[i] = make([]float64, d)
	}
	for _, a := range axes {
		deviation := 0.4 * math.Exp(math.Log(4)*r.Float64())
		for i := range d {
			for j := range i + 1 {
				c[i][j] += deviation * deviation * a[i] * a[j]
				c[j][i] = c[i][j]
			}
		}
	}
	return c
}
