// Package mmd estimates the reversibility loss, the squared maximum mean
// discrepancy between the laws of (s, s′) and (s′, s), and its gradient in s
// with s′ held fixed (the stop-gradient surrogate of the paper's eq.
// (3.5)).
//
// With a_i = s_i, b_i = s′_i and a kernel k(d²) of the squared distance between
// pairs, the four sums of eq. (3.4) reduce to two,
//
//	L = (2/N²) Σ_ij [k(|a_i−a_j|² + |b_i−b_j|²) − k(|a_i−b_j|² + |b_i−a_j|²)],
//
//	∂L/∂a_i = (8/N²) Σ_j [k′(d²_xx,ij)(a_i−a_j) − k′(d²_xy,ij)(a_i−b_j)],
//
// where k′ is the derivative with respect to the squared distance. Pairs with b_j = a_j
// contribute exactly nothing. Gram takes real vectors, Hamming packed spins,
// for which d² is four times the Hamming distance, and Mixed real vectors
// with modes.
package mmd
