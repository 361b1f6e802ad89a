// Package kfd finds the regularised least-squares witness of irreversibility,
// the kernel Fisher discrepancy: an objective beside the maximum mean
// discrepancy that sees what plain MMD is blind to near its solution.
//
// Among the antisymmetric functions f(s, s′) = g(s) − g(s′) with g = φᵀc in the
// span of r features φ, the one that best separates forward pairs (s, s′) from
// backward pairs (s′, s) in the least-squares sense, with a ridge λ, has
//
//	c = 2 (E[δδᵀ] + λ1)⁻¹ E[δ],   δ = φ(s) − φ(s′).
//
// It is the weak adversarial formulation of the paper's remark on
// extensibility, solved in closed form. In detailed balance E[δ] = 0 and so
// g = 0. Near it, g ≈ log(p_θ/π) + const: descending E[g(s)] with g held fixed
// follows the gradient of the reverse Kullback–Leibler divergence, without the
// target's gradient, normalisation or samples.
//
// Three ingredients make it work. Cross-fitting: the witness of one half of the
// batch drives the other half, for a witness is overconfident on the samples
// that made it. An exponential average of E[δδᵀ], which is but a preconditioner,
// over many steps, so that it can have far more entries than a batch has
// samples. And a ridge, small, for directions that no sample moves in.
package kfd
