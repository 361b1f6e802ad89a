// Package perceptron is the kit for generators of any target on spins whose samples
// are drawn at once: noise through a perceptron to logits, and these to spins. It
// knows of the target no more than a Target says, the number of spins and moves that
// leave it as it is.
//
// Noise z enters a generator and leaves as packed spins s; moves make s′ of them; an
// objective takes both and returns ∂L/∂s, which the spin layer's estimator takes to
// the logits and the perceptron to ∂L/∂θ:
//
//	generator.go             z → logits h → s
//	spins.Transition         s → s′
//	objective.go             what an objective is given and gives, and its choice
//	pairs.go                 the paper's MMD of (s, s′) and (s′, s), and that of s and s′
//	discriminator.go         the learned witness of package critic
//	estimator.go, score.go   ∂L/∂s → ∂L/∂h, straight through or by the score function
//	system.go                one step
//	sampler.go               samples of a trained generator
//	verify.go                checks against independent computations
package perceptron
