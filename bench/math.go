package bench

import (
	"fmt"

	"github.com/revgen/revgen/asm"
	"github.com/revgen/revgen/bench/peers"
)

var mathSuite = Suite{
	Name:    "math",
	Summary: "exponentials of an array of N",
	Size:    "N",
	Sizes:   []string{"65536", "1048576"},
	sized:   mathRows,
}

func mathRows(e *environment, size string, v []int) ([]*operation, error) {
	n := v[0]
	x, y := noise(n, 1), make([]float32, n)
	for i, normal := range x {
		x[i] = -8 * max(normal, -normal)
	}
	return []*operation{{
		// An exponential takes a product, a rounding, a reduction in two parts, a polynomial of
		// degree six, which the accuracy needs, and a scaling.
		name: fmt.Sprintf("exp-negative/%d", n), amount: float64(n), unit: "number",
		need: need{{counts: work{FMA: 9, Float: 11, Read: 4, Write: 4}.times(float64(n)), bytes: 8 * n}},
		call: e.split(n, elementBlock, func(lo, hi int) { asm.Exp(y[lo:hi], x[lo:hi]) }),
		rivals: e.pyTorch(rival{prepare: func(p *peers.Process) (agreement, error) {
			theirs := make([]float32, n)
			if err := runPeerOnce(p, []any{"exp", n}, map[string][]float32{"x": x}, map[string]any{"y": theirs}); err != nil {
				return agreement{}, err
			}
			return agreement{elementError(y, theirs), 2e-6, "largest relative difference"}, nil
		}}),
	}}, nil
}
