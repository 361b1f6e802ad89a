// Package gmm learns Gaussian mixtures (the paper's Section "Continuous
// Validation: 2D Gaussian Mixture"): a RealNVP flow, or a residual perceptron,
// maps Gaussian noise to states x ∈ R^d, random-walk Metropolis makes pairs
// (x, x′) of them, and the reversibility loss compares the pairs with their
// reverse by a kernel of their distance. The target gives only density
// ratios, never a gradient.
//
// The package also holds the exact reference: moments, marginals and
// independent samples of the mixture. For a generator whose density is known it has
// the distances from the mixture, by quadrature or Monte Carlo.
package gmm
