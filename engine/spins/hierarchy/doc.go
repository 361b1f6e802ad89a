// Package hierarchy is a generator of spins with an exact density: spins are drawn in
// groups from coarse to fine, the last of them from π itself.
//
//	q(s) = Π_i σ(s_i l_i) · π(exact spins | learned spins), π(s) = e^(−βE(s))/Z
//
// The logit l_i of a learned spin is a perceptron of one hidden layer. It looks at the
// nearest spins drawn before, or on a graph at those that random walks reach first. A
// group's spins share their weights. On a lattice a hidden unit has images under the
// symmetries of the square or its rotations, and without a field there are no biases, so
// that q(−s) = q(s).
//
// The exact spins fall into stars, a centre and its neighbours, that touch only learned
// spins. The sum of Boltzmann weights over them, W(learned), is therefore a product of
// tabulated numbers. On the square lattice they are five eighths of all spins (NewSquare).
//
// R = ln q(s) + βE(s) = ln q(learned) − ln W(learned) does not depend on the exact spins.
// E e^−R = Z gives importance weights (measure.Weigh), and E R + ln Z = KL(q‖π).
// Training is engine.Balance, whose partners are the target's transition from s and other
// samples of q.
//
// Its limits, measured at β = 0.4407: independence within a group (8 groups a level in
// place of 16 have twenty times the divergence); the neighbours that coarse levels see; the
// steps that these take to learn; and below the critical temperature a missed mode, which
// samples do not show and for which Recipe anneals.
//
// ln q is a sum in float64 of terms in float32. A draw is a function of seed, step and
// index, the same bits for any number of threads on one kernel path.
package hierarchy
