// Package ising learns the two-dimensional Ising model on a periodic L×L lattice (the paper's
// Section 5.3). By the paper's method a perceptron maps Gaussian noise to logits, their signs or
// Bernoulli draws are the spins, and the reversibility loss compares pairs (s, s′) of packed
// configurations by their Hamming distance. The other presets draw spins one group after another,
// with a known density (package hierarchy).
//
// The package also holds the exact reference: enumeration, Kaufman's
// finite-lattice formula and the full transition matrix of small lattices.
package ising
