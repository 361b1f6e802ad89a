package hierarchy

import (
	"math"

	"github.com/revgen/revgen/engine"
	"github.com/revgen/revgen/engine/spins"
)

// FixedLoss returns the loss of states that are held fixed as a function of θ, given their R
// and ln q at the present one, of so many samples and then of what some became. logq returns
// ln q of the i-th of all.
func FixedLoss(l *engine.Balance, r, now [][block]float64, samples int, logq func(params []float64, i int) float64) func(params []float64) float64 {
	var exact []float64 // −ln W, which does not depend on θ
	for k := range r {
		for i, x := range r[k] {
			exact = append(exact, x-now[k][i])
		}
	}
	return func(params []float64) float64 {
		all := make([]float64, len(exact))
		for i, w := range exact {
			all[i] = w + logq(params, i)
		}
		return l.Of(all[:samples], all[samples:])
	}
}

// Surrogate implements engine.Differentiable: the loss of the batch and its s′, held
// fixed.
func (s *System) Surrogate() func(params []float64) float64 {
	b, words := s.learner.Batch, (s.net.Spins()+63)/64
	configs := make([]uint64, b.Samples*block*words)
	b.Complete(configs)
	configs = append(configs, s.Next...)
	return FixedLoss(s.Balance, b.room.r, b.room.logq, b.Samples*block, func(params []float64, i int) float64 {
		return s.net.learned64(params, configs[i*words:][:words])
	})
}

// learned64 is ln q of the learned spins of a configuration by the definition of a
// unit, in float64.
func (m *Model) learned64(params []float64, config []uint64) (logq float64) {
	for i := range m.units {
		u := &m.units[i]
		for k, site := range u.sites {
			logit := u.Value64(params, func(j int) float64 { return spins.Spin(config, int(u.inputs[k*u.padded+j])) })
			logq -= math.Log1p(math.Exp(-spins.Spin(config, int(site)) * logit))
		}
	}
	return logq
}
