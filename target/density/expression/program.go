package expression

import (
	"math"
	"slices"

	"github.com/expr-lang/expr/ast"
)

// A Program is a compiled expression. It is immutable.
type Program struct {
	dim       int
	values    []value
	code      []instruction
	result    int
	home      []int // register of each value that instructions compute or a state has, −1 for none
	registers []int // numbers of a row that each holds
	rows      int   // of a block

	tree ast.Node // for the specification
	env  Environment
}

// program keeps the instructions that the result needs and gives their values
// registers, those of values that have been read for the last time again.
func (c *compiler) program(result int, tree ast.Node) *Program {
	p := &Program{
		dim: c.env.Dim, values: c.values, result: result,
		home: slices.Repeat([]int{-1}, len(c.values)), tree: tree, env: c.env,
	}
	needed := make([]bool, len(c.values))
	needed[result] = true
	for i := len(c.code) - 1; i >= 0; i-- {
		if in := &c.code[i]; needed[in.dst] {
			for _, a := range in.args {
				needed[a] = true
			}
		}
	}
	last := make([]int, len(c.values))
	for _, in := range c.code {
		if needed[in.dst] {
			for _, a := range in.args {
				last[a] = len(p.code)
			}
			p.code = append(p.code, in)
		}
	}
	last[result] = len(p.code)
	widest := c.env.Dim
	idle := map[int][]int{} // registers by their width
	for at, in := range p.code {
		n := c.values[in.dst].n
		widest = max(widest, n)
		if free := idle[n]; len(free) > 0 {
			p.home[in.dst], idle[n] = free[len(free)-1], free[:len(free)-1]
		} else {
			p.home[in.dst] = len(p.registers)
			p.registers = append(p.registers, n)
		}
		for i, a := range in.args {
			if home := p.home[a]; home >= 0 && last[a] == at && !slices.Contains(in.args[:i], a) {
				idle[c.values[a].n] = append(idle[c.values[a].n], home)
			}
		}
	}
	p.home[c.x], p.home[c.k] = len(p.registers), len(p.registers)+1
	// Blocks whose registers stay in a core's first cache.
	const numbers = 2048
	p.rows = min(max(numbers/widest, 16), mostRows)
	return p
}

// mostRows are those of a block.
const mostRows = 256

// Operations returns how many numbers an evaluation computes, at least one.
func (p *Program) Operations() int {
	n := 1
	for _, in := range p.code {
		most := p.values[in.dst].n
		for _, a := range in.args {
			if v := &p.values[a]; v.constant == nil || in.op == matrixVector {
				most = max(most, v.n)
			}
		}
		n += most
	}
	return n
}

// An Evaluator evaluates a program. It is for one thread at a time.
type Evaluator struct {
	p       *Program
	x, k    []float64   // of a block, coordinate by coordinate
	results [][]float64 // in registers, the last two of which are x and k
	args    [][]operand
	dst     []operand
}

// NewEvaluator returns an evaluator.
func (p *Program) NewEvaluator() *Evaluator {
	e := &Evaluator{p: p, x: make([]float64, p.dim*p.rows), k: make([]float64, p.rows)}
	for _, width := range p.registers {
		e.results = append(e.results, make([]float64, width*p.rows))
	}
	e.results = append(e.results, e.x, e.k)
	constants := map[int][]float64{}
	for _, in := range p.code {
		operands := make([]operand, len(in.args))
		for i, a := range in.args {
			v := &p.values[a]
			raw := i == 0 && (in.op == gather || in.op == matrixVector)
			switch {
			case v.constant != nil && raw:
				operands[i] = operand{v.constant, 1, v.n}
			case v.constant != nil:
				if constants[a] == nil {
					constants[a] = make([]float64, v.n*p.rows)
					for j := range constants[a] {
						constants[a][j] = v.constant[j/p.rows]
					}
				}
				operands[i] = operand{constants[a], stride(v, p.rows), v.n}
			default:
				operands[i] = operand{data: e.results[p.home[a]], n: v.n}
			}
		}
		e.args = append(e.args, operands)
		e.dst = append(e.dst, operand{data: e.results[p.home[in.dst]], n: p.values[in.dst].n})
	}
	return e
}

// Evaluate sets dst[r] to the expression of the states x, [len(dst)][dim], and of
// their modes k, which are nil if there are none. It allocates nothing.
func (e *Evaluator) Evaluate(dst []float64, x []float32, k []uint8) {
	p := e.p
	for lo := 0; lo < len(dst); lo += p.rows {
		hi := min(lo+p.rows, len(dst))
		rows := hi - lo
		for r := range rows {
			for i, v := range x[(lo+r)*p.dim:][:p.dim] {
				e.x[i*rows+r] = float64(v)
			}
			if k != nil {
				e.k[r] = float64(k[lo+r])
			}
		}
		e.block(dst[lo:hi], rows)
	}
}

func (e *Evaluator) block(dst []float64, rows int) {
	p := e.p
	for i := range p.code {
		in := &p.code[i]
		e.dst[i].stride = rows
		for j, a := range in.args {
			if v := &p.values[a]; v.vector && v.constant == nil {
				e.args[i][j].stride = rows
			}
		}
		in.op.run(e.dst[i], e.args[i], in.list, rows)
	}
	if v := &p.values[p.result]; v.constant == nil {
		copy(dst, e.results[p.home[p.result]])
	} else {
		for r := range dst {
			dst[r] = v.constant[0]
		}
	}
	for r, v := range dst {
		if v == 0 {
			dst[r] = 0 // of either sign
		}
		if v != v {
			dst[r] = math.NaN() // of any payload
		}
	}
}
