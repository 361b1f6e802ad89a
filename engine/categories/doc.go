// Package categories is a kit for sites of a few states each, up to 16: Potts and clock
// models, species on a lattice, colourings, and any other law of pairs.
//
// # The target
//
//	π(s) = e^(−βE(s))/Z,   E(s) = Σ_pairs e_ij(s_i, s_j) + Σ_i f_i(s_i) + offset.
//
// Spins ±1 are the case of two states, for which engine/spins has faster code.
//
// # The generator
//
// Sites are drawn one group after another, in the order, with the neighbours and with the
// symmetries of package hierarchy. The logit of state c of a site is a perceptron. Its inputs are
// bits that say how each neighbour x looks from c:
//
//   - Same, if energies depend on whether states are equal: x = c. All states share one
//     net if no field tells them apart, so that the law has all symmetries of the target.
//   - Distance, if energies depend on the distance of states on a circle: |x − c| ≤ k for
//     every k below half of q. All states share one net, likewise.
//   - States, for any other target: x itself. Each state has its own net.
//
// The other sites are exact: they fall into stars that touch drawn sites alone (hierarchy.Star).
// Their weights are summed out, so that they are drawn from π itself.
//
// # Blocks
//
// A block is 64 samples: states [site][64] of one byte each, and for each bit that networks read a
// word of the 64 samples.
package categories
