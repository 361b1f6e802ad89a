package hierarchy

import (
	"math"

	"github.com/revgen/revgen/engine/spins"
)

// Surrogate implements engine.Differentiable by the balance loss with s and s′ held fixed.
func (s *System) Surrogate() func(params []float64) float64 {
	return s.FixedLoss(s.net.learned64)
}

// learned64 returns ln q of the learned spins of a configuration by the definition of a
// unit, in float64.
func (m *Model) learned64(params []float64, config []uint64) (logq float64) {
	for i := range m.Units {
		u := &m.Units[i]
		for k, site := range u.Sites {
			logit := u.Value64(params, func(j int) float64 { return spins.Spin(config, int(u.Inputs[0][k*u.padded+j])) })
			logq -= math.Log1p(math.Exp(-spins.Spin(config, int(site)) * logit))
		}
	}
	return logq
}
