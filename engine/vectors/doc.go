// Package vectors is the kit for targets on real vectors x, alone or with a mode k: its
// states are (x, k), where k is absent without modes. It knows of the target no more than a
// Target says: its dimension, its modes and ln π up to a constant.
//
// A density of one's own is simpler to give to package target/density; the kit is for
// whoever embeds it in a system.
//
// Begin with reversibility.go of package engine: Algorithm 1, in its two forms.
//
//	target.go                            π
//	generator.go                         z → s and ∂L/∂s → ∂L/∂θ: flow.go without modes, perceptron.go
//	                                     and mixture.go with and without
//	kernel.go                            s → s′
//	learner.go, transition.go            both for a batch, in parallel
//	system.go                            what engine.System asks for
//	pairs.go, balance.go                 the loss of each form, and ∂L/∂s or the coefficients of ∇ln q
//	mmd.go, discriminator.go             losses of pairs: the paper's, and a learned one
//	boundary.go                          the penalty of eq. (5.2)
//	config.go, presets.go, recipe.go     the configuration, and what is best for a target
//	states.go                            a batch of states, and their layouts in files
//	ensemble.go, sampler.go              samples of a trained generator, energies, refinement and scores
//	walk.go, shape.go                    observables, and walks of states that are observed
//	verify.go, verify_*.go               checks against independent computations
package vectors
