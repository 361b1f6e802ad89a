package expression

import (
	"math"

	"gonum.org/v1/gonum/floats"

	"github.com/revgen/revgen/asm"
)

// An operation is what an instruction does. Its address identifies it.
type operation struct {
	boolArguments int  // number of leading arguments that are truth values
	boolResult    bool // the result is a truth value
	run           runFunc
}

// A runFunc sets dst for a number of rows. A matrix, or a constant from which gather takes rows,
// is an operand of one row, which serves all rows. Operation take has a list of coordinates.
type runFunc func(dst operand, args []operand, list []int, rows int)

// An operand is a value for a number of rows. Coordinate i of row r, 0 ≤ i < n, is
// data[i·stride + r]. A number has stride 0, so that it acts as a vector of equal coordinates.
type operand struct {
	data   []float64
	stride int
	n      int
}

func (o operand) coordinate(i, rows int) []float64 { return o.data[i*o.stride:][:rows] }

// Operations by coordinate.
var (
	identity = &operation{} // has no instruction
	negate   = &operation{run: runUnary(func(dst, x []float64) { floats.ScaleTo(dst, -1, x) })}
	not      = &operation{boolArguments: 1, boolResult: true, run: runUnary(pointwise(func(x float64) float64 { return 1 - x }))}
	add      = &operation{run: runBinary(func(dst, a, b []float64) { floats.AddTo(dst, a, b) })}
	subtract = &operation{run: runBinary(func(dst, a, b []float64) { floats.SubTo(dst, a, b) })}
	multiply = &operation{run: runBinary(func(dst, a, b []float64) { floats.MulTo(dst, a, b) })}
	divide   = &operation{run: runBinary(func(dst, a, b []float64) { floats.DivTo(dst, a, b) })}
	raise    = &operation{run: runBinary(powTo)}
	minimum  = &operation{run: runBinary(minTo)}
	maximum  = &operation{run: runBinary(maxTo)}
	where    = &operation{boolArguments: 1, run: runWhere}
	and      = &operation{boolArguments: 2, boolResult: true, run: runComparison(func(a, b float64) bool { return a != 0 && b != 0 })}
	or       = &operation{boolArguments: 2, boolResult: true, run: runComparison(func(a, b float64) bool { return a != 0 || b != 0 })}
)

// Operations of vectors as wholes.
var (
	sum           = &operation{run: runSum}
	mean          = &operation{run: runMean}
	logSum        = &operation{run: runLogSum}
	minCoordinate = &operation{run: runReduction(minTo)}
	maxCoordinate = &operation{run: runReduction(maxTo)}
	matrixVector  = &operation{run: runMatrixVector}
	join          = &operation{run: runJoin}
	take          = &operation{run: runTake}
	gather        = &operation{run: runGather}
)

func comparison(holds func(a, b float64) bool) *operation {
	return &operation{boolResult: true, run: runComparison(holds)}
}

// unaryFunctions are the functions of one number. apply acts on many numbers.
var unaryFunctions = []struct {
	name  string
	apply func(dst, x []float64)
}{
	{"exp", asm.Exp64}, {"expm1", pointwise(math.Expm1)}, {"log", asm.Log64}, {"log1p", asm.Log1p64},
	{"sqrt", sqrtTo}, {"abs", absTo}, {"sign", pointwise(sign)}, {"floor", pointwise(math.Floor)},
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

// sqrtTo and absTo are loops of one instruction a number, which pointwise would slow by a call.
func sqrtTo(dst, x []float64) {
	for i, v := range x {
		dst[i] = math.Sqrt(v)
	}
}

func absTo(dst, x []float64) {
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

// isSmallInteger reports whether power multiplies.
func isSmallInteger(p float64) bool { return p == math.Trunc(p) && p >= 2 && p <= maxPower }

// power is a^p: by multiplications for whole p up to 64, a² = a·a, a^2m = (a^m)²,
// a^(2m+1) = a^2m·a.
func power(a, p float64) float64 {
	if !isSmallInteger(p) {
		return math.Pow(a, p)
	}
	return integerPower(a, int(p))
}

func integerPower(a float64, p int) float64 {
	switch {
	case p == 1:
		return a
	case p%2 == 0:
		half := integerPower(a, p/2)
		return half * half
	}
	return integerPower(a, p-1) * a
}

// loopSizes returns the numbers of coordinates and of rows that loops of an operation run over. Where
// the operands have no gaps, all coordinates are one long row.
func loopSizes(dst operand, args []operand, rows int) (int, int) {
	for _, a := range args {
		if a.stride != rows && dst.n > 1 {
			return dst.n, rows
		}
	}
	return 1, dst.n * rows
}

// runUnary applies a function to every coordinate.
func runUnary(apply func(dst, x []float64)) runFunc {
	return func(dst operand, args []operand, _ []int, rows int) {
		n, rows := loopSizes(dst, args, rows)
		for i := range n {
			apply(dst.coordinate(i, rows), args[0].coordinate(i, rows))
		}
	}
}

// runBinary applies a function to every pair of coordinates.
func runBinary(apply func(dst, a, b []float64)) runFunc {
	return func(dst operand, args []operand, _ []int, rows int) {
		n, rows := loopSizes(dst, args, rows)
		for i := range n {
			apply(dst.coordinate(i, rows), args[0].coordinate(i, rows), args[1].coordinate(i, rows))
		}
	}
}

func runWhere(dst operand, args []operand, _ []int, rows int) {
	n, rows := loopSizes(dst, args, rows)
	for i := range n {
		out, b, c := dst.coordinate(i, rows), args[1].coordinate(i, rows), args[2].coordinate(i, rows)
		for r, v := range args[0].coordinate(i, rows) {
			out[r] = c[r]
			if v != 0 {
				out[r] = b[r]
			}
		}
	}
}

// runComparison sets 1 where the comparison of a pair of coordinates holds, and 0 elsewhere.
func runComparison(holds func(a, b float64) bool) runFunc {
	return runBinary(func(dst, a, b []float64) {
		for r, v := range a {
			dst[r] = indicator(holds(v, b[r]))
		}
	})
}

func powTo(dst, a, b []float64) {
	for r, v := range a {
		dst[r] = power(v, b[r])
	}
}

func minTo(dst, a, b []float64) {
	for r, v := range a {
		dst[r] = min(v, b[r])
	}
}

func maxTo(dst, a, b []float64) {
	for r, v := range a {
		dst[r] = max(v, b[r])
	}
}

func indicator(b bool) float64 {
	if b {
		return 1
	}
	return 0
}

// runSum adds coordinates in their order.
var runSum = runReduction(func(dst, a, b []float64) { floats.AddTo(dst, a, b) })

func runMean(dst operand, args []operand, _ []int, rows int) {
	runSum(dst, args, nil, rows)
	count := float64(args[0].n)
	for r := range rows {
		dst.data[r] /= count
	}
}

// runReduction applies a function of two to the result so far and the next coordinate.
func runReduction(apply func(dst, a, b []float64)) runFunc {
	return func(dst operand, args []operand, _ []int, rows int) {
		copy(dst.data[:rows], args[0].coordinate(0, rows))
		for i := 1; i < args[0].n; i++ {
			apply(dst.data[:rows], dst.data[:rows], args[0].coordinate(i, rows))
		}
	}
}

// runLogSum computes m + ln Σ exp(v − m), where m is the largest v, and m if that is infinite.
func runLogSum(dst operand, args []operand, _ []int, rows int) {
	var buffers [3][maxBlockRows]float64
	largest, sums, terms := buffers[0][:rows], buffers[1][:rows], buffers[2][:rows]
	copy(largest, args[0].coordinate(0, rows))
	for i := 1; i < args[0].n; i++ {
		maxTo(largest, largest, args[0].coordinate(i, rows))
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

// runMatrixVector multiplies a matrix, [n][columns], with vectors: Σ_j in the order of j.
func runMatrixVector(dst operand, args []operand, _ []int, rows int) {
	matrix, v := args[0].data, args[1]
	columns := len(matrix) / dst.n
	for i := range dst.n {
		asm.Combine64(dst.coordinate(i, rows), matrix[i*columns:][:columns], v.data, v.stride)
	}
}

func runJoin(dst operand, args []operand, _ []int, rows int) {
	i := 0
	for _, a := range args {
		for j := range a.n {
			copy(dst.coordinate(i, rows), a.coordinate(j, rows))
			i++
		}
	}
}

func runTake(dst operand, args []operand, list []int, rows int) {
	for i, from := range list {
		if from < 0 {
			clear(dst.coordinate(i, rows))
			continue
		}
		copy(dst.coordinate(i, rows), args[0].coordinate(from, rows))
	}
}

// runGather takes coordinate number args[1] of a vector, or row number args[1] of a matrix. The
// result is NaN where that number is no index.
func runGather(dst operand, args []operand, _ []int, rows int) {
	from, index, width := args[0], args[1].data, dst.n
	step := 1
	if from.stride == 1 { // a constant has one row, which serves all rows
		step = 0
	}
	for r := range rows {
		i := index[r]
		ok := i == math.Trunc(i) && i >= 0 && i < float64(from.n/width)
		for j := range width {
			v := math.NaN()
			if ok {
				v = from.data[(int(i)*width+j)*from.stride+r*step]
			}
			dst.data[j*dst.stride+r] = v
		}
	}
}
