package vectors

import (
	"math"

	"github.com/revgen/revgen/asm"
	"github.com/revgen/revgen/engine"
	"github.com/revgen/revgen/internal/number"
	"github.com/revgen/revgen/internal/state"
)

// bounded adds the penalty to a loss. The penalty takes so little time beside the loss that one thread of
// each rank computes it for the whole batch.
type bounded struct {
	discrepancy
	*boundary
	rows     int       // of a piece, whose penalty is one sum
	sigmoids []float32 // [rows]
}

func (l bounded) LossGradient(ds stateGradient, s, next States) float64 {
	loss, n := l.discrepancy.LossGradient(ds, s, next), s.Len()
	for lo := 0; lo < n; lo += l.rows {
		hi := min(lo+l.rows, n)
		loss += l.add(ds.part(lo, hi).x, s.Part(lo, hi).X, l.sigmoids, n)
	}
	return loss
}

// State returns the sections of the loss without the penalty.
func (l bounded) State() []engine.Section { return state.Of(l.discrepancy) }

// A boundary is the soft penalty of eq. (5.2), which keeps early
// samples from wandering off.
type boundary struct {
	dim               int
	weight, sharpness float32
	squaredRadius     float32
	center            []float32
}

func newBoundary(c BoundaryConfig, dim int) *boundary {
	b := &boundary{
		dim: dim, weight: float32(c.Weight), sharpness: float32(c.Sharpness), squaredRadius: float32(c.Radius * c.Radius),
		center: make([]float32, dim),
	}
	copy(b.center, number.Narrow(c.Center))
	return b
}

// add returns the share of some rows x, [rows][dim], in the penalty of a batch of n, and adds its gradient
//
//	(2 c/N) weight σ(1−σ) (x_i − x_0)
//
// to grad, with the sharpness c. sigmoids is scratch for one number a row.
func (b *boundary) add(grad, x, sigmoids []float32, n int) float64 {
	rows := len(x) / b.dim
	sigmoids = sigmoids[:rows]
	for r := range sigmoids {
		var square float32
		for i, v := range x[r*b.dim : (r+1)*b.dim] {
			square += (v - b.center[i]) * (v - b.center[i])
		}
		sigmoids[r] = b.sharpness * (square - b.squaredRadius)
	}
	asm.Sigmoid(sigmoids, sigmoids)
	var sum float64
	scale := 2 * b.sharpness * b.weight / float32(n)
	for r, v := range sigmoids {
		sum += float64(v)
		slope := scale * v * (1 - v)
		for i := r * b.dim; i < (r+1)*b.dim; i++ {
			grad[i] += slope * (x[i] - b.center[i-r*b.dim])
		}
	}
	return float64(b.weight) * sum / float64(n)
}

// penalty64 returns the penalty of a whole batch in float64.
func (b *boundary) penalty64(x []float64) float64 {
	n := len(x) / b.dim
	var sum float64
	for r := range n {
		var square float64
		for i, v := range x[r*b.dim : (r+1)*b.dim] {
			square += (v - float64(b.center[i])) * (v - float64(b.center[i]))
		}
		sum += 1 / (1 + math.Exp(float64(b.sharpness)*(float64(b.squaredRadius)-square)))
	}
	return float64(b.weight) * sum / float64(n)
}
