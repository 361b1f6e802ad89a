// Package hierarchy is a generator of spins with an exact density: spins are
// drawn in groups from coarse to fine, and what the last step draws is known in
// closed form.
//
// # The generator
//
// The target is π(s) = e^(−βE(s))/Z. Spins are drawn one group after another,
//
//	q(s) = Π_i σ(s_i l_i) · π(exact spins | learned spins),
//
// where the logit l_i of a learned spin comes from a perceptron of one hidden
// layer that looks at the nearest spins drawn before. A group's spins share
// their weights, and on a lattice each hidden unit has eight images under the
// symmetries of the square. Without a field the perceptrons have no biases, so
// that q(−s) = q(s) exactly.
//
// The spins drawn last are exact. They fall into stars, a centre and its
// neighbours, that touch only learned spins, so that the sum of the Boltzmann
// weights over them,
//
//	W(learned) = Σ_exact e^(−βE),
//
// is a product of tabulated numbers, and they are drawn from π itself given the
// learned spins. On the square lattice of side 2ᵏ·q they are five eighths of all
// spins (see NewSquare). What remains to be learned is the marginal law of the
// others.
//
// # What a density gives
//
// For every sample R = ln q(s) + βE(s) = ln q(learned) − ln W(learned) is known;
// it does not depend on the exact spins. E e^−R = Z, so that Estimates returns
// ln Z, its standard error and the effective sample size of importance weights,
// and E R + ln Z = KL(q‖π). The gradient of that divergence is that of the score
// function, E[(R − E R) ∇ln q], whose noise vanishes with the variance of R
// where q = π.
//
// # Numbers
//
// ln q is a sum in float64 of terms computed in float32; the kernels are those
// of package asm for perceptrons of bits. A draw is a function of seed, step and
// index, the same bits for any number of threads on one kernel path; on
// different paths logits differ in their last bits.
package hierarchy
