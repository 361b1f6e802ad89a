package perceptron

import "math"

// Signs of learned weights are thresholds of normals,
//
//	z_j = a sign(x_j + a t_j),   x_j ~ N(0, 1),   P(z_j = +a) = Φ(a t_j),
//
// and the thresholds t follow the network's parameters; the size a of the signs
// lets them keep pace with those. A sample does not change with t but where its
// sign does, so that the gradient is the score function's,
//
//	∂L/∂t_j = (1/N) Σ_i (F_i − b_i) ∂ ln P(z_ij)/∂t_j,   ∂ ln P(±a)/∂t = ±a φ(at)/Φ(±at),
//
// with the values F and the baselines b of score.

// numParams returns the number of the network's parameters and of thresholds.
func (g *generator) numParams() int {
	if g.config.Signs.Weights == "learned" {
		return g.net.NumParams() + g.config.Signs.Number
	}
	return g.net.NumParams()
}

// thresholds returns those of a parameter vector or its gradient.
func (g *generator) thresholds(params []float32) []float32 {
	return params[g.net.NumParams():g.numParams()]
}

func (g *generator) tensorName(i int) string {
	if i >= g.net.NumParams() {
		return "thresholds of signs"
	}
	return g.net.TensorName(i)
}

// signs turns normals into signs.
func (g *generator) signs(z, params []float32) {
	t := g.thresholds(params)
	for j, x := range z {
		if len(t) > 0 {
			x += float32(g.config.Signs.Size) * t[j]
		}
		z[j] = float32(math.Copysign(g.config.Signs.Size, float64(x)))
	}
}

// thresholdGradient sets grad to ∂L/∂t for the batch's noise z, [batch][latent],
// and the values of its samples less their baselines.
func (g *generator) thresholdGradient(grad, t, z, values []float32) {
	for j := range grad {
		var above, below float64
		for i, v := range values {
			if z[i*g.config.Latent+j] > 0 {
				above += float64(v)
			} else {
				below += float64(v)
			}
		}
		x := g.config.Signs.Size * float64(t[j])
		density := math.Exp(-x*x/2) / math.Sqrt(2*math.Pi)
		up := max(math.Erfc(-x/math.Sqrt2)/2, math.SmallestNonzeroFloat64)
		down := max(math.Erfc(x/math.Sqrt2)/2, math.SmallestNonzeroFloat64)
		grad[j] = float32(g.config.Signs.Size * density * (above/up - below/down) / float64(len(values)))
	}
}
