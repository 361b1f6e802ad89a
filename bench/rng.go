package bench

import (
	"fmt"
	"math"

	"github.com/revgen/revgen/asm"
	"github.com/revgen/revgen/bench/peers"
)

var rngSuite = Suite{
	Name:    "rng",
	Summary: "random numbers into an array of N",
	Size:    "N",
	Sizes:   []string{"65536", "1048576"},
	sized:   rngRows,
}

// elementBlock is the number of elements of an array that a thread takes at a
// time.
const elementBlock = 1 << 14

// The least cost of a word of Philox: a block's four take two wide products and two exclusive
// ors of three operands in each of ten rounds. The key schedule and the way of the products'
// halves to their places are not counted.
var philox = work{Multiply: 10 * 2. / 4, Integer: 10 * 2. / 4}

// The cost of a normal number besides its word. For each pair: conversions and scalings of both
// words; a logarithm of degree nine with its exponent, and a root; sine and cosine of an eighth
// of a turn, four terms each; the choice of the quadrant; two products.
var normal = work{FMA: 12, Float: 15, Integer: 2}

func rngRows(e *environment, size string, v []int) ([]*operation, error) {
	n := (v[0] + 3) / 4 * 4
	c := &asm.Counter{Seed: 1}
	words, x := make([]uint32, n), make([]float32, n)
	counted := func(operations work) need {
		return need{{counts: total(work{Write: 4}, philox, operations).times(float64(n)), bytes: 4 * n}}
	}
	return []*operation{{
		name: fmt.Sprintf("philox/%d", n), amount: 4 * float64(n), unit: "B", need: counted(nil),
		call: e.split(n, elementBlock, func(lo, hi int) { asm.PhiloxBlocks(words[lo:hi], c, uint64(lo/4)) }),
	}, {
		name: fmt.Sprintf("normals/%d", n), amount: float64(n), unit: "number", need: counted(normal),
		call: e.split(n, elementBlock, func(lo, hi int) { asm.Normals(x[lo:hi], c, uint64(lo/4)) }),
		rivals: e.pyTorch(rival{prepare: func(p *peers.Process) (agreement, error) {
			theirs := make([]float32, n)
			if err := once(p, []any{"randn", n}, nil, map[string]any{"y": theirs}); err != nil {
				return agreement{}, err
			}
			// They cannot be the same, so the first two moments are compared with the exact ones.
			z := max(momentError(x, 0, 1), momentError(theirs, 0, 1))
			return agreement{z, 6, "other random numbers; moments' largest deviation in standard errors"}, nil
		}}),
	}}, nil
}

// pyTorch offers a comparison with PyTorch as it is installed and, on a path
// with AVX-512, also with its AVX-512 kernels switched on.
func (e *environment) pyTorch(r rival) []rival {
	r.name = "pytorch"
	if e.path != asm.AVX512 {
		return []rival{r}
	}
	wide := r
	wide.name = "pytorch-avx512"
	return []rival{r, wide}
}

// momentError returns how many standard errors the mean and the variance of x
// are off, the larger of the two.
func momentError(x []float32, mean, variance float64) float64 {
	var sum, squares, fourths float64
	for _, v := range x {
		d := float64(v) - mean
		sum += d
		squares += d * d
		fourths += d * d * d * d
	}
	n := float64(len(x))
	spread := math.Sqrt(fourths/n - (squares/n)*(squares/n))
	return math.Sqrt(n) * max(math.Abs(sum/n)/math.Sqrt(variance), math.Abs(squares/n-variance)/spread)
}
