package bench

import (
	"fmt"

	"github.com/revgen/revgen/asm"
	"github.com/revgen/revgen/bench/peers"
)

var mathSuite = Suite{
	Name:    "math",
	Summary: "elementary functions of an array of N",
	Size:    "N",
	Sizes:   []string{"65536", "1048576"},
	sized:   mathRows,
}

// A mathFunction is an elementwise kernel with the float operations that one
// evaluation takes at least: the terms of a polynomial that reaches its
// accuracy, and what reduces the argument and puts the result together.
type mathFunction struct {
	name, peer string
	f          func(dst, x []float32)
	argument   func(normal float32) float32
	fma, float float64
}

// counts returns what n evaluations take.
func (f mathFunction) counts(n int) map[Resource]float64 {
	x := float64(n)
	return map[Resource]float64{FMA: f.fma * x, Float: f.float * x, Read: 4 * x, Write: 4 * x}
}

func mathRows(e *environment, size string, v []int) ([]*operation, error) {
	n := v[0]
	same := func(x float32) float32 { return x }
	negative := func(x float32) float32 { return -8 * max(x, -x) }
	// An exponential is a product, a rounding, a reduction in two parts, a
	// polynomial of degree six and a scaling.
	functions := []mathFunction{
		{"exp-negative", "exp", asm.Exp, negative, 9, 11},
		{"exp", "exp", asm.Exp, same, 9, 11},
		{"tanh", "tanh", asm.Tanh, same, 10, 15},         // an exponential and a division
		{"sigmoid", "sigmoid", asm.Sigmoid, same, 9, 13}, // likewise
	}
	normal := noise(n, 1)
	var operations []*operation
	for _, f := range functions {
		x, y := make([]float32, n), make([]float32, n)
		for i := range x {
			x[i] = f.argument(normal[i])
		}
		operations = append(operations, &operation{
			name: fmt.Sprintf("%s/%d", f.name, n), amount: float64(n), unit: "number",
			need: need{{counts: f.counts(n), bytes: 8 * n}},
			call: e.split(n, elementBlock, func(lo, hi int) { f.f(y[lo:hi], x[lo:hi]) }),
			rivals: e.pyTorch(rival{prepare: func(p *peers.Process) (agreement, error) {
				return elementwise(p, []any{"unary", f.peer, n}, x, y)
			}}),
		})
	}
	const cols = 16
	rows := max(n/cols, 1)
	x, y := noise(rows*cols, 2), make([]float32, rows)
	return append(operations, &operation{
		name: fmt.Sprintf("logsumexp/%dx%d", rows, cols), amount: float64(rows * cols), unit: "number",
		need: need{{counts: mathFunction{fma: 9, float: 12}.counts(rows * cols), bytes: 8 * rows * cols}},
		call: e.split(rows, elementBlock/cols, func(lo, hi int) { asm.LogSumExp(y[lo:hi], x[lo*cols:hi*cols], cols) }),
		rivals: e.pyTorch(rival{prepare: func(p *peers.Process) (agreement, error) {
			return elementwise(p, []any{"logsumexp", rows, cols}, x, y)
		}}),
	}), nil
}

// elementwise compares a peer's function of x with ours.
func elementwise(p *peers.Process, words []any, x, ours []float32) (agreement, error) {
	theirs := make([]float32, len(ours))
	if err := once(p, words, map[string][]float32{"x": x}, map[string]any{"y": theirs}); err != nil {
		return agreement{}, err
	}
	return agreement{worstRelative(ours, theirs), 2e-6, "largest relative difference"}, nil
}
