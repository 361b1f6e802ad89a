// Package critic is the adversarial form of the reversibility loss, the weak
// formulation of the paper's remark on extensibility: a learned discriminator
// f(s, s′) in place of a fixed kernel.
//
// Reversal exchanges the arguments, so only the antisymmetric part of f counts:
// f is h(s, s′) − h(s′, s), or g(s) − g(s′), with a perceptron h or g. The
// critic ascends, and so is a least-squares problem with a maximum,
//
//	J = E[f] − ½ E[f²],   f* = (μ − μ†)/(μ + μ†),   J* = ¼ ∫ (μ − μ†)²/(μ + μ†),
//
// where μ is the law of forward pairs and μ† that of backward ones. With
// detailed balance μ/μ† = r(s)/r(s′), r = p_θ/π, so that
// f* = tanh(½ ln r(s) − ½ ln r(s′)): a generator that descends E[f] with s′ and
// f fixed follows ½ ∇ ln(p_θ/π), the reverse Kullback–Leibler direction, to
// first order in what is left to learn.
//
// The generator's gradient is taken before the critic learns from the batch, so
// that no sample is judged by a critic that has seen it.
package critic
