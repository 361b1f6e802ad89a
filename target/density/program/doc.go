// Package program asks programs in any language for ln π. One process a thread
// reads batches of states from its standard input and writes their logarithmic
// densities to its standard output; docs/targets.md specifies the protocol.
//
// Answers must be a function of the state alone, so that it does not matter which
// process gives them. Questions are repeated now and then, and one question is put to
// every new process. Two different answers are an error.
package program
