package expression

import (
	"math"
	"slices"

	"github.com/expr-lang/expr/ast"
)

// A Program is a compiled expression. It is immutable.
type Program struct {
	dim      int
	values   []value
	code     []instruction
	result   int
	register []int // register of each value that depends on the state, −1 for others
	widths   []int // numbers of a row in each register
	rows     int   // of a block

	tree ast.Node // for the specification
	env  Environment
}

// program keeps the instructions that the result needs and gives their values registers. A
// register is used again once its value has been read for the last time.
func (c *compiler) program(result int, tree ast.Node) *Program {
	p := &Program{
		dim: c.env.Dim, values: c.values, result: result,
		register: slices.Repeat([]int{-1}, len(c.values)), tree: tree, env: c.env,
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
	lastUse := make([]int, len(c.values))
	for _, in := range c.code {
		if needed[in.dst] {
			for _, a := range in.args {
				lastUse[a] = len(p.code)
			}
			p.code = append(p.code, in)
		}
	}
	lastUse[result] = len(p.code)
	widest := c.env.Dim
	idle := map[int][]int{} // registers that are free, by width
	for i, in := range p.code {
		n := c.values[in.dst].n
		widest = max(widest, n)
		if free := idle[n]; len(free) > 0 {
			p.register[in.dst], idle[n] = free[len(free)-1], free[:len(free)-1]
		} else {
			p.register[in.dst] = len(p.widths)
			p.widths = append(p.widths, n)
		}
		for j, a := range in.args {
			if register := p.register[a]; register >= 0 && lastUse[a] == i && !slices.Contains(in.args[:j], a) {
				idle[c.values[a].n] = append(idle[c.values[a].n], register)
			}
		}
	}
	p.register[c.x], p.register[c.k] = len(p.widths), len(p.widths)+1
	const blockNumbers = 2048 // in the widest register: blocks stay in a core's first cache
	p.rows = min(max(blockNumbers/widest, 16), maxBlockRows)
	return p
}

// maxBlockRows is the largest number of rows of a block.
const maxBlockRows = 256

// Operations returns how many numbers an evaluation computes, at least one.
func (p *Program) Operations() int {
	n := 1
	for _, in := range p.code {
		width := p.values[in.dst].n
		for _, a := range in.args {
			if v := &p.values[a]; v.constant == nil || in.op == matrixVector {
				width = max(width, v.n)
			}
		}
		n += width
	}
	return n
}

// An Evaluator evaluates a program. It is for one thread at a time.
type Evaluator struct {
	p       *Program
	x, k    []float64   // of a block, coordinate by coordinate
	results [][]float64 // values of the registers; the last two are x and k
	args    [][]operand // of each instruction
	dst     []operand   // of each instruction
}

// NewEvaluator returns an evaluator.
func (p *Program) NewEvaluator() *Evaluator {
	e := &Evaluator{p: p, x: make([]float64, p.dim*p.rows), k: make([]float64, p.rows)}
	for _, width := range p.widths {
		e.results = append(e.results, make([]float64, width*p.rows))
	}
	e.results = append(e.results, e.x, e.k)
	constants := map[int][]float64{}
	for _, in := range p.code {
		operands := make([]operand, len(in.args))
		for i, a := range in.args {
			v := &p.values[a]
			once := i == 0 && (in.op == gather || in.op == matrixVector) // not repeated for each row
			switch {
			case v.constant != nil && once:
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
				operands[i] = operand{data: e.results[p.register[a]], n: v.n}
			}
		}
		e.args = append(e.args, operands)
		e.dst = append(e.dst, operand{data: e.results[p.register[in.dst]], n: p.values[in.dst].n})
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
		e.evaluateBlock(dst[lo:hi], rows)
	}
}

func (e *Evaluator) evaluateBlock(dst []float64, rows int) {
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
		copy(dst, e.results[p.register[p.result]])
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
