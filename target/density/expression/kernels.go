package expression

import (
	"math"

	"github.com/revgen/revgen/asm"
)

// An operation is what an instruction does.
type operation uint8

const (
	opSame operation = iota // nothing, of which no instruction is made
	opNegate
	opNot
	opAdd
	opSubtract
	opMultiply
	opDivide
	opPower
	opMin
	opMax
	opLess
	opLessEqual
	opMore
	opMoreEqual
	opEqual
	opUnequal
	opAnd
	opOr
	opChoose
	opSum
	opMean
	opLogSumExp
	opLeast
	opMost
	opProduct // matrix times vector
	opJoin
	opSelect
	opGather
	opUnary // and the functions of one number after it
)

// unary are the functions of one number, as they are applied to many, from opUnary on.
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

// compares reports whether the result is a truth value.
func (op operation) compares() bool { return op == opNot || op >= opLess && op <= opOr }

// wantsTruth reports whether argument i is a truth value.
func (op operation) wantsTruth(i int) bool {
	return op == opNot || op == opAnd || op == opOr || op == opChoose && i == 0
}

// An operand is a value for a number of rows: coordinate i of row r is
// data[i·stride + r]. The stride of a number is 0, which makes it a vector whose
// coordinates are the same.
type operand struct {
	data   []float64
	stride int
}

func (o operand) coordinate(i, rows int) []float64 { return o.data[i*o.stride:][:rows] }

// run sets dst for a number of rows. Matrices, and whatever a gather takes from that
// is constant, are operands of one row, which serves all.
func (in *instruction) run(dst operand, args []operand, result *value, values []value, rows int) {
	n := result.n
	switch in.op {
	case opSum, opMean:
		sum(dst.data[:rows], args[0], values[in.args[0]].n, rows)
		if in.op == opMean {
			count := float64(values[in.args[0]].n)
			for r := range rows {
				dst.data[r] /= count
			}
		}
	case opLogSumExp:
		logSumExp(dst.data[:rows], args[0], values[in.args[0]].n, rows)
	case opLeast, opMost:
		copy(dst.data[:rows], args[0].coordinate(0, rows))
		op := opMin
		if in.op == opMost {
			op = opMax
		}
		for i := 1; i < values[in.args[0]].n; i++ {
			pairs(op, dst.data[:rows], dst.data[:rows], args[0].coordinate(i, rows))
		}
	case opProduct:
		product(dst, args[0].data, args[1], n, rows)
	case opJoin:
		i := 0
		for a, arg := range args {
			for j := range values[in.args[a]].n {
				copy(dst.coordinate(i, rows), arg.coordinate(j, rows))
				i++
			}
		}
	case opSelect:
		for i, from := range in.list {
			if from < 0 {
				clear(dst.coordinate(i, rows))
				continue
			}
			copy(dst.coordinate(i, rows), args[0].coordinate(from, rows))
		}
	case opGather:
		in.gather(dst, args, n, &values[in.args[0]], rows)
	default:
		in.each(dst, args, n, rows)
	}
}

// each applies an operation to every coordinate. Where all lie without gaps, they
// are one long row.
func (in *instruction) each(dst operand, args []operand, n, rows int) {
	long := true // as the result does
	for _, a := range args {
		long = long && (a.stride == rows || n == 1)
	}
	if long {
		n, rows = 1, n*rows
	}
	for i := range n {
		to, a := dst.coordinate(i, rows), args[0].coordinate(i, rows)
		switch in.op {
		case opNegate:
			for r, v := range a {
				to[r] = -v
			}
		case opNot:
			for r, v := range a {
				to[r] = 1 - v
			}
		case opChoose:
			b, c := args[1].coordinate(i, rows), args[2].coordinate(i, rows)
			for r, v := range a {
				to[r] = c[r]
				if v != 0 {
					to[r] = b[r]
				}
			}
		default:
			if in.op >= opUnary {
				unary[in.op-opUnary].of(to, a)
				continue
			}
			pairs(in.op, to, a, args[1].coordinate(i, rows))
		}
	}
}

// pairs sets dst[r] to a[r] op b[r].
func pairs(op operation, dst, a, b []float64) {
	a, b = a[:len(dst)], b[:len(dst)]
	switch op {
	case opAdd:
		for r, v := range a {
			dst[r] = v + b[r]
		}
	case opSubtract:
		for r, v := range a {
			dst[r] = v - b[r]
		}
	case opMultiply:
		for r, v := range a {
			dst[r] = v * b[r]
		}
	case opDivide:
		for r, v := range a {
			dst[r] = v / b[r]
		}
	case opPower:
		for r, v := range a {
			dst[r] = power(v, b[r])
		}
	case opMin:
		for r, v := range a {
			dst[r] = min(v, b[r])
		}
	case opMax:
		for r, v := range a {
			dst[r] = max(v, b[r])
		}
	default:
		for r, v := range a {
			dst[r] = truth(holds(op, v, b[r]))
		}
	}
}

func holds(op operation, a, b float64) bool {
	switch op {
	case opLess:
		return a < b
	case opLessEqual:
		return a <= b
	case opMore:
		return a > b
	case opMoreEqual:
		return a >= b
	case opEqual:
		return a == b
	case opUnequal:
		return a != b
	case opAnd:
		return a != 0 && b != 0
	}
	return a != 0 || b != 0
}

func truth(b bool) float64 {
	if b {
		return 1
	}
	return 0
}

// sum adds coordinates in their order.
func sum(dst []float64, a operand, n, rows int) {
	copy(dst, a.coordinate(0, rows))
	for i := 1; i < n; i++ {
		for r, v := range a.coordinate(i, rows) {
			dst[r] += v
		}
	}
}

// logSumExp is m + ln Σ exp(v − m), where m is the largest v, and m itself if it is
// infinite.
func logSumExp(dst []float64, a operand, n, rows int) {
	var room [3][mostRows]float64
	largest, sums, terms := room[0][:rows], room[1][:rows], room[2][:rows]
	copy(largest, a.coordinate(0, rows))
	for i := 1; i < n; i++ {
		pairs(opMax, largest, largest, a.coordinate(i, rows))
	}
	for i := range n {
		pairs(opSubtract, terms, a.coordinate(i, rows), largest)
		asm.Exp64(terms, terms)
		pairs(opAdd, sums, sums, terms)
	}
	asm.Log64(sums, sums)
	for r, m := range largest {
		if dst[r] = m; !math.IsInf(m, 0) {
			dst[r] += sums[r]
		}
	}
}

// product multiplies a matrix, [n][columns], with vectors: Σ_j in the order of j.
func product(dst operand, matrix []float64, v operand, n, rows int) {
	columns := len(matrix) / n
	for i := range n {
		asm.Combine64(dst.coordinate(i, rows), matrix[i*columns:][:columns], v.data, v.stride)
	}
}

// gather takes coordinate number args[1] of a vector, or row of a matrix, which is
// NaN where there is none.
func (in *instruction) gather(dst operand, args []operand, width int, of *value, rows int) {
	from, index := args[0], args[1].data
	step := 1 // between the rows of what is not constant
	if of.constant != nil {
		step = 0
	}
	for r := range rows {
		at := index[r]
		ok := at == math.Trunc(at) && at >= 0 && at < float64(of.n/width)
		for j := range width {
			v := math.NaN()
			if ok {
				v = from.data[(int(at)*width+j)*from.stride+r*step]
			}
			dst.data[j*dst.stride+r] = v
		}
	}
}
