package spins

import "math"

// Observables are averages ⟨·⟩ over a law of n spins at inverse temperature β,
// with m = Σ s_i/n.
type Observables struct {
	Energy           float64 `json:"energy"`            // ⟨E⟩, with the offset
	SpecificHeat     float64 `json:"specific_heat"`     // C_v = β² Var E
	AbsMagnetisation float64 `json:"abs_magnetisation"` // ⟨|m|⟩
	Susceptibility   float64 `json:"susceptibility"`    // χ = β n Var |m|
	// OverlapSquare is ⟨q²⟩ with q = Σ s_i s′_i/n for two independent
	// configurations s and s′.
	OverlapSquare float64 `json:"overlap_square"`
	// Magnetisations are ⟨s_i⟩.
	Magnetisations []float64 `json:"magnetisations"`
	// EdgeCorrelations are ⟨s_i s_j⟩, in the order of Graph.Edges.
	EdgeCorrelations []float64 `json:"edge_correlations"`
}

// absMoments returns the mean and the variance of |m|, given the weight mass[k] of k spins up.
func absMoments(mass []float64) (mean, variance float64) {
	n := float64(len(mass) - 1)
	var total float64
	for k, w := range mass {
		total += w
		mean += w * math.Abs(2*float64(k)-n) / n
	}
	mean /= total
	for k, w := range mass {
		d := math.Abs(2*float64(k)-n)/n - mean
		variance += w * d * d
	}
	return mean, variance / total
}
