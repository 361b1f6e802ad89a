package kfd

import "github.com/revgen/revgen/internal/pool"

// Given is the objective in features that the caller computes, with identity for
// the ridge's matrix. It is bound to one batch size and reuses its buffers.
type Given struct {
	*crossFit
	sum func(int)
}

// NewGiven prepares batches of n moves and r features.
func NewGiven(n, r int, c Config, workers *pool.Pool) *Given {
	g := &Given{crossFit: newCrossFit(n, r, c, workers)}
	g.sum = g.sumPiece
	return g
}

// Change is where the caller puts φ(s) − φ(s′) of the batch, [n][r] row-major,
// before it calls Solve.
func (g *Given) Change() []float32 { return g.change }

// Solve finds the witnesses and returns the loss, the mean of ½(g(s) − g(s′))
// of each half of the batch under the witness of the other. It is NaN if
// rounding made the second moments indefinite.
func (g *Given) Solve() float64 {
	g.workers.Run(pieces(g.n), g.sum)
	return g.solve()
}

// Coefficients returns the witness that drives a half of the batch, 0 or 1:
// sample i is in half 0 if 2i < n.
func (g *Given) Coefficients(half int) []float32 { return g.coefficients[half] }
