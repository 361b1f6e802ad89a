package categories

import (
	"math"
)

// MaxConfigurations is the largest number of configurations that are listed.
const MaxConfigurations = 1 << 20

// Configurations returns the number of configurations, MaxConfigurations + 1 if there are more.
func (t *Target) Configurations() (count int) {
	count = 1
	for _, q := range t.States {
		if count *= q; count > MaxConfigurations {
			return MaxConfigurations + 1
		}
	}
	return count
}

// Number returns the number of a configuration, Σ_i s_i Π_{j<i} q_j.
func (t *Target) Number(s []byte) (k int) {
	for i := len(s) - 1; i >= 0; i-- {
		k = k*t.States[i] + int(s[i])
	}
	return k
}

// Each calls visit with all configurations, in the order of their numbers.
func (t *Target) Each(visit func(k int, s []byte)) {
	s := make([]byte, t.N())
	for k := 0; ; k++ {
		visit(k, s)
		i := 0
		for ; i < len(s); i++ {
			if s[i]++; int(s[i]) < t.States[i] {
				break
			}
			s[i] = 0
		}
		if i == len(s) {
			return
		}
	}
}

// Enumerate returns ln Z and π of all configurations, by their numbers.
func (t *Target) Enumerate() (logZ float64, p []float64) {
	p = make([]float64, t.Configurations())
	low := math.Inf(1)
	t.Each(func(k int, s []byte) {
		p[k] = t.Beta * t.Energy(s)
		low = min(low, p[k])
	})
	var sum float64
	for k, x := range p {
		p[k] = math.Exp(low - x)
		sum += p[k]
	}
	for k := range p {
		p[k] /= sum
	}
	return math.Log(sum) - low, p
}
