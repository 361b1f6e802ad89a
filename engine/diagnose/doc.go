// Package diagnose tells how far the samples of a trained generator can be trusted,
// for any target, without anything exact of it.
//
// Fresh samples, which nothing was measured on, take M = 1, 2, 4, … Metropolis steps.
// These leave the target where it is, so that any drift of an average shows that the
// samples were not the target's, and the M at which drift ends is the refinement that
// they need. What no step crosses, drift cannot show: chains that owe nothing to the
// generator are held against the samples where they mix, by R̂ and effective size, and
// where they do not the verdict says so. Of a generator whose density is known
// importance weights tell what averages are off by, with Pareto k̂.
//
// Tests. For a kernel in detailed balance and the right law, (s, s′) and (s′, s) have
// the same law, so that a change of an observable is symmetric about 0, and
// S = Σd/√Σd² has P(|S| ≥ z) ≤ 2 exp(−z²/2) exactly, whatever its tails (Efron, 1969).
// All observables and all M together raise a false alarm with a probability of less
// than a thousandth; the same holds of the comparisons with chains, of those of every
// coordinate of a vector, and of those with weights.
package diagnose
