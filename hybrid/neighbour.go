package hybrid

import (
	"math"
	"math/rand/v2"
)

// Neighbour returns the wells that belong to a seed: 2 to 8 modes, with μ between
// 0.25 and 40. They are what recipes are measured on that were not chosen by them.
func Neighbour(seed uint64) TargetConfig {
	r := rand.New(rand.NewPCG(seed, 0x6e65696768))
	mu := make([]float64, 2+r.IntN(7))
	for k := range mu {
		mu[k] = 0.25 * math.Exp(math.Log(160)*r.Float64())
	}
	return TargetConfig{Mu: mu}
}
