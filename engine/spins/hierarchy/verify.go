package hierarchy

import (
	"math"

	"github.com/revgen/revgen/engine"
	"github.com/revgen/revgen/engine/spins"
)

// Surrogate implements engine.Differentiable: the loss of the batch and its s′, held
// fixed.
func (s *System) Surrogate() func(params []float64) float64 {
	loss := engine.NewBalance(s.balancing, s.batch.samples, s.batch.samples, block)
	words := (s.net.Spins() + 63) / 64
	configs := make([]uint64, s.batch.samples*words)
	s.batch.Complete(configs)
	// What does not depend on the parameters, −ln W.
	var exact []float64
	for k := range s.batch.logq {
		for i, x := range s.batch.logq[k] {
			exact = append(exact, s.batch.r[k][i]-x)
		}
	}
	configs = append(configs, s.to...)
	return func(params []float64) float64 {
		for i, w := range exact {
			r := w + s.net.learned64(params, configs[i*words:][:words])
			if i < len(loss.R) {
				loss.R[i] = r
			} else {
				loss.Next[i-len(loss.R)] = r
			}
		}
		return loss.Measure()
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
