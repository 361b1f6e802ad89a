package expression

import (
	"math"

	"gonum.org/v1/gonum/floats"

	"github.com/revgen/revgen/asm"
)

// An operation is what an instruction does. Its address tells it from others.
type operation struct {
	truths int  // of its arguments, the first, that are truth values
	truth  bool // so is the result
	run    kernel
}

// A kernel sets dst for a number of rows. Matrices, and whatever a gather takes from that
// is constant, are operands of one row, which serves all. A selection has a list.
type kernel func(dst operand, args []operand, list []int, rows int)

// An operand is a value for a number of rows: coordinate i of n of row r is
// data[i·stride + r]. The stride of a number is 0, which makes it a vector whose
// coordinates are the same.
type operand struct {
	data   []float64
	stride int
	n      int
}

func (o operand) coordinate(i, rows int) []float64 { return o.data[i*o.stride:][:rows] }

// Operations by coordinate.
var (
	same     = &operation{} // nothing, of which no instruction is made
	negate   = &operation{run: single(func(dst, x []float64) { floats.ScaleTo(dst, -1, x) })}
	not      = &operation{truths: 1, truth: true, run: single(pointwise(func(x float64) float64 { return 1 - x }))}
	add      = &operation{run: pairwise(func(dst, a, b []float64) { floats.AddTo(dst, a, b) })}
	subtract = &operation{run: pairwise(func(dst, a, b []float64) { floats.SubTo(dst, a, b) })}
	multiply = &operation{run: pairwise(func(dst, a, b []float64) { floats.MulTo(dst, a, b) })}
	divide   = &operation{run: pairwise(func(dst, a, b []float64) { floats.DivTo(dst, a, b) })}
	raise    = &operation{run: pairwise(powers)}
	smaller  = &operation{run: pairwise(smallerOf)}
	larger   = &operation{run: pairwise(largerOf)}
	choose   = &operation{truths: 1, run: choices}
	both     = &operation{truths: 2, truth: true, run: compared(func(a, b float64) bool { return a != 0 && b != 0 })}
	either   = &operation{truths: 2, truth: true, run: compared(func(a, b float64) bool { return a != 0 || b != 0 })}
)

// Operations of vectors as wholes.
var (
	sum          = &operation{run: sums}
	mean         = &operation{run: means}
	logSum       = &operation{run: logSumExp}
	least        = &operation{run: overall(smallerOf)}
	most         = &operation{run: overall(largerOf)}
	matrixVector = &operation{run: product}
	join         = &operation{run: joined}
	take         = &operation{run: selected}
	gather       = &operation{run: gathered}
)

func comparison(holds func(a, b float64) bool) *operation {
	return &operation{truth: true, run: compared(holds)}
}

// unary are the functions of one number, as they are applied to many.
var unary = []struct {
	name string
	of   func(dst, x []float64)
}{
	{"exp", asm.Exp64}, {"expm1", pointwise(math.Expm1)}, {"log", asm.Log64}, {"log1p", asm.Log1p64},
	{"sqrt", roots}, {"abs", sizes}, {"sign", pointwise(sign)}, {"floor", pointwise(math.Floor)},
	{"sin", pointwise(math.Sin)}, {"cos", pointwise(math.Cos)}, {"tan", pointwise(math.Tan)},
	{"asin", pointwise(math.Asin)}, {"acos", pointwise(math.Acos)}, {"atan", pointwise(math.Atan)},
	{"sinh", pointwise(math.Sinh)}, {"cosh", pointwise(math.Cosh)}, {"tanh", pointwise(math.Tanh)},
	{"erf", pointwise(math.Erf)}, {"erfc", pointwise(math.Erfc)}, {"lgamma", pointwise(lgamma)}, {"softplus", asm.Softplus64},
}

func pointwise(f func(float64) float64) func(dst, x []float64) {
	return func(dst, x []float64) {
		for i, v := range x {
			dst[i] = f(v)
		}
	}
}

// roots and sizes are instructions, which a call for each number would be slower than.
func roots(dst, x []float64) {
	for i, v := range x {
		dst[i] = math.Sqrt(v)
	}
}

func sizes(dst, x []float64) {
	for i, v := range x {
		dst[i] = math.Abs(v)
	}
}

func lgamma(x float64) float64 {
	y, _ := math.Lgamma(x)
	return y
}

func sign(x float64) float64 {
	switch {
	case x > 0:
		return 1
	case x < 0:
		return -1
	}
	return x // 0 or NaN
}

// maxPower is the largest exponent that multiplications compute.
const maxPower = 64

func multiplies(p float64) bool { return p == math.Trunc(p) && p >= 2 && p <= maxPower }

// power is a^p: by multiplications for whole p up to 64, a² = a·a, a^2m = (a^m)²,
// a^(2m+1) = a^2m·a.
func power(a, p float64) float64 {
	if !multiplies(p) {
		return math.Pow(a, p)
	}
	return multiplied(a, int(p))
}

func multiplied(a float64, p int) float64 {
	switch {
	case p == 1:
		return a
	case p%2 == 0:
		half := multiplied(a, p/2)
		return half * half
	}
	return multiplied(a, p-1) * a
}

// gapless returns the coordinates and the rows by which an operation goes. Where all lie without gaps,
// they are one long row.
func gapless(dst operand, args []operand, rows int) (int, int) {
	for _, a := range args {
		if a.stride != rows && dst.n > 1 {
			return dst.n, rows
		}
	}
	return 1, dst.n * rows
}

// single applies a function to every coordinate.
func single(of func(dst, x []float64)) kernel {
	return func(dst operand, args []operand, _ []int, rows int) {
		n, rows := gapless(dst, args, rows)
		for i := range n {
			of(dst.coordinate(i, rows), args[0].coordinate(i, rows))
		}
	}
}

// pairwise applies a function to every coordinate of two.
func pairwise(of func(dst, a, b []float64)) kernel {
	return func(dst operand, args []operand, _ []int, rows int) {
		n, rows := gapless(dst, args, rows)
		for i := range n {
			of(dst.coordinate(i, rows), args[0].coordinate(i, rows), args[1].coordinate(i, rows))
		}
	}
}

func choices(dst operand, args []operand, _ []int, rows int) {
	n, rows := gapless(dst, args, rows)
	for i := range n {
		to, b, c := dst.coordinate(i, rows), args[1].coordinate(i, rows), args[2].coordinate(i, rows)
		for r, v := range args[0].coordinate(i, rows) {
			to[r] = c[r]
			if v != 0 {
				to[r] = b[r]
			}
		}
	}
}

// compared sets 1 where a pair of coordinates is as it is asked for, and 0 elsewhere.
func compared(holds func(a, b float64) bool) kernel {
	return pairwise(func(dst, a, b []float64) {
		for r, v := range a {
			dst[r] = truth(holds(v, b[r]))
		}
	})
}

func powers(dst, a, b []float64) {
	for r, v := range a {
		dst[r] = power(v, b[r])
	}
}

func smallerOf(dst, a, b []float64) {
	for r, v := range a {
		dst[r] = min(v, b[r])
	}
}

func largerOf(dst, a, b []float64) {
	for r, v := range a {
		dst[r] = max(v, b[r])
	}
}

func truth(b bool) float64 {
	if b {
		return 1
	}
	return 0
}

// sums adds coordinates in their order.
func sums(dst operand, args []operand, _ []int, rows int) {
	copy(dst.data[:rows], args[0].coordinate(0, rows))
	for i := 1; i < args[0].n; i++ {
		floats.Add(dst.data[:rows], args[0].coordinate(i, rows))
	}
}

func means(dst operand, args []operand, _ []int, rows int) {
	sums(dst, args, nil, rows)
	count := float64(args[0].n)
	for r := range rows {
		dst.data[r] /= count
	}
}

// overall takes one of the coordinates after the other.
func overall(of func(dst, a, b []float64)) kernel {
	return func(dst operand, args []operand, _ []int, rows int) {
		copy(dst.data[:rows], args[0].coordinate(0, rows))
		for i := 1; i < args[0].n; i++ {
			of(dst.data[:rows], dst.data[:rows], args[0].coordinate(i, rows))
		}
	}
}

// logSumExp is m + ln Σ exp(v − m), where m is the largest v, and m itself if it is
// infinite.
func logSumExp(dst operand, args []operand, _ []int, rows int) {
	var room [3][mostRows]float64
	largest, sums, terms := room[0][:rows], room[1][:rows], room[2][:rows]
	copy(largest, args[0].coordinate(0, rows))
	for i := 1; i < args[0].n; i++ {
		largerOf(largest, largest, args[0].coordinate(i, rows))
	}
	for i := range args[0].n {
		for r, v := range args[0].coordinate(i, rows) {
			terms[r] = v - largest[r]
		}
		asm.Exp64(terms, terms)
		for r, v := range terms {
			sums[r] += v
		}
	}
	asm.Log64(sums, sums)
	for r, m := range largest {
		if dst.data[r] = m; !math.IsInf(m, 0) {
			dst.data[r] += sums[r]
		}
	}
}

// product multiplies a matrix, [n][columns], with vectors: Σ_j in the order of j.
func product(dst operand, args []operand, _ []int, rows int) {
	matrix, v := args[0].data, args[1]
	columns := len(matrix) / dst.n
	for i := range dst.n {
		asm.Combine64(dst.coordinate(i, rows), matrix[i*columns:][:columns], v.data, v.stride)
	}
}

func joined(dst operand, args []operand, _ []int, rows int) {
	i := 0
	for _, a := range args {
		for j := range a.n {
			copy(dst.coordinate(i, rows), a.coordinate(j, rows))
			i++
		}
	}
}

func selected(dst operand, args []operand, list []int, rows int) {
	for i, from := range list {
		if from < 0 {
			clear(dst.coordinate(i, rows))
			continue
		}
		copy(dst.coordinate(i, rows), args[0].coordinate(from, rows))
	}
}

// gathered takes coordinate number args[1] of a vector, or row of a matrix, which is
// NaN where there is none.
func gathered(dst operand, args []operand, _ []int, rows int) {
	from, index, width := args[0], args[1].data, dst.n
	step := 1 // between the rows of what is not constant
	if from.stride == 1 {
		step = 0
	}
	for r := range rows {
		at := index[r]
		ok := at == math.Trunc(at) && at >= 0 && at < float64(from.n/width)
		for j := range width {
			v := math.NaN()
			if ok {
				v = from.data[(int(at)*width+j)*from.stride+r*step]
			}
			dst.data[j*dst.stride+r] = v
		}
	}
}
