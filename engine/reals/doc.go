// Package reals is the kit for targets on real vectors: generators (RealNVP flows
// with an exact density, and residual perceptrons), random-walk Metropolis
// moves, losses, sampling and configuration. It knows of
// the target no more than a Target says, its dimension and ln π up to a constant.
//
// A density of one's own is simpler to give to package target/density; the kit is for
// who embeds it in a system.
//
// Noise z enters a generator and leaves as states s; moves make s′ of them; a
// loss takes both and returns ∂L/∂s, which the generator takes back to ∂L/∂θ:
//
//	generator.go, flow.go, residual.go   z → s and ∂L/∂s → ∂L/∂θ
//	transition.go                        s → s′
//	system.go                            one step, and the choice of the loss
//	boundary.go                          the penalty of eq. (boundary_penalty)
//	sampler.go                           what a trained generator is to an ensemble of package vectors
//	verify.go, verify_*.go               checks against independent computations
package reals
