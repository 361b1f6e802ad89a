// Package perceptron generates all spins of a sample at once: a perceptron maps noise to
// logits, and these become spins. All that it knows of the target is a Target: the number
// of spins, and moves that leave it as it is.
//
// Its step is Algorithm 1 by pairs, engine.Pairs:
//
//	generator.go             z → logits h → s
//	estimator.go, score.go   ∂L/∂s → ∂L/∂h, straight through or by the score function
//	learner.go               both for a batch, in parallel
//	spins.Transition         s → s′
//	loss.go                  what a loss gives, ∂L/∂s, and the choice of one
//	mmd.go, discriminator.go the paper's MMD of (s, s′) and (s′, s), and a learned loss
//	system.go                what engine.System asks for
//	sampler.go               samples of a trained generator
//	verify.go                checks against independent computations
package perceptron
