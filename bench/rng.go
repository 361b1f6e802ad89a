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

func rngRows(e *environment, size string, v []int) ([]*operation, error) {
	n := (v[0] + 3) / 4 * 4
	c := &asm.Counter{Seed: 1}
	words, x := make([]uint32, n), make([]float32, n)
	needOf := func(conversion work) need {
		return need{{counts: sumOf(work{Write: 4}, philox, conversion).times(float64(n)), bytes: 4 * n}}
	}
	return []*operation{{
		name: fmt.Sprintf("philox/%d", n), amount: 4 * float64(n), unit: "B", need: needOf(nil),
		call: e.split(n, elementBlock, func(lo, hi int) { asm.PhiloxBlocks(words[lo:hi], c, uint64(lo/4)) }),
	}, {
		name: fmt.Sprintf("normals/%d", n), amount: float64(n), unit: "number", need: needOf(normal),
		call: e.split(n, elementBlock, func(lo, hi int) { asm.Normals(x[lo:hi], c, uint64(lo/4)) }),
		rivals: e.pyTorch(rival{prepare: func(p *peers.Process) (agreement, error) {
			theirs := make([]float32, n)
			if err := runPeerOnce(p, []any{"randn", n}, nil, map[string]any{"y": theirs}); err != nil {
				return agreement{}, err
			}
			// The numbers differ, so the first two moments of both are compared with the exact ones.
			z := max(momentError(x, 0, 1), momentError(theirs, 0, 1))
			return agreement{z, 6, "other random numbers; moments' largest deviation in standard errors"}, nil
		}}),
	}}, nil
}

// momentError returns the larger of the errors of x's mean and variance, in standard errors.
func momentError(x []float32, mean, variance float64) float64 {
	var sum, squares, fourths float64
	for _, v := range x {
		d := float64(v) - mean
		sum += d
		squares += d * d
		fourths += d * d * d * d
	}
	n := float64(len(x))
	deviation := math.Sqrt(fourths/n - (squares/n)*(squares/n))
	return math.Sqrt(n) * max(math.Abs(sum/n)/math.Sqrt(variance), math.Abs(squares/n-variance)/deviation)
}
