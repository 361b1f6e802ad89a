// Package hybrid learns the balanced double wells of the paper's Section
// "Hybrid System": states s = (x, k) of a real coordinate and a mode index with
//
//	p(x, k) = e^{−E(x,k)} / (M Z_k),   E(x, k) = (x² − μ_k)².
//
// A perceptron with a shared trunk maps Gaussian noise to x and to the logits
// of k; the reversibility loss compares moves by a kernel of the distance in x
// that vanishes unless the modes agree.
//
// The package also holds the exact reference: normalising constants, moments,
// distribution functions, quantiles and independent samples of the target.
package hybrid
