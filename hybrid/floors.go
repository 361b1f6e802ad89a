package hybrid

import (
	"math"
	"math/rand/v2"

	"github.com/revgen/revgen/internal/stat"
)

// errorLaws are the laws of the metrics of n exact samples, times √n, or times n for the squared
// discrepancy. They are the limits for large n.
type errorLaws struct{ conditional, marginal, squared, discrepancy stat.Null }

// simulateLaws simulates the error laws.
func (t *Target) simulateLaws() *errorLaws {
	laws := &errorLaws{marginal: stat.NewNull(stat.Bridges([][]float64{nodes(t, 1000)}, 1, 0))}
	// Modes are independent of each other, each with n/M samples.
	modes := t.Modes()
	var conditional []float64
	for k := range modes {
		for i, w := range stat.Bridges([][]float64{nodes(t.Well(k), 1000)}, 1/float64(modes), 1+uint64(k)) {
			if k == 0 {
				conditional = append(conditional, 0)
			}
			conditional[i] += w / float64(modes)
		}
	}
	laws.conditional = stat.NewNull(conditional)
	squared := t.simulateDiscrepancy()
	laws.squared = stat.NewNull(squared)
	for i, v := range squared {
		squared[i] = math.Sqrt(v)
	}
	laws.discrepancy = stat.NewNull(squared)
	return laws
}

// nodes returns n quantiles of a law, at equal steps of probability.
func nodes(l stat.Law, n int) []float64 {
	x := make([]float64, n)
	for i := range x {
		x[i] = l.Quantile((float64(i) + 0.5) / float64(n))
	}
	return x
}

// simulateDiscrepancy draws the squared discrepancy of n exact samples, times n, in the limit of large n:
// the squared norm of a sum of kernels at points of the law, with independent normal weights.
func (t *Target) simulateDiscrepancy() []float64 {
	const repeats = 500
	modes := t.Modes()
	points := min(max(1024/modes, 16), 256)
	_, delta, weights := spectrum(t)
	scale := math.Sqrt(1 / float64(points*modes))
	waves := make([][]complex128, modes) // scale·e^{ijδx} of each point x and frequency jδ, [points][frequencies]
	for k := range waves {
		for _, x := range nodes(t.Well(k), points) {
			z, rotation := complex(scale, 0), phase(delta*x)
			for range weights {
				waves[k] = append(waves[k], z)
				z *= rotation
			}
		}
	}
	r := rand.New(rand.NewPCG(0x6d6d64, 0))
	normals := make([]float64, modes*points)
	sum := make([]complex128, len(weights))
	squared := make([]float64, repeats)
	for i := range squared {
		var mean float64
		for j := range normals {
			normals[j] = r.NormFloat64()
			mean += normals[j] / float64(len(normals))
		}
		for k, w := range waves {
			clear(sum)
			for p := range points {
				c := complex(normals[k*points+p]-mean, 0)
				for j, z := range w[p*len(weights):][:len(weights)] {
					sum[j] += c * z
				}
			}
			for j, z := range sum {
				squared[i] += weights[j] * (real(z)*real(z) + imag(z)*imag(z))
			}
		}
	}
	return squared
}
