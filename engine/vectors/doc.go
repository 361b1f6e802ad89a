// Package vectors is the kit for targets whose states are real vectors x, or vectors with a mode,
// (x, k). It knows of a target what a Target says: its dimension, its modes and ln π up to a
// constant.
//
// A density of one's own is simpler to give to package target/density. The kit is for
// whoever embeds it in a system.
//
// Begin with reversibility.go of package engine: Algorithm 1, in its two forms.
//
//	target.go                            π
//	generator.go                         z → s and ∂L/∂s → ∂L/∂θ: perceptron.go and mixture.go, and
//	                                     without modes flow.go, with the bends of bend.go
//	kernel.go                            s → s′
//	learner.go, transition.go            both for a batch, in parallel
//	system.go                            what engine.System asks for
//	pairs.go, balance.go                 the loss of each form, and ∂L/∂s or the coefficients of ∇ln q
//	convergence.go                       when training by balance may end
//	mmd.go, discriminator.go             losses of pairs: the paper's, and a learned one
//	boundary.go                          the penalty of eq. (5.2)
//	config.go, presets.go, recipe.go     the configuration, and what is best for a target
//	states.go                            a batch of states, and its layouts in files
//	ensemble.go, sampler.go              samples of a trained generator, energies, refinement and scores
//	walk.go, shape.go                    observables, and walks of states that are observed
//	verify.go, verify_*.go               checks against independent computations
package vectors
