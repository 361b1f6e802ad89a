// Package diagnose tells how far the samples of a trained generator can be trusted. It works
// for any target, and needs nothing exact of it. Its evidence:
//
//   - Drift. Fresh samples, on which nothing was measured, take M = 1, 2, 4, … Metropolis
//     steps. These leave the target as it is, so an average that drifts was not the target's.
//     The M at which drift ends is the refinement that the samples need.
//   - Chains. Drift does not show what no step crosses. Chains that owe nothing to the
//     generator are compared with the samples if they mix, by R̂ and effective size. If they
//     do not, the verdict says so.
//   - Weights. If the generator's density is known, importance weights tell what averages are
//     off by, with Pareto k̂.
//
// Tests. For a kernel in detailed balance and the right law, a change of an observable is
// symmetric about 0. Then S = Σd/√Σd² has P(|S| ≥ z) ≤ 2 exp(−z²/2), whatever its tails
// (Efron, 1969). A false alarm has a probability below a thousandth, in each of four families
// of tests: all observables and all M; chains; coordinates of a vector; and weights.
package diagnose
