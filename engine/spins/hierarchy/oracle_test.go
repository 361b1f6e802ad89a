package hierarchy

import (
	"math"
	"math/rand/v2"

	"github.com/revgen/revgen/engine/spins"
)

// naiveEnergy is the target's definition.
func naiveEnergy(t *Target, config []uint64) (e float64) {
	for _, b := range t.Bonds {
		e -= b.Coupling * spins.Spin(config, b.I) * spins.Spin(config, b.J)
	}
	for i := range t.Spins {
		e -= t.field(i) * spins.Spin(config, i)
	}
	return e
}

// learnedMask marks the learned spins of a target of at most 64.
func learnedMask(m *Model) (mask uint64) {
	for i := range m.Units {
		for _, s := range m.Units[i].Sites {
			mask |= 1 << s
		}
	}
	return mask
}

// wild fills parameters so that the probabilities are far from ½.
func wild(m *Model, seed uint64) []float32 {
	r := rand.New(rand.NewPCG(seed, 1))
	params := make([]float32, m.NumParams())
	for i := range m.Units {
		u := &m.Units[i]
		for j := range m.Units[i].Params() {
			params[u.weights+j] = float32(0.4 * r.NormFloat64())
		}
		for h := range u.hidden {
			params[u.output+h] *= 4 / float32(math.Sqrt(float64(u.hidden*len(u.images))))
		}
	}
	return params
}

func wide(params []float32) []float64 {
	w := make([]float64, len(params))
	for i, p := range params {
		w[i] = float64(p)
	}
	return w
}
