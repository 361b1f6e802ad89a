package bench

import (
	"fmt"
	"math"
	"slices"

	"github.com/revgen/revgen/bench/peers"
	"github.com/revgen/revgen/engine/mmd"
	"github.com/revgen/revgen/gmm"
	"github.com/revgen/revgen/internal/crash"
)

var gramSuite = Suite{
	Name:    "gram",
	Summary: "reversibility loss and gradient of real states, five Gaussians and an inverse multiquadric",
	Size:    "NxDIMENSION",
	Sizes:   []string{"2048x2", "512x2", "8192x2", "2048x9"},
	sized:   gramRows,
}

func gramRows(e *environment, size string, v []int) ([]*operation, error) {
	n, dim := v[0], v[1]
	kernel := crash.Must(gmm.Preset("paper")).Loss.Kernel
	g := mmd.NewGram(n, dim, kernel, mmd.V, e.workers)
	// Moves of the paper's step size, none of them rejected.
	s, t := noise(n*dim, 1), noise(n*dim, 2)
	for i := range t {
		t[i] = s[i] + 0.1*t[i]
	}
	ours := newReference(s, t)
	op := &operation{
		name: "loss-gradient/" + size, amount: float64(n) * float64(n-1) / 2, unit: "pair",
		need: need{pairwisePhase("", n, kernel, dim)},
		call: func() { ours.loss = g.LossGradient(s, t, ours.grad) },
		note: "unordered pairs of samples",
	}
	if dim == 2 {
		op.rivals = append(op.rivals, rival{
			name: "c-gram", caveat: "all ordered pairs of the two distinct sums",
			prepare: func(p *peers.Process) (agreement, error) {
				words := []any{"gram", n}
				for _, b := range kernel.Bandwidths {
					words = append(words, b)
				}
				return ours.agree(p, append(words, kernel.IMQ[0].C)...)
			},
		})
	}
	if n <= 4096 { // PyTorch holds some tens of N×N matrices
		op.rivals = append(op.rivals, e.pyTorchGram(ours, n, dim, kernel)...)
	}
	return []*operation{op}, nil
}

// newReference returns a reference without results, for moves from s to t.
func newReference(s, t []float32) *reference {
	return &reference{inputs: map[string][]float32{"s": s, "t": t}, grad: make([]float32, len(s))}
}

// pyTorchGram returns rivals that compute the loss with PyTorch.
func (e *environment) pyTorchGram(ours *reference, n, dim int, k mmd.Kernel) []rival {
	return e.pyTorch(rival{
		blas:   true,
		caveat: "three dense Gram matrices, automatic differentiation",
		prepare: func(p *peers.Process) (agreement, error) {
			path, err := writeJSON(p, "kernel.json", k)
			if err != nil {
				return agreement{}, err
			}
			return ours.agree(p, "gram", n, dim, "V", path)
		},
	})
}

// lossAgreement compares losses and gradients. The loss is a difference of sums of order
// one, which a float32 implementation rounds, so its error is absolute. Distances by matrix
// products lose digits, too.
func lossAgreement(ours, theirs float64, grad, theirGrad []float32) agreement {
	return agreement{max(normError(grad, theirGrad), 10*math.Abs(ours-theirs)), 1e-3,
		fmt.Sprintf("losses %.6g and %.6g; largest difference of gradients relative to the largest element", ours, theirs)}
}

// pairwisePhase counts the reversibility loss and gradient over the unordered pairs of n
// samples of dim numbers, in the form of asm.GramTile. Each pair takes the squared distances
// d²_xx and d²_xy, which share |Δu|², the kernel and its derivative at both, and two terms
// of the gradient for each of its samples.
func pairwisePhase(name string, n int, k mmd.Kernel, dim int) phase {
	kernel := kernelWork(k)
	d := float64(dim)
	pairs := float64(n) * float64(n-1) / 2
	// Each coordinate takes three differences or sums and their squares; wᵢ−wⱼ and four
	// multiply-adds of the gradient. Each pair takes p−q and a term of the loss. The sums of
	// both distances start from |Δu|².
	fma := 2*kernel[FMA] + d*(3+4)
	float := 2*kernel[Float] + d*(6+5) + 2
	return phase{name: name, counts: work{FMA: pairs * fma, Float: pairs * float}}
}

// kernelWork counts one evaluation of a kernel and its derivative. Gaussians whose
// exponents differ by a factor of 2, 4, 8 or 16 are powers of each other. An exponential by
// table takes the exponent twice, rounded and shifted, the reduction, the lookup, a square,
// a product and the scaling.
func kernelWork(k mmd.Kernel) work {
	var fma, other float64
	sigmas := slices.Sorted(slices.Values(k.Bandwidths))
	slices.Reverse(sigmas)
	for i, s := range sigmas {
		squarings := 0.0
		for _, wider := range sigmas[:i] {
			n := 2 * math.Log2(wider/s) // exponents are 1/(2σ²)
			if r := math.Round(n); math.Abs(n-r) < 1e-9 && r <= 4 && (squarings == 0 || r < squarings) {
				squarings = r
			}
		}
		if squarings > 0 {
			fma += squarings
		} else {
			fma += 4
			other += 4 // the multiple of 1/32, reduction, lookup, scaling
		}
		fma++   // the derivative's weight
		other++ // the value's sum
	}
	for _, q := range k.IMQ {
		fma += 3 + 1 + 2*q.Beta // a Newton step, the derivative's weight, powers
		other += 3              // c²+d², the estimate, the value's sum
	}
	return work{FMA: fma, Float: fma + other}
}
