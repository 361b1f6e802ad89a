// Package mixed is the kit for targets on states (x, k) of a real vector and a
// mode: generators with heads for both, Metropolis moves within a mode and
// across, discrepancies, sampling and configuration. It knows of
// the target no more than a Target says: its dimension, its modes and ln π up to
// a constant.
//
// A density of one's own is simpler to give to package target/density; the kit is for
// who embeds it in a system.
//
// Noise z enters a generator and leaves as states s; moves make s′ of them; an
// objective takes both and returns ∂L/∂ of the generator's outputs, which the
// generator takes back to ∂L/∂θ:
//
//	generator.go                   z → s
//	transition.go                  s → s′
//	objective.go                   the losses of moves and their gradient by the outputs
//	system.go                      one step
//	sampler.go                     what a trained generator is to an ensemble of package vectors
//	verify.go, verify_loss.go      checks against independent computations
package mixed
