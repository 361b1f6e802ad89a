package bench

// A need is the least work of one call of an operation, in phases that follow each other.
type need []phase

type phase struct {
	name   string // empty if it is the only one
	counts work
	bytes  int // size of the memory that is read and written
}

// A work is the least number of operations or bytes of each resource.
type work map[Resource]float64

// times returns n times the work.
func (w work) times(n float64) work {
	product := work{}
	for r, count := range w {
		product[r] = n * count
	}
	return product
}

// addTimes adds n times other.
func (w work) addTimes(n float64, other work) {
	for _, r := range Resources() {
		if count := other[r]; count != 0 {
			w[r] += n * count
		}
	}
}

func sumOf(parts ...work) work {
	sum := work{}
	for _, w := range parts {
		sum.addTimes(1, w)
	}
	return sum
}

// philox is the least work of a word of Philox. The four words of a block take two wide
// products and two exclusive ors of three operands in each of ten rounds. The key schedule
// and moves of the products' halves are not counted.
var philox = work{Multiply: 10 * 2. / 4, Integer: 10 * 2. / 4}

// normal is the least work that makes a word a normal number. A pair takes conversions and
// scalings of both words; a logarithm of degree nine with its exponent, and a root; sine and
// cosine of an eighth of a turn, four terms each; the choice of the quadrant; two products.
var normal = work{FMA: 12, Float: 15, Integer: 2}

// The least work of functions of a number, without checks of their domains.
var (
	exponential = work{Float: 11, FMA: 9}
	quotient    = work{Float: 3, FMA: 2}
	logarithm   = work{Float: 15, FMA: 12}
)

// The same for float64: polynomials are longer, and an operation counts twice, as vectors
// hold half as many numbers.
var exponential64, logarithm64 = work{Float: 2 * 20, FMA: 2 * 16}, work{Float: 2 * 21, FMA: 2 * 13}

// perceptron counts the work per row of a perceptron of the given widths, as package nn
// does it. A layer takes one product forward, one backward for the weights' gradients, and
// one backward for the input's gradient. The last is left out for the first layer if its
// input is noise.
//
// With one input and three or more layers, the first two layers are a piecewise linear
// function of the input (package nn, kinks). Forward, each unit of the second layer takes a
// multiply-add of two numbers of the piece, and LeakyReLU's product and maximum. Backward,
// it takes the sums of its gradient and of that times the input, and the input's gradient,
// which comes with it. If the third layer is a single sum, its product is a multiply-add a
// unit, the second layer is evaluated again on the way back, and the gradients with respect
// to the sum's weights and to the unit take another product each. The search for the piece
// is not counted. The pieces' tables, which kinkTables counts, are read from the innermost
// cache at best.
func perceptron(noise bool, sizes ...int) (forward, backward work) {
	forward, backward = work{}, work{}
	first := 0
	if hasKinks(sizes) {
		first = 2
		units := float64(sizes[2])
		evaluation := work{FMA: 2, Float: 3, Read: 8} // the piece, and LeakyReLU
		sums := work{FMA: 2, Float: 3, Read: 8, Write: 8}
		forward.addTimes(units, evaluation)
		backward.addTimes(units, sums)
		if len(sizes) == 4 && sizes[3] == 1 {
			forward.addTimes(units, work{FMA: 1, Float: 1})
			backward.addTimes(units, evaluation)
			backward.addTimes(units, work{FMA: 2, Float: 2})
			return forward, backward
		}
		backward.addTimes(units, work{Read: 4})
	}
	for i := first; i < len(sizes)-1; i++ {
		n := float64(sizes[i] * sizes[i+1])
		forward[FMA] += n
		backward[FMA] += n
		if i > 0 || !noise {
			backward[FMA] += n
		}
	}
	return forward, backward
}

// hasKinks reports whether package nn evaluates the first two layers piece by piece.
func hasKinks(sizes []int) bool { return sizes[0] == 1 && len(sizes) > 3 }

// kinkTables counts the tables of pieces, which a perceptron makes once a step. Forward, each
// weight of the second layer adds its multiples to two numbers of the next piece. Backward,
// two sums over pieces are added to that weight's gradient and to two sums of a unit of the
// first layer, by a product and a multiply-add each.
func kinkTables(sizes ...int) work {
	if !hasKinks(sizes) {
		return work{}
	}
	return sumOf(work{FMA: 2, Float: 2, Read: 4, Write: 8}, work{FMA: 8, Float: 10, Read: 16, Write: 4}).times(float64(sizes[1] * sizes[2]))
}
