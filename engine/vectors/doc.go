// Package vectors is what the states of any generator of real vectors are drawn, refined,
// weighed, scored and observed by, with a mode beside each vector or without: what
// packages reals and mixed share, as spins.Ensemble is what generators of spins share.
//
//	states.go     a batch of states, and their layouts in files
//	ensemble.go   samples, energies, refinement and scores
//	sampler.go    draws of a trained generator, piece by piece
//	walk.go       observables, and walks of states that are observed
//	shape.go      steps of chains in many coordinates
package vectors
