package kfd

import (
	"math"

	"github.com/revgen/revgen/asm"
	"github.com/revgen/revgen/internal/pool"
)

// Widths of the blocks of rows that cholesky works on at its two levels.
const (
	outerBlock = 64
	innerBlock = 8
)

// A factorisation holds U with A = UᵀU for a symmetric positive definite
// matrix A of order n, and the scratch to compute it.
type factorisation struct {
	n          int
	u          []float32 // [n][n], upper triangle; the rest is ignored
	c, x, y    []float32
	c2, x2, y2 []float32
	ignored    []float32
	z          [2][]float64
}

func newFactorisation(n int, workers *pool.Pool) *factorisation {
	return &factorisation{
		n: n, u: workers.Float32s(n * n),
		c: workers.Float32s(outerBlock * n), x: workers.Float32s(n * outerBlock), y: workers.Float32s(n * n),
		c2: make([]float32, innerBlock*n), x2: make([]float32, outerBlock*innerBlock), y2: workers.Float32s(outerBlock * n),
		ignored: make([]float32, n), z: [2][]float64{make([]float64, n), make([]float64, n)},
	}
}

// factor replaces the upper triangle of f.u, which holds that of A, by U. It
// reports whether A was positive definite.
func (f *factorisation) factor() bool {
	n := f.n
	for j0 := 0; j0 < n; j0 += outerBlock {
		rows, width := min(outerBlock, n-j0), n-j0
		c := f.c[:rows*width]
		for r := range rows {
			copy(c[r*width:][:width], f.u[(j0+r)*n+j0:][:width])
		}
		// c −= U[:j0, j0:j0+rows]ᵀ U[:j0, j0:]
		x, y := f.x[:j0*rows], f.y[:j0*width]
		for k := range j0 {
			row := f.u[k*n+j0:][:width]
			copy(y[k*width:], row)
			for i, v := range row[:rows] {
				x[k*rows+i] = -v
			}
		}
		if j0 > 0 {
			asm.DenseBackwardWeights(c, f.ignored[:width], x, y, j0, rows, width)
		}
		if !f.panel(c, rows, width) {
			return false
		}
		for r := range rows {
			copy(f.u[(j0+r)*n+j0:][:width], c[r*width:][:width])
		}
	}
	return true
}

// panel factors the first rows rows, all of width elements, of a matrix whose
// earlier rows have been eliminated.
func (f *factorisation) panel(a []float32, rows, width int) bool {
	for j0 := 0; j0 < rows; j0 += innerBlock {
		b, w := min(innerBlock, rows-j0), width-j0
		c := f.c2[:b*w]
		for r := range b {
			copy(c[r*w:][:w], a[(j0+r)*width+j0:][:w])
		}
		x, y := f.x2[:j0*b], f.y2[:j0*w]
		for k := range j0 {
			row := a[k*width+j0:][:w]
			copy(y[k*w:], row)
			for i, v := range row[:b] {
				x[k*b+i] = -v
			}
		}
		if j0 > 0 {
			asm.DenseBackwardWeights(c, f.ignored[:w], x, y, j0, b, w)
		}
		for k := range b {
			row := c[k*w:][:w]
			if !(row[k] > 0) {
				return false
			}
			scale := 1 / float32(math.Sqrt(float64(row[k])))
			for i := k; i < w; i++ {
				row[i] *= scale
			}
			for r := k + 1; r < b; r++ {
				factor := row[r]
				next := c[r*w:][:w]
				for i := r; i < w; i++ {
					next[i] -= factor * row[i]
				}
			}
		}
		for r := range b {
			copy(a[(j0+r)*width+j0:][:w], c[r*w:][:w])
		}
	}
	return true
}

// solve sets x to A⁻¹b and x2 to A⁻¹b2. Two take little more time than one, for each waits
// for memory and for its own last sum.
func (f *factorisation) solve(x, x2 []float32, b, b2 []float64) {
	n := f.n
	z, z2 := f.z[0][:n], f.z[1][:n]
	copy(z, b)
	copy(z2, b2)
	for i := range n { // Uᵀ z = b
		row := f.u[i*n:][:n]
		z[i] /= float64(row[i])
		z2[i] /= float64(row[i])
		v, v2 := z[i], z2[i]
		to, to2 := z[i+1:], z2[i+1:]
		row = row[i+1:]
		for j := range row {
			u := float64(row[j])
			to[j] -= u * v
			to2[j] -= u * v2
		}
	}
	for i := n - 1; i >= 0; i-- { // U x = z
		row := f.u[i*n:][:n]
		sum, sum2 := z[i], z2[i]
		for j := i + 1; j < n; j++ {
			u := float64(row[j])
			sum -= u * z[j]
			sum2 -= u * z2[j]
		}
		z[i], z2[i] = sum/float64(row[i]), sum2/float64(row[i])
		x[i], x2[i] = float32(z[i]), float32(z2[i])
	}
}
