// Package spins holds what is common to all spins on graphs: energies with
// arbitrary couplings and fields, the files they come in, exact sums over few
// spins, and Monte Carlo for many. Ensemble (of package sites) and Transition draw, refine
// and observe the spins of any generator. A target of one's own is simplest as a file
// for package target/graph.
//
// # Energy
//
// The law of n spins s_i = ±1 is e^(−βE(s))/Z with
//
//	E(s) = −Σ_edges J_ij s_i s_j − Σ_i h_i s_i + offset,
//
// so positive couplings are ferromagnetic and positive fields favour spin +1. A
// Hamiltonian is this energy as it is written in a file or a configuration; a Graph
// computes it. Other programs have other signs. A Source reads their files, and the
// Reading states the convention that was applied, for the user to see.
//
// # Layout
//
// A configuration is packed as in package bitspin: spin i is bit i mod 64 of word
// i/64, a set bit is +1, unused high bits are zero, and a batch is a []uint64 of
// whole configurations, owned by the caller.
//
// The heat bath has another layout: a word holds one spin of 64 configurations.
//
// # From an energy to averages
//
//	Source ──► Reading ─┐
//	Hamiltonian ────────┴► Graph ─┬─► Enumerate             ──► Exact             up to 25 spins
//	                              ├─► Transfer              ──► TransferAverages  few spins at any cut
//	                              ├─► Sweeper ──► Ensemble  ──► Temper            many, at low temperatures
//	                              └─► Metropolis, Sweeper                         batches of the caller
//
// Exact and TransferAverages give the same Observables. Package stat says how far averages of
// tempered chains can be trusted, by standard errors from autocorrelation times and by the
// agreement of the chains.
//
// # Randomness
//
// Draws are functions of the stream's seed and purpose, of a step, and of the
// index of a sample or chain, never of the thread that makes them.
package spins
