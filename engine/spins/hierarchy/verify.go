package hierarchy

import (
	"math"

	"github.com/revgen/revgen/engine/spins"
)

// Surrogate implements engine.Differentiable: Σ c ln q of the batch's samples, and
// for pairs less that of s′, with the coefficients and configurations held fixed.
func (s *System) Surrogate() func(params []float64) float64 {
	type sample struct {
		config []uint64
		c      float64
	}
	var all []sample
	add := func(b *Batch, c []float64, sign float64) {
		words := (s.net.Spins() + 63) / 64
		configs := make([]uint64, b.samples*words)
		b.Spins(configs)
		for i, x := range c {
			all = append(all, sample{configs[i*words:][:words], sign * x})
		}
	}
	if s.pairs == nil {
		add(s.batch, s.divergence.Weight, 1)
	} else {
		add(s.pairs.S, s.coefficients, 1)
		add(s.pairs.Next, s.coefficients, -1)
	}
	return func(params []float64) (sum float64) {
		for _, x := range all {
			sum += x.c * s.net.learned64(params, x.config)
		}
		return sum
	}
}

// learned64 is ln q of the learned spins of a configuration by the definition of a
// unit, in float64.
func (m *Model) learned64(params []float64, config []uint64) (logq float64) {
	for i := range m.units {
		u := &m.units[i]
		for k, site := range u.sites {
			var logit float64
			if m.biased {
				logit = params[u.shift]
			}
			for _, image := range u.images {
				for h := range u.hidden {
					var sum float64
					if m.biased {
						sum = params[u.biases+h]
					}
					for j := range u.m {
						sum += params[u.weights+h*u.m+image[j]] * spins.Spin(config, int(u.inputs[k*u.padded+j]))
					}
					logit += params[u.output+h] * sum / math.Sqrt(1+sum*sum)
				}
			}
			logq -= math.Log1p(math.Exp(-spins.Spin(config, int(site)) * logit))
		}
	}
	return logq
}
