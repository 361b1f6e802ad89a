package mmd

import "github.com/revgen/revgen/internal/pool"

// Stationarity computes the squared maximum mean discrepancy between the laws
// of s and of s′ and its gradient in s with s′ fixed,
//
//	L = (1/N²) Σ_ij [k(|a_i−a_j|²) − 2k(|a_i−b_j|²) + k(|b_i−b_j|²)],
//
//	∂L/∂a_i = (4/N²) Σ_j [k′(|a_i−a_j|²)(a_i−a_j) − k′(|a_i−b_j|²)(a_i−b_j)].
//
// It vanishes if the moves leave the law of s invariant, whether they are
// reversible or not, and is another loss than the package's: its kernel is one
// of states rather than of pairs. It is that of states all in one mode.
type Stationarity struct {
	mixed   *Mixed
	modes   []uint8 // all 0
	witness []float32
}

// NewStationarity prepares the loss of batches of n states of the given
// dimension. With densityWeight ε > 0, the gradient of each sample, not the
// loss, is multiplied by (ρ_i + ε)^−½, where ρ_i is the mean over j of
// ½[k(|a_i−a_j|²) + k(|a_i−b_j|²)]/k(0), so that samples in regions of low density
// count for more.
func NewStationarity(n, dim int, k Kernel, stat Statistic, densityWeight float64, workers *pool.Pool) (*Stationarity, error) {
	m, err := newMixed(n, dim, 1, false, k, stat, workers)
	if err != nil {
		return nil, err
	}
	m.densityWeight = densityWeight
	return &Stationarity{m, make([]uint8, n), make([]float32, n)}, nil
}

// LossGradient returns the loss of the batch of moves s → t and sets grad to its
// gradient in s with t held fixed, weighted if so configured. All three are
// row-major [n][dim]. A NaN or an infinity anywhere in s or t makes the loss NaN.
// It allocates nothing and must not be called concurrently. The result has the
// same bits for any number of threads.
func (m *Stationarity) LossGradient(s, t, grad []float32) float64 {
	return m.mixed.LossGradient(s, t, m.modes, m.modes, grad, m.witness)
}
