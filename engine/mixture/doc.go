// Package mixture holds mixtures of Gaussians with an exact density, the base of
// generators of real vectors, alone or with a mode. A population, which finds where a
// target has its weight, places the Gaussians.
//
// A state is a point x of d coordinates with a label k; there may be one label
// alone. Component j is of label j mod the number of labels, and
//
//	q(x, k) = Σ_{j of label k} w_j N(x | μ_j, L_j L_jᵀ).
//
// The parameters of a component are those of a map from where it has been placed,
//
//	μ = c + S a,   L = S T,   w = softmax(logits),
//
// T lower triangular with a diagonal e^τ: a step of a, T and the logits means the
// same whatever the target's units, dimension and correlations. The placement c,
// S is part of the parameters too, but nothing is learned of it.
//
// A product has its coordinates for labels: each is a mixture on the line by itself, whose
// weights sum to 1.
//
// Score adds Σ_r C_r ∇ ln q(x_r, k_r) over given states: the terms of the gradient of
// KL(q‖π) by the score function.
//
// All of it is in float64: a component may be narrow and far from the origin.
package mixture
