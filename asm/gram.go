package asm

// GramPad is the multiple to which the stride of the planes of GramTile is
// rounded up, and on which its tiles start and end.
const GramPad = 16

// A GramBatch holds n pairs (a, b) of dim-dimensional states for GramTile: 3·dim
// planes of Stride floats, Planes[p·Stride+i] belonging to pair i. The first
// dim planes hold u = (a+b)/√2, the next dim v = (a−b)/√2, the last dim
// w = a/√2. Stride is a multiple of GramPad; entries past N are any finite numbers.
type GramBatch struct {
	Planes         []float32
	Stride, Dim, N int
}

// A GramRange is the tile of pairs i, j with Row0 ≤ i < Row1 and
// Col0 ≤ j < Col1; all four are multiples of GramPad, at most Stride.
type GramRange struct{ Row0, Row1, Col0, Col1 int }

// GramScratch returns the number of floats of scratch space that GramTile and
// KernelSums need for states of the given number of planes.
func GramScratch(dim int) int { return gramVectors + 64*dim + (4*dim+15)/16*16 }

// gramVectors are the floats of the vectors that the assembly keeps in scratch
// space whatever the dimension.
const gramVectors = 24 * 16

// GramTile sums the reversibility loss and its gradient over the unordered
// pairs i < j < N of a tile. With
//
//	d²_xx = |u_i−u_j|² + |v_i−v_j|²,   p = k′(d²_xx),
//	d²_xy = |u_i−u_j|² + |v_i+v_j|²,   q = k′(d²_xy),
//
// it returns Σ k(d²_xx) − k(d²_xy) and overwrites, for plane c of dim,
//
//	rows[c·(Row1−Row0) + i−Row0] = Σ_j (p−q)(w_i−w_j) − q·v_j
//	cols[c·(Col1−Col0) + j−Col0] = Σ_i (p−q)(w_j−w_i) − q·v_i
//
// which are the two sides' gradients divided by √2. The loss is accumulated in
// float64 every few pairs, the gradients in float32 within the tile: beyond
// the errors of the kernel's values, a sum of m terms has an error of about
// √m ulp of the largest. NaN in any pair reaches the loss. scratch has
// GramScratch(Dim) floats; aligned to 64 bytes it is fastest.
func GramTile(k *Radial, x *GramBatch, t GramRange, rows, cols, scratch []float32) float64 {
	nr, nc := t.Row1-t.Row0, t.Col1-t.Col0
	check(x.Stride%GramPad == 0 && x.N <= x.Stride && len(x.Planes) == 3*x.Dim*x.Stride, "GramTile: planes")
	check((t.Row0|t.Row1|t.Col0|t.Col1)%GramPad == 0 && t.Row0 >= 0 && t.Col0 >= 0 && nr >= 0 && nc >= 0 &&
		t.Row1 <= x.Stride && t.Col1 <= x.Stride, "GramTile: range")
	check(len(rows) == x.Dim*nr && len(cols) == x.Dim*nc && len(scratch) >= GramScratch(x.Dim), "GramTile: sums")
	clear(cols)
	if nr == 0 || nc == 0 || x.Dim == 0 {
		clear(rows)
		return 0
	}
	return gramTile(k, x, t, rows, cols, scratch)
}

// KernelSums adds the sums of a kernel and of its gradient over columns of
// points y to every row point x: for row i and plane c of the first gradDim of
// dim,
//
//	value[i]            += Σ_j k(|x_i−y_j|²)
//	grad[c·gradStride+i] += Σ_j k′(|x_i−y_j|²)·(x_i[c]−y_j[c])
//
// with x_i[c] = x[c·xStride+i], 0 ≤ i < rows, and y_j[c] = y[c·yStride+j],
// 0 ≤ j < cols. A pair (a, b) of states is one point with the planes of both.
// scratch has GramScratch(dim) floats.
func KernelSums(k *Radial, value, grad []float32, gradStride int, x []float32, xStride, rows int, y []float32, yStride, cols, dim, gradDim int, scratch []float32) {
	if rows == 0 || cols == 0 || dim == 0 {
		return
	}
	check(rows > 0 && len(value) >= rows && len(x) >= (dim-1)*xStride+rows && rows <= xStride, "KernelSums: rows")
	check(cols > 0 && len(y) >= (dim-1)*yStride+cols && cols <= yStride, "KernelSums: columns")
	check(gradDim == 0 || 0 < gradDim && gradDim <= dim && len(grad) >= (gradDim-1)*gradStride+rows && rows <= gradStride, "KernelSums: gradients")
	check(len(scratch) >= GramScratch(dim), "KernelSums: scratch")
	kernelSums(k, value, grad, gradStride, x, xStride, rows, y, yStride, cols, dim, gradDim, scratch)
}

// RadialValues sets value[i] = k(d2[i]) and derivative[i] = k′(d2[i]). The
// slices have one length and may alias.
func RadialValues(k *Radial, value, derivative, d2 []float32) {
	check(len(value) == len(d2) && len(derivative) == len(d2), "RadialValues")
	radialValues(k, value, derivative, d2)
}

func check(ok bool, what string) {
	if !ok {
		panic("asm: mismatched lengths in " + what)
	}
}

func refuse(wrong bool, why string) {
	if wrong {
		panic("asm: " + why)
	}
}
