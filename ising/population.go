package ising

import (
	"math"
	"math/bits"
	"slices"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"

	"github.com/revgen/revgen/engine/mmd"
	"github.com/revgen/revgen/internal/number"
)

// A population evaluates the reversibility loss in the limit of infinitely many samples, from the
// joint law μ(s, s′) of pairs of configurations. A pair is a word of 2N bits, s in the upper half.
// With D(s, s′) = μ(s, s′) − μ(s′, s) and a kernel k that depends on the Hamming distance of pairs,
//
//	L = Σ_x Σ_y D(x) k(x ⊕ y) D(y) = 2^(−2N) Σ_w λ(w) D̂(w)²,
//
// where D̂ and λ are the Walsh–Hadamard transforms of D and of k.
type population struct {
	sites  int
	kernel []float64 // λ of k
	slope  []float64 // λ of k′ = dk/d(d²)
}

func newPopulation(sites int, k mmd.Kernel) *population {
	return &population{sites: sites, kernel: eigenvalues(2*sites, k.Value), slope: eigenvalues(2*sites, k.Derivative)}
}

// eigenvalues returns the Walsh–Hadamard transform of x ↦ f(4|x|) on n bits.
func eigenvalues(n int, f func(d2 float64) float64) []float64 {
	lambda := make([]float64, 1<<n)
	for x := range lambda {
		lambda[x] = f(4 * float64(bits.OnesCount(uint(x))))
	}
	number.WalshHadamard(lambda)
	return lambda
}

// asymmetry returns D for samples of the distribution p that take one step of the matrix.
func asymmetry(p []float64, m *TransitionMatrix) []float64 {
	d := make([]float64, len(m.P))
	for s := range m.States {
		for t := range m.States {
			d[s*m.States+t] = p[s]*m.P[s*m.States+t] - p[t]*m.P[t*m.States+s]
		}
	}
	return d
}

// loss returns L of an asymmetry D.
func (p *population) loss(d []float64) float64 {
	d = slices.Clone(d)
	number.WalshHadamard(d)
	for w, x := range d {
		d[w] = p.kernel[w] * x * x
	}
	return floats.SumCompensated(d) / float64(len(d))
}

// gradient returns the surrogate gradient with respect to spin i of s, with s′ fixed, for each
// pair x = (s, s′). It is the limit of N times the gradient of a batch of N samples,
//
//	8 Σ_y k′(x ⊕ y) D(y) (s_i − y_i).
func (p *population) gradient(d []float64, i int) []float64 {
	spin := func(x int) float64 { return float64(x>>(p.sites+i)&1)*2 - 1 }
	grad, signed := p.convolve(d, nil), p.convolve(d, spin)
	for x := range grad {
		grad[x] = 8 * (spin(x)*grad[x] - signed[x])
	}
	return grad
}

// convolve returns Σ_y k′(x ⊕ y) D(y) f(y), with f = 1 if nil.
func (p *population) convolve(d []float64, f func(int) float64) []float64 {
	c := slices.Clone(d)
	if f != nil {
		for y := range c {
			c[y] *= f(y)
		}
	}
	number.WalshHadamard(c)
	for w := range c {
		c[w] *= p.slope[w] / float64(len(c))
	}
	number.WalshHadamard(c)
	return c
}

// lossForm returns the symmetric matrix Q with L = pᵀQp for samples of the distribution p that take
// the given transition P. The kernel must be a sum of Gaussians, which factorise over the two
// halves of a pair: with R(s, t) = exp(−d²(s, t)/(2σ²)), A = PR and M = PRPᵀ,
//
//	Q(s, t) = 2 Σ_σ [R(s, t) M(s, t) − A(s, t) A(t, s)].
func lossForm(m *TransitionMatrix, k *mmd.Kernel) *mat.SymDense {
	n := m.States
	q, p, r := mat.NewSymDense(n, nil), m.dense(), mat.NewDense(n, n, nil)
	var a, prp mat.Dense // A and M
	for _, g := range k.Gaussians() {
		r.Apply(func(s, t int, _ float64) float64 {
			return math.Exp(-4 * float64(bits.OnesCount(uint(s^t))) * g.Exponent)
		}, r)
		a.Mul(p, r)
		prp.Mul(&a, p.T())
		for s := range n {
			for t := range s + 1 {
				q.SetSym(s, t, q.At(s, t)+2*g.Weight*(r.At(s, t)*prp.At(s, t)-a.At(s, t)*a.At(t, s)))
			}
		}
	}
	return q
}
