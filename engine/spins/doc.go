// Package spins holds what is common to all spins on graphs: energies with
// arbitrary couplings and fields, the files they come in, exact sums over few
// spins, and Monte Carlo for many. Ensemble (of package sites) and Transition draw, refine
// and observe the spins of any generator. Spins of one's own are simplest given in a
// file, to package target/graph.
//
// # Energy
//
// The law of n spins s_i = ±1 is e^(−βE(s))/Z with
//
//	E(s) = −Σ_edges J_ij s_i s_j − Σ_i h_i s_i + offset,
//
// so positive couplings are ferromagnetic and positive fields favour spin +1. A
// Hamiltonian is this as it is written, in a file or in a configuration; a
// Graph is what it is computed with. Other programs count the other way, and a
// Source reads their files: the Reading states the convention that was applied,
// and whoever reads a file for a user prints it.
//
// # Layout
//
// A configuration is packed as in package bitspin: spin i is bit i mod 64 of word
// i/64, a set bit is +1, unused high bits are zero, and a batch is a []uint64 of
// whole configurations, owned by the caller.
//
// If many chains of one graph are worked on together, a word holds one spin of 64
// of them instead.
//
// # From an energy to averages
//
//	Source ──► Reading ─┐
//	Hamiltonian ────────┴► Graph ─┬─► Enumerate                ──► Exact     up to 25 spins
//	                              ├─► Transfer                 ──► TransferSums few spins at any cut
//	                              ├─► Sweeper ──► Ensemble     ──► Temper       many, at low temperatures
//	                              └─► Metropolis, Sweeper      (batches that others own)
//
// Exact and TransferSums give the same Observables. Package stat says of the averages of
// tempered chains how far they are to be trusted: standard errors from autocorrelation
// times, and the agreement of the chains.
//
// # Randomness
//
// Draws are functions of the stream's seed and purpose, of a step, and of the
// index of a sample or chain, never of the thread that makes them.
package spins
