package ising

import (
	"math"
	"sync"

	"gonum.org/v1/gonum/mat"

	"github.com/revgen/revgen/asm"
	"github.com/revgen/revgen/bitspin"
	"github.com/revgen/revgen/engine"
	"github.com/revgen/revgen/engine/mmd"
	"github.com/revgen/revgen/internal/crash"
	"github.com/revgen/revgen/internal/number"
)

// verifiedKernel has the bandwidths of the presets.
var verifiedKernel = mmd.Kernel{Bandwidths: []float64{1.5, 2}}

// checkLossElsewhere shows that no distribution but π has zero loss. The loss
// is a quadratic form pᵀQp; its null space contains π, and the second smallest
// eigenvalue of Q says that it contains nothing else.
func (v *subject) checkLossElsewhere(p bitspin.Proposal) engine.Check {
	limit := newPopulation(9, verifiedKernel)
	smallest := math.Inf(1)
	var agreement float64
	v.eachChain(p, func(m *TransitionMatrix, pi []float64) {
		q := lossForm(m, &verifiedKernel)
		var eigen mat.EigenSym
		if !eigen.Factorize(q, false) {
			smallest = math.Inf(-1)
			return
		}
		smallest = min(smallest, eigen.Values(nil)[1])
		// The form and the transform must agree away from π.
		corner := make([]float64, len(pi))
		corner[0] = 1
		loss := limit.loss(asymmetry(corner, m))
		agreement = max(agreement, math.Abs(q.At(0, 0)-loss)/loss)
	})
	if agreement > 1e-10 {
		return engine.AtMost("", agreement, 1e-10, "relative difference of the population loss by quadratic form and by Walsh–Hadamard transform")
	}
	return engine.AtLeast("", smallest, 1e-9, "smallest loss of a distribution's component orthogonal to π, by its squared norm, β = 0.2 and 0.5")
}

// gradientAtTarget returns the largest element of the surrogate gradient at p = π.
func gradientAtTarget(m *TransitionMatrix, pi []float64) (worst float64) {
	limit, d := newPopulation(9, verifiedKernel), asymmetry(pi, m)
	for i := range 9 {
		worst = max(worst, number.Largest(limit.gradient(d, i)))
	}
	return worst
}

// pairs returns n pairs (s, t) of packed configurations. Twelve steps of single-spin and global
// flips take the ground state to s, and three more take s to t. Samples stay so close to each other
// that kernels matter on any lattice.
func pairs(l, n int, seed uint64) (s, t []uint64) {
	target := crash.Must(NewTarget(l, 1, 0, 0.1))
	proposal := crash.Must(bitspin.Mixture(0.1))
	k := crash.Must(bitspin.NewMetropolis(target.Model, target.Beta, proposal))
	s, t = make([]uint64, n*target.Words), make([]uint64, n*target.Words)
	var st bitspin.Count
	k.Run(nil, s, s, 0, n, 12, &asm.Counter{Seed: seed}, 0, &st)
	k.Run(nil, t, s, 0, n, 3, &asm.Counter{Seed: seed, Step: 1}, 0, &st)
	return s, t
}

// realSpins unpacks configurations to ±1.
func realSpins(batch []uint64, n, spins int) []float64 {
	narrow := make([]float32, n*spins)
	bitspin.Unpack(narrow, batch, spins)
	return number.Widen(narrow)
}

// compositeKernel has a summand of every kind.
var compositeKernel = mmd.Kernel{
	Bandwidths: []float64{1, 2, 4},
	Weights:    []float64{0.5, 1, 2},
	IMQ:        []mmd.IMQ{{C: 1.4, Beta: 0.5, Weight: 1}},
}

func (v *subject) checkSurrogate() engine.Check {
	const n, l, dim = 24, 3, 9
	packedS, packedT := pairs(l, n, 3)
	s, t := realSpins(packedS, n, dim), realSpins(packedT, n, dim)
	var worst float64
	for _, stat := range []mmd.Statistic{mmd.V, mmd.U} {
		grad := make([]float64, n*dim)
		v.surrogate(&compositeKernel, stat, s, t, n, dim, grad)
		scale := number.Largest(grad)
		for i := range s {
			want := number.CentralDifference(&s[i], 1e-4, func() float64 { return v.surrogate(&compositeKernel, stat, s, t, n, dim, nil) })
			worst = max(worst, math.Abs(want-grad[i])/scale)
		}
	}
	return engine.AtMost("", worst, 1e-6, "relative difference from central differences of the loss with s′ fixed, V- and U-statistic")
}

// A batchReference is the loss of a batch of pairs and its gradient, as double sums in float64.
type batchReference struct {
	n, spins int
	s, t     []uint64
	kernel   mmd.Kernel
	stat     mmd.Statistic
	mode     mmd.HammingGradient
	loss     float64
	gradient []float64
}

// batchReferences returns the references of the verified batches. They take long, and are computed
// once.
var batchReferences = sync.OnceValue(func() (references []batchReference) {
	for _, c := range []struct{ l, n int }{{3, 301}, {9, 67}} {
		spins := c.l * c.l
		s, t := pairs(c.l, c.n, 5)
		rs, rt := realSpins(s, c.n, spins), realSpins(t, c.n, spins)
		for _, k := range []mmd.Kernel{verifiedKernel, compositeKernel} {
			for _, stat := range []mmd.Statistic{mmd.V, mmd.U} {
				for _, mode := range []mmd.HammingGradient{mmd.Surrogate, mmd.Difference} {
					r := batchReference{n: c.n, spins: spins, s: s, t: t, kernel: k, stat: stat, mode: mode}
					r.loss, r.gradient = mmd.HammingNaive(s, t, c.n, spins, k, mode, stat)
					if mode == mmd.Surrogate {
						r.loss = mmd.Naive(&k, stat, rs, rt, c.n, spins, r.gradient)
					}
					references = append(references, r)
				}
			}
		}
	}
	return references
})

// batchErrors compares the packed loss with the references. It returns the largest errors of the
// loss, relative to the kernel's largest value, and of the gradient, relative to its largest
// element.
func (v *subject) batchErrors() (loss, gradient float64) {
	for _, r := range batchReferences() {
		got := make([]float32, r.n*r.spins)
		h := v.hamming(r.n, r.spins, r.kernel, r.mode, r.stat)
		gotLoss := h.LossGradient(r.s, r.t, got)
		loss = max(loss, math.Abs(gotLoss-r.loss)/r.kernel.Value(0))
		scale := number.Largest(r.gradient)
		for i, g := range r.gradient {
			gradient = max(gradient, math.Abs(float64(got[i])-g)/scale)
		}
	}
	return loss, gradient
}

func (v *subject) checkBatchLoss() engine.Check {
	loss, _ := v.batchErrors()
	return engine.AtMost("", loss, 1e-7, "packed loss against O(N²) sums in float64, by k(0): 9 and 81 spins, V- and U-statistic, two kernels")
}

func (v *subject) checkBatchGradient() engine.Check {
	_, gradient := v.batchErrors()
	return engine.AtMost("", gradient, 1e-5, "packed gradients against O(N²) sums in float64, by the largest element: 9 and 81 spins, V- and U-statistic, surrogate and difference, two kernels")
}

// checkBackpropagation compares the gradient with respect to the parameters of a training
// step with central differences.
func (v *subject) checkBackpropagation() engine.Check {
	config := paper()
	config.Training.Batch = 64
	s := crash.Must(config.New(v.workers)).(*system)
	params := make([]float32, s.NumParams())
	s.Initialize(params)
	worst, tensors := engine.GradientError(s, params, func(params, grad []float32) { v.backward(s, params, grad) })
	return engine.AtMost("", worst, 2e-3, "relative difference from central differences in float64 of the loss of real spins with s′ fixed, along random directions of each of %d tensors", tensors)
}
