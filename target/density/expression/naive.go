package expression

import (
	"math"
	"slices"

	"github.com/expr-lang/expr/ast"

	"github.com/revgen/revgen/asm"
	"github.com/revgen/revgen/internal/lists"
	"github.com/revgen/revgen/internal/number"
)

// Naive is the specification of Evaluate: it walks the syntax tree for one state.
func (p *Program) Naive(x []float32, k uint8) float64 {
	w := walker{p: p, x: number.Widen(x), k: float64(k), names: map[string][]float64{}}
	v := w.walk(p.tree)[0]
	switch {
	case v == 0:
		return 0
	case v != v:
		return math.NaN()
	}
	return v
}

// A walker has a state and the names that let defines. Its values are lists: a number has one
// element, and a matrix has all its numbers, row by row.
type walker struct {
	p     *Program
	x     []float64
	k     float64
	names map[string][]float64
}

func (w *walker) walk(n ast.Node) []float64 {
	switch n := n.(type) {
	case *ast.IntegerNode:
		return []float64{float64(n.Value)}
	case *ast.FloatNode:
		return []float64{n.Value}
	case *ast.IdentifierNode:
		return w.name(n.Value)
	case *ast.UnaryNode:
		return each(func(v []float64) float64 {
			switch n.Operator {
			case "-":
				return -v[0]
			case "+":
				return v[0]
			}
			return 1 - v[0]
		}, w.walk(n.Node))
	case *ast.BinaryNode:
		return each(func(v []float64) float64 { return binary(n.Operator, v[0], v[1]) }, w.walk(n.Left), w.walk(n.Right))
	case *ast.ConditionalNode:
		return each(choice, w.walk(n.Cond), w.walk(n.Exp1), w.walk(n.Exp2))
	case *ast.VariableDeclaratorNode:
		w.names[n.Name] = w.walk(n.Value) // the compiler lets no other expression use the name
		return w.walk(n.Expr)
	case *ast.ArrayNode:
		var list []float64
		for _, item := range n.Nodes {
			list = append(list, w.walk(item)...)
		}
		return list
	case *ast.MemberNode:
		v, i, width := w.walk(n.Node), w.walk(n.Property)[0], max(1, w.columns(n.Node))
		row := make([]float64, width)
		for j := range row {
			row[j] = math.NaN()
			if i == math.Trunc(i) && i >= 0 && i < float64(len(v)/width) {
				row[j] = v[int(i)*width+j]
			}
		}
		return row
	case *ast.SliceNode:
		v := w.walk(n.Node)
		bound := func(n ast.Node, otherwise int) int {
			if n == nil {
				return otherwise
			}
			i := int(w.walk(n)[0])
			if i < 0 {
				i += len(v)
			}
			return i
		}
		return v[bound(n.From, 0):bound(n.To, len(v))]
	case *ast.CallNode:
		return w.call(n.Callee.(*ast.IdentifierNode).Value, n.Arguments)
	case *ast.BuiltinNode:
		return w.call(n.Name, n.Arguments)
	}
	panic("expression: the compiler takes what the specification does not")
}

// columns returns the number of columns of a matrix, 0 for anything else.
func (w *walker) columns(n ast.Node) int {
	name, ok := n.(*ast.IdentifierNode)
	if !ok {
		return 0
	}
	return w.p.env.Parameters[name.Value].columns
}

func (w *walker) name(name string) []float64 {
	if v, ok := w.names[name]; ok {
		return v
	}
	switch name {
	case "x":
		return w.x
	case "pi":
		return []float64{math.Pi}
	case "inf":
		return []float64{math.Inf(1)}
	case "k":
		if w.p.env.Modes > 0 {
			return []float64{w.k}
		}
	}
	return w.p.env.Parameters[name].values
}

func choice(v []float64) float64 {
	if v[0] != 0 {
		return v[1]
	}
	return v[2]
}

// each applies f to the values' coordinates. A number stands for a vector of equal coordinates.
func each(f func([]float64) float64, values ...[]float64) []float64 {
	n := 1
	for _, v := range values {
		n = max(n, len(v))
	}
	result, args := make([]float64, n), make([]float64, len(values))
	for i := range result {
		for j, v := range values {
			args[j] = v[min(i, len(v)-1)]
		}
		result[i] = f(args)
	}
	return result
}

// binary is a op b. It does not use the compiler's table of operators.
func binary(op string, a, b float64) float64 {
	switch op {
	case "+":
		return a + b
	case "-":
		return a - b
	case "*":
		return a * b
	case "/":
		return a / b
	case "^", "**":
		return power(a, b)
	case "<":
		return indicator(a < b)
	case "<=":
		return indicator(a <= b)
	case ">":
		return indicator(a > b)
	case ">=":
		return indicator(a >= b)
	case "==":
		return indicator(a == b)
	case "!=":
		return indicator(a != b)
	case "and", "&&":
		return indicator(a != 0 && b != 0)
	}
	return indicator(a != 0 || b != 0)
}

// scalar returns a function of one number that calls a function of many.
func scalar(f func(dst, x []float64)) func([]float64) float64 {
	return func(v []float64) float64 {
		var y [1]float64
		f(y[:], v[:1])
		return y[0]
	}
}

func (w *walker) call(name string, args []ast.Node) []float64 {
	v := lists.Map(args, w.walk)
	for _, f := range unaryFunctions {
		if f.name == name {
			return each(scalar(f.apply), v[0])
		}
	}
	switch name {
	case "sum":
		return []float64{total(v[0])}
	case "mean":
		return []float64{total(v[0]) / float64(len(v[0]))}
	case "len":
		return []float64{float64(len(v[0]))}
	case "logsumexp":
		largest := slices.Max(v[0]) // NaN if a number is
		if math.IsInf(largest, 0) {
			return []float64{largest}
		}
		exps := each(func(v []float64) float64 { return scalar(asm.Exp64)([]float64{v[0] - largest}) }, v[0])
		return []float64{largest + scalar(asm.Log64)([]float64{total(exps)})}
	case "min", "max":
		extreme := slices.Min[[]float64]
		if name == "max" {
			extreme = slices.Max
		}
		if len(v) == 1 {
			return []float64{extreme(v[0])}
		}
		return each(extreme, v...)
	case "where":
		return each(choice, v...)
	case "dot":
		columns := len(v[1])
		var products []float64
		for lo := 0; lo < len(v[0]); lo += columns {
			products = append(products, total(each(func(v []float64) float64 { return v[0] * v[1] }, v[0][lo:lo+columns], v[1])))
		}
		return products
	}
	return w.shift(name == "shift", v)
}

// total adds numbers up in their order.
func total(v []float64) float64 {
	sum := v[0]
	for _, x := range v[1:] {
		sum += x
	}
	return sum
}

// shift finds each site's neighbour by its coordinates on the lattice.
func (w *walker) shift(periodic bool, v [][]float64) []float64 {
	sides, offsets := []float64{float64(len(v[0]))}, v[len(v)-1]
	if len(v) == 3 {
		sides = v[1]
	}
	result := make([]float64, len(v[0]))
	position := make([]int, len(sides))
	for site := range result {
		inside, neighbour := true, 0
		for axis, side := range sides {
			r := position[axis] + int(offsets[axis])
			wrapped := ((r % int(side)) + int(side)) % int(side)
			inside = inside && (periodic || r == wrapped)
			neighbour = neighbour*int(side) + wrapped
		}
		if inside {
			result[site] = v[0][neighbour]
		}
		for axis := len(sides) - 1; axis >= 0; axis-- {
			if position[axis]++; position[axis] < int(sides[axis]) {
				break
			}
			position[axis] = 0
		}
	}
	return result
}
