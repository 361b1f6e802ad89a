package asm

import "math"

// GramPad divides the stride of GramTile's planes and the bounds of its tiles.
const GramPad = 16

// gramWork bounds the blocks of one assembly call times their steps, and with
// it the time that the goroutine cannot be preempted, to some 20 µs.
const gramWork = 2048

// kernelColumns bounds the columns that are added up in float32 one after the other.
const kernelColumns = 512

// A GramBatch holds N pairs (a, b) of states of Dim coordinates, for GramTile. The first Dim
// planes hold u = (a+b)/√2, the next Dim v = (a−b)/√2, the last Dim w = a/√2.
type GramBatch struct {
	Planes []float32 // [3·Dim][Stride]; entries past N are any finite numbers
	Stride int       // a multiple of GramPad
	Dim, N int
}

// A GramRange is the tile of pairs i, j with Row0 ≤ i < Row1 and
// Col0 ≤ j < Col1; all four are multiples of GramPad, at most Stride.
type GramRange struct{ Row0, Row1, Col0, Col1 int }

// GramScratch returns the number of floats of scratch space that GramTile and KernelSums need
// for states of dim coordinates.
func GramScratch(dim int) int { return gramVectors + 64*dim + (4*dim+15)/16*16 }

// gramVectors is the number of floats that the assembly keeps in scratch space for any
// dimension.
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
// which are the gradients for the tile's rows and columns, divided by √2. The loss is added up
// in float64 every few pairs, the gradients in float32 within the tile. Beyond the errors of
// the kernel's values, a sum of m terms has an error of about √m ulp of the largest. NaN in
// any pair reaches the loss. scratch has GramScratch(Dim) floats; it is fastest if aligned to
// 64 bytes.
func GramTile(k *Radial, x *GramBatch, t GramRange, rows, cols, scratch []float32) float64 {
	nr, nc := t.Row1-t.Row0, t.Col1-t.Col0
	checkLengths(x.Stride%GramPad == 0 && x.N <= x.Stride && len(x.Planes) == 3*x.Dim*x.Stride, "GramTile: planes")
	checkLengths((t.Row0|t.Row1|t.Col0|t.Col1)%GramPad == 0 && t.Row0 >= 0 && t.Col0 >= 0 && nr >= 0 && nc >= 0 &&
		t.Row1 <= x.Stride && t.Col1 <= x.Stride, "GramTile: range")
	checkLengths(len(rows) == x.Dim*nr && len(cols) == x.Dim*nc && len(scratch) >= GramScratch(x.Dim), "GramTile: sums")
	clear(rows)
	clear(cols)
	row1, col1 := min(t.Row1, x.N), min(t.Col1, x.N)
	if nr == 0 || col1 <= t.Col0 || x.Dim == 0 {
		return 0
	}
	if !useAVX2 {
		return gramTileGeneric(k, x, t, rows, cols)
	}
	cost := (nc + 15) / 16 * (len(k.steps) + x.Dim + 2)
	step := max(4, gramWork/cost*4)
	var loss float64
	for row := t.Row0; row < row1; row += step {
		end := min(row+step, row1)
		loss += gramTileVector(&k.steps[0].kind, len(k.steps), &x.Planes[0], x.Stride, x.Dim, x.N,
			row, end, t.Col0, col1, &rows[row-t.Row0], nr, &cols[0], nc, &scratch[0])
	}
	return loss
}

// KernelSums adds the sums of a kernel and of its gradient over columns of
// points y to every row point x: for row i and plane c of the first gradDim of
// dim,
//
//	value[i]            += Σ_j k(|x_i−y_j|²)
//	grad[c·gradStride+i] += Σ_j k′(|x_i−y_j|²)·(x_i[c]−y_j[c])
//
// with x_i[c] = x[c·xStride+i], 0 ≤ i < rows, and y_j[c] = y[c·yStride+j],
// 0 ≤ j < cols. A pair (a, b) of states is one point with the coordinates of
// both. scratch has GramScratch(dim) floats.
func KernelSums(k *Radial, value, grad []float32, gradStride int, x []float32, xStride, rows int, y []float32, yStride, cols, dim, gradDim int, scratch []float32) {
	if rows == 0 || cols == 0 || dim == 0 {
		return
	}
	checkLengths(rows > 0 && len(value) >= rows && len(x) >= (dim-1)*xStride+rows && rows <= xStride, "KernelSums: rows")
	checkLengths(cols > 0 && len(y) >= (dim-1)*yStride+cols && cols <= yStride, "KernelSums: columns")
	checkLengths(gradDim == 0 || 0 < gradDim && gradDim <= dim && len(grad) >= (gradDim-1)*gradStride+rows && rows <= gradStride, "KernelSums: gradients")
	checkLengths(len(scratch) >= GramScratch(dim), "KernelSums: scratch")
	if !useAVX2 {
		kernelSumsGeneric(k, value, grad, gradStride, x, xStride, rows, y, yStride, cols, dim, gradDim)
		return
	}
	if gradDim == 0 {
		grad = value // it is not touched, but needs an element
	}
	cost := len(k.steps) + dim + 2
	maxColumns := min(kernelColumns, max(1, gramWork/cost)*4)
	sum := func(y []float32, yStride, cols, valid int) {
		step := max(1, gramWork/(cost*cols/4)) * 32
		for row := 0; row < rows; row += step {
			n := min(rows-row, step)
			kernelSumsVector(&k.steps[0].kind, len(k.steps), &value[row], &grad[row], gradStride, &x[row], xStride, n, &y[0], yStride, cols, valid, dim, gradDim, &scratch[0])
		}
	}
	full := cols &^ 3
	for col := 0; col < full; col += maxColumns {
		sum(y[col:], yStride, min(full-col, maxColumns), 4)
	}
	if full == cols {
		return
	}
	// The last one to three columns are padded to four in scratch space.
	block := scratch[gramVectors+64*dim:][:4*dim]
	clear(block)
	for c := range dim {
		copy(block[4*c:][:4], y[c*yStride+full:][:cols-full])
	}
	sum(block, 4, 4, cols-full)
}

// RadialValues sets value[i] = k(d2[i]) and derivative[i] = k′(d2[i]). The
// slices have one length and may alias.
func RadialValues(k *Radial, value, derivative, d2 []float32) {
	checkLengths(len(value) == len(d2) && len(derivative) == len(d2), "RadialValues")
	if !useAVX2 {
		radialValuesGeneric(k, value, derivative, d2)
		return
	}
	const maxElements = gramWork * 8 // of a call
	for len(d2) >= 64 {
		n := min(len(d2)&^63, maxElements)
		radialValuesVector(&k.steps[0].kind, len(k.steps), value[:n], derivative[:n], d2[:n])
		value, derivative, d2 = value[n:], derivative[n:], d2[n:]
	}
	if len(d2) > 0 {
		var block [3][64]float32
		copy(block[0][:], d2)
		radialValuesVector(&k.steps[0].kind, len(k.steps), block[1][:], block[2][:], block[0][:])
		copy(value, block[1][:])
		copy(derivative, block[2][:])
	}
}

// exp2Generic returns 2^t for t ≤ 0 with relative error at most 2e-7, and 0
// below the normal range. NaN propagates.
func exp2Generic(t float32) float32 {
	if t < -126 {
		return 0
	}
	const magic = 1.5 * (1 << 23) // rounds to an integer in float32
	n := float32(t-0.5+magic) - magic
	f := t - n
	p := exp2c5
	p = p*f + exp2c4
	p = p*f + exp2c3
	p = p*f + exp2c2
	p = p*f + exp2c1
	p = p*f + 1
	return p * math.Float32frombits(uint32(int32(n)+127)<<23)
}

// These coefficients are of the minimax polynomial of 2^f on 0 ≤ f ≤ 1 with constant term 1.
// Its relative error is 8.3e-8.
const (
	exp2c1 float32 = 0.6931513
	exp2c2 float32 = 0.24016444
	exp2c3 float32 = 0.055799913
	exp2c4 float32 = 0.00901703
	exp2c5 float32 = 0.0018671302
)

// valuesGeneric returns k(d²) and k′(d²).
func (k *Radial) valuesGeneric(d2 float32) (value, derivative float32) {
	var y float32
	for i := range k.steps {
		s := &k.steps[i]
		var z, dz float32
		switch s.kind {
		case stepExp:
			y = exp2Generic(s.c[0] * d2)
			z, dz = y, y
		case stepPower:
			for range s.count {
				y *= y
			}
			z, dz = y, y
		case stepRSqrt:
			r2 := 4 / (s.c[0] + d2)
			r := float32(math.Sqrt(float64(r2)))
			z = r
			if s.count%2 == 0 {
				z = r2
			}
			for range (s.count - 1) / 2 {
				z *= r2
			}
			dz = z * r2
		case stepPow:
			x := s.c[0] + d2
			z = float32(math.Pow(float64(x), float64(s.exponent[0])))
			dz = z / x
		case stepMatern:
			x := min(float32(math.Sqrt(float64(s.c[0]*d2))), 126)
			y := exp2Generic(-x)
			switch s.count {
			case 0:
				z, dz = y, y/max(x, 0x1p-20)
			case 1:
				z, dz = y+y*(x*math.Ln2), y
			case 2:
				dz = y + y*(x*math.Ln2)
				z = dz + y*(x*x*(math.Ln2*math.Ln2/3))
			}
		}
		value += s.weight[0] * z
		derivative += s.slope[0] * dz
	}
	return value, derivative
}

func radialValuesGeneric(k *Radial, value, derivative, d2 []float32) {
	for i, d := range d2 {
		value[i], derivative[i] = k.valuesGeneric(d)
	}
}

func gramTileGeneric(k *Radial, x *GramBatch, t GramRange, rows, cols []float32) float64 {
	var loss float64
	dim, nr, nc := x.Dim, t.Row1-t.Row0, t.Col1-t.Col0
	plane := func(c int) []float32 { return x.Planes[c*x.Stride:][:x.Stride] }
	for i := t.Row0; i < min(t.Row1, x.N); i++ {
		for j := max(t.Col0, i+1); j < min(t.Col1, x.N); j++ {
			var du2, minus2, plus2 float32
			for c := range dim {
				u, v := plane(c), plane(dim+c)
				du, minus, plus := u[i]-u[j], v[i]-v[j], v[i]+v[j]
				du2 += du * du
				minus2 += minus * minus
				plus2 += plus * plus
			}
			kxx, p := k.valuesGeneric(du2 + minus2)
			kxy, q := k.valuesGeneric(du2 + plus2)
			loss += float64(kxx - kxy)
			for c := range dim {
				v, w := plane(dim+c), plane(2*dim+c)
				e := (p - q) * (w[i] - w[j])
				rows[c*nr+i-t.Row0] += e - q*v[j]
				cols[c*nc+j-t.Col0] -= e + q*v[i]
			}
		}
	}
	return loss
}

func kernelSumsGeneric(k *Radial, value, grad []float32, gradStride int, x []float32, xStride, rows int, y []float32, yStride, cols, dim, gradDim int) {
	for i := range rows {
		var sum float64
		for j := range cols {
			var d2 float32
			for c := range dim {
				d := x[c*xStride+i] - y[c*yStride+j]
				d2 += d * d
			}
			v, p := k.valuesGeneric(d2)
			sum += float64(v)
			for c := range gradDim {
				grad[c*gradStride+i] += p * (x[c*xStride+i] - y[c*yStride+j])
			}
		}
		value[i] += float32(sum)
	}
}
