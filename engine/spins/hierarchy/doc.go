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
// layer that looks at the nearest spins drawn before, or on a graph at those that
// random walks reach first. A group's spins share
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
// it does not depend on the exact spins. E e^−R = Z, so that an
// measure.Importance holds ln Z, its standard error and the effective sample size
// of importance weights, and E R + ln Z = KL(q‖π).
//
// # Detailed balance
//
// In equilibrium the law of (s, s′) is that of (s′, s). For a kernel P that is
// reversible with respect to π,
//
//	R(s) − R(s′) = ln [q(s) P(s,s′) / q(s′) P(s′,s)],
//
// the violation of detailed balance between s and s′, for which Z is not needed
// nor, where P is a Metropolis–Hastings kernel, more of E than its moves take. The
// loss, engine.Balance, is
//
//	L = ½ E (R(s) − R(s′))²
//
// over pairs that P connects, and zero exactly where q = π on what it connects. Its
// gradient with the pairs held fixed,
//
//	E [(R(s) − R(s′)) ∇(ln q(s) − ln q(s′))],
//
// has no noise there. P is a mixture of two kernels; engine.Balancing's Partners is
// the weight of the second.
//
//   - The target's transition from s. Sweeps reach where q draws too little, in whose
//     R a sample of q alone does not show it; of the slow modes they see what changes
//     between s and s′.
//   - Independence Metropolis, whose proposal s′ is another sample of q. Over all
//     pairs of a batch L is then the variance of R, and its gradient 2 E[(R − E R) ∇ln q]
//     that of KL(q‖π), twice. No moves are made.
//
// # What limits it
//
// Measured on critical lattices (β = 0.4407), one thread with AVX-512:
//
//   - Independence within a group, before all else. With 8 groups a level in
//     place of 16 the divergence is .0031, not .0007, nats on 16×16 and .014 on
//     32×32 however long the training and wide the stencil.
//   - The stencil of coarse levels, as decimation lengthens the range of the law:
//     on 32×32, 24 neighbours on levels of spacing 8 and more contribute .0046 to
//     Var R, 36 .0027, 48 no less.
//   - The length of training beyond: the contributions of coarse levels fall last.
//   - Below the critical temperature, missing what is rare: KL 1.2 and an
//     effective sample size of .996 on 32×32 at β = 0.6 without annealing. Samples
//     of the generator do not show it; Recipe anneals there.
//
// A sample adds up rows of 16 numbers and activates hidden units, as many as Operations
// says: on 16×16 with 24 neighbours and 6 hidden units 1,893 rows for 279 times 16
// units. revgen bench hierarchy holds the time against these.
//
// # Numbers
//
// ln q is a sum in float64 of terms computed in float32; the kernels are those
// of package asm for perceptrons of bits. A draw is a function of seed, step and
// index, the same bits for any number of threads on one kernel path; on
// different paths logits differ in their last bits.
package hierarchy
