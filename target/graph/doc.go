// Package graph is RevGen's system for spins on any graph: a glass, a Max-Cut
// problem, a QUBO, read from a file or written in the configuration.
//
// The target π(s) = e^(−βE(s))/Z is that of package spins, with its file formats
// and sign conventions. The generator is a hierarchy (package hierarchy), whose
// density is known, so that effective sample size and ln Z come with every table,
// or the paper's perceptron, which is trained by moves alone (package perceptron).
// For at most spins.MaxEnumerated spins the reference is the sum over all configurations.
// For more it is a transfer matrix if few spins have neighbours on both sides of any cut.
// Otherwise it is parallel tempering, with standard errors that the table states.
package graph
