package mmd

import (
	"fmt"
	"math"

	"github.com/revgen/revgen/asm"
	"github.com/revgen/revgen/internal/conf"
)

// A Statistic says which pairs of samples the double sums run over.
type Statistic string

// The V-statistic of eq. (3.4) sums over all i and j and divides by
// N². The U-statistic leaves out i = j in both sums and divides by N(N−1); it
// is unbiased, so the target is a fixed point at any batch size.
const (
	V Statistic = "V"
	U Statistic = "U"
)

// pairs returns the number of ordered pairs that the statistic averages over.
func pairs(stat Statistic, n int) float64 {
	if stat == U {
		return float64(n) * float64(n-1)
	}
	return float64(n) * float64(n)
}

// pairNorm returns one over the number of pairs.
func pairNorm(stat Statistic, n int) float64 { return 1 / pairs(stat, n) }

// An IMQ is an inverse multiquadric, Weight·(C²+d²)^(−Beta).
type IMQ struct {
	C      float64 `json:"c"`
	Beta   float64 `json:"beta"`
	Weight float64 `json:"weight"`
}

// A Matern is Weight times the Matérn function of a distance d of smoothness
// Nu = ν, which is ½, 1½ or 2½, and length scale Length = ℓ: with
// a = √(2ν) d/ℓ,
//
//	e^−a,   (1+a) e^−a   and   (1 + a + a²/3) e^−a.
//
// For ν = ½ it is the Laplacian kernel e^(−d/ℓ). Its gradient has no limit where
// two states meet, and is taken as 0 there.
type Matern struct {
	Nu     float64 `json:"nu"`
	Length float64 `json:"length"`
	Weight float64 `json:"weight"`
}

// rate returns a²/d².
func (m *Matern) rate() float64 { return 2 * m.Nu / (m.Length * m.Length) }

// A Kernel is a function of the squared distance d² between two pairs of
// states: a sum of Gaussians exp(−d²/(2σ²)), one per bandwidth σ, of inverse
// multiquadrics, of Matérn functions, and, between spins, of heat kernels. All
// are characteristic, so the discrepancy vanishes only in detailed balance.
type Kernel struct {
	Bandwidths []float64 `json:"bandwidths"`        // σ of each Gaussian, exp(−d²/(2σ²))
	Weights    []float64 `json:"weights,omitempty"` // of the Gaussians; nil means all 1
	IMQ        []IMQ     `json:"imq,omitzero"`      // inverse multiquadrics, weight·(c² + d²)^−β each
	Matern     []Matern  `json:"matern,omitzero"`   // Matérn kernels of half-integer ν
	// Diffusion lists times t of the heat kernel of the hypercube of spins
	// (Kondor and Lafferty 2002), tanh(t)^h at the Hamming distance h = d²/4. As
	// a function of d² it is the Gaussian of bandwidth (−2/ln tanh t)^½.
	Diffusion []float64 `json:"diffusion,omitempty"`
}

// Validate reports the first parameter that is not usable, by its name.
func (k *Kernel) Validate() error {
	if len(k.Bandwidths)+len(k.IMQ)+len(k.Matern)+len(k.Diffusion) == 0 {
		return fmt.Errorf("bandwidths: the kernel is empty; give at least one bandwidth or one term of imq, matern or, for spins, diffusion")
	}
	if err := conf.AllPositive("bandwidths", k.Bandwidths); err != nil {
		return err
	}
	if k.Weights != nil && len(k.Weights) != len(k.Bandwidths) {
		return fmt.Errorf("weights: %d values for %d bandwidths", len(k.Weights), len(k.Bandwidths))
	}
	if err := conf.AllPositive("weights", k.Weights); err != nil {
		return err
	}
	// A term's value and slope are largest at the origin. They must not overflow float32 there.
	const maxValue = 1e30 // leaves room for sums
	for i, s := range k.Bandwidths {
		if e := 1 / (2 * s * s); !(max(1, e)*max(1, k.weight(i)) < maxValue) {
			return fmt.Errorf("bandwidths[%d]: %v with weight %v makes the kernel too steep for single precision", i, s, k.weight(i))
		}
	}
	for i, q := range k.IMQ {
		err := conf.First(conf.Positive("c", q.C), conf.Positive("beta", q.Beta), conf.Positive("weight", q.Weight))
		if err != nil {
			return conf.Under(fmt.Sprintf("imq[%d]", i), err)
		}
		value := q.Weight * math.Pow(q.C, -2*q.Beta)
		if !(value < maxValue && value*q.Beta/(q.C*q.C) < maxValue) {
			return fmt.Errorf("imq[%d]: c = %v, beta = %v and weight = %v make the kernel too steep for single precision", i, q.C, q.Beta, q.Weight)
		}
	}
	for i, m := range k.Matern {
		if m.Nu != 0.5 && m.Nu != 1.5 && m.Nu != 2.5 {
			return fmt.Errorf("matern[%d].nu: %v is not 0.5, 1.5 or 2.5", i, m.Nu)
		}
		if err := conf.First(conf.Positive("length", m.Length), conf.Positive("weight", m.Weight)); err != nil {
			return conf.Under(fmt.Sprintf("matern[%d]", i), err)
		}
		const pole = 1 << 20 // how much a Laplacian's slope grows towards 0
		if !(max(1, m.rate()*pole)*m.Weight < maxValue) {
			return fmt.Errorf("matern[%d]: length = %v and weight = %v make the kernel too steep for single precision", i, m.Length, m.Weight)
		}
	}
	for i, t := range k.Diffusion {
		// At other times tanh t or its logarithm is 0 in single precision.
		if !(t >= 1e-30 && t <= 8) {
			return fmt.Errorf("diffusion[%d]: %v is not a time between 1e-30 and 8", i, t)
		}
	}
	return nil
}

// mustBeValid panics with an error of Validate, since configurations are validated earlier.
func (k *Kernel) mustBeValid() {
	if err := k.Validate(); err != nil {
		panic(err)
	}
}

// ValidateReal is Validate for states of real coordinates, for which heat kernels
// of spins are not defined.
func (k *Kernel) ValidateReal() error {
	if len(k.Diffusion) > 0 {
		return fmt.Errorf("diffusion: the heat kernel of the hypercube is one of spins; for real coordinates it is a Gaussian, see bandwidths")
	}
	return k.Validate()
}

func (k *Kernel) weight(i int) float64 {
	if k.Weights == nil {
		return 1
	}
	return k.Weights[i]
}

// Gaussians returns the terms of the form Weight·exp(−Exponent·d²), including heat kernels.
func (k *Kernel) Gaussians() (gaussians []asm.Gaussian) {
	for i, s := range k.Bandwidths {
		gaussians = append(gaussians, asm.Gaussian{Exponent: 1 / (2 * s * s), Weight: k.weight(i)})
	}
	for _, t := range k.Diffusion {
		gaussians = append(gaussians, asm.Gaussian{Exponent: -math.Log(math.Tanh(t)) / 4, Weight: 1})
	}
	return gaussians
}

// Value returns k(d²).
func (k *Kernel) Value(d2 float64) float64 {
	var sum float64
	for _, g := range k.Gaussians() {
		sum += g.Weight * math.Exp(-g.Exponent*d2)
	}
	for _, q := range k.IMQ {
		sum += q.Weight * math.Pow(q.C*q.C+d2, -q.Beta)
	}
	for _, m := range k.Matern {
		a := math.Sqrt(m.rate() * d2)
		sum += m.Weight * math.Exp(-a) * []float64{1, 1 + a, 1 + a + a*a/3}[int(m.Nu)]
	}
	return sum
}

// Derivative returns dk/d(d²). The derivative of a Laplacian term at 0 is taken as 0.
func (k *Kernel) Derivative(d2 float64) float64 {
	var sum float64
	for _, g := range k.Gaussians() {
		sum -= g.Weight * g.Exponent * math.Exp(-g.Exponent*d2)
	}
	for _, q := range k.IMQ {
		sum -= q.Weight * q.Beta * math.Pow(q.C*q.C+d2, -q.Beta-1)
	}
	for _, m := range k.Matern {
		a := math.Sqrt(m.rate() * d2)
		e := m.Weight * m.rate() / 2 * math.Exp(-a)
		switch {
		case m.Nu == 1.5:
			sum -= e
		case m.Nu == 2.5:
			sum -= e * (1 + a) / 3
		case a > 0:
			sum -= e / a
		}
	}
	return sum
}
