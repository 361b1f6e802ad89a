// Package bitspin holds Ising configurations with one bit a spin and works on
// them by XOR, shifts and population counts: energies, energy differences of
// arbitrary flips, the proposals of the paper's section "Discrete System: 2D
// Ising Model", and batches of Metropolis steps.
//
// # Layout
//
// Site (row, col) of an L×L lattice is bit i = row·L + col; a set bit is spin
// +1, a clear bit spin −1. A configuration is Words(L²) = ⌈L²/64⌉ words with
// site 0 in the lowest bit of the first word and the unused high bits of the
// last word zero. A batch is a []uint64 of whole configurations, one after
// the other, owned by the caller.
//
// # Geometry
//
// Boundaries are periodic, and each site has one bond to its right and one to
// its lower neighbour, 2·L² bonds in all. On the 2×2 lattice the left and the
// right neighbour coincide, as do the upper and the lower one, so that each
// pair of neighbours carries two bonds: this is the definition that continues
// the formulas for larger lattices, Kaufman's partition function included.
//
// # Exactness
//
// With bond sum B = Σ_<ij> s_i s_j and magnetisation M = Σ_i s_i, both
// integers, the energy is E = −J·B − h·M. All differences are computed as
// integers first. Proposals are symmetric and uniform without rounding, and
// acceptance probabilities are realised to 64 bits.
package bitspin
