package expression

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/expr-lang/expr/ast"
)

// A function is a function of the language. compile emits its instructions for a call n and
// returns the value.
type function struct {
	usage            string
	minArgs, maxArgs int
	compile          func(c *compiler, n ast.Node, args []ast.Node) int
}

// functions has all functions by name.
var functions map[string]*function

func init() {
	functions = map[string]*function{
		"sum":       {"sum(v)", 1, 1, reduction(sum)},
		"mean":      {"mean(v)", 1, 1, reduction(mean)},
		"logsumexp": {"logsumexp(v)", 1, 1, reduction(logSum)},
		"min":       {"min(v) or min(a, b, …)", 1, 64, extreme(minimum, minCoordinate)},
		"max":       {"max(v) or max(a, b, …)", 1, 64, extreme(maximum, maxCoordinate)},
		"dot":       {"dot(u, v) or dot(matrix, v)", 2, 2, dot},
		"where":     {"where(condition, a, b)", 3, 3, byCoordinate(where)},
		"shift":     {"shift(v, by) or shift(v, [sides], [by])", 2, 3, shifted(true)},
		"slide":     {"slide(v, by) or slide(v, [sides], [by])", 2, 3, shifted(false)},
		"len":       {"len(v)", 1, 1, length},
	}
	for _, f := range unaryFunctions {
		functions[f.name] = &function{f.name + "(v)", 1, 1, byCoordinate(&operation{run: runUnary(f.apply)})}
	}
}

// Functions lists the names of all functions.
func Functions() []string { return slices.Sorted(maps.Keys(functions)) }

func (c *compiler) call(n ast.Node, name string, args []ast.Node) int {
	f := functions[name]
	if f == nil {
		panic(c.fail(n, "unknown function %s; there are %s", name, strings.Join(Functions(), ", ")))
	}
	for _, a := range args {
		if _, ok := a.(*ast.PredicateNode); ok {
			panic(c.fail(n, "%s is written %s", name, f.usage))
		}
	}
	if len(args) < f.minArgs || len(args) > f.maxArgs {
		panic(c.fail(n, "%s is written %s; it has %d arguments here", name, f.usage, len(args)))
	}
	return f.compile(c, n, args)
}

// vector returns an argument that must be a vector of numbers.
func (c *compiler) vector(n ast.Node) int {
	a := c.translate(n)
	if v := &c.values[a]; !v.vector || v.boolean {
		panic(c.fail(n, "%v stands where a vector of numbers is needed", v))
	}
	return a
}

// byCoordinate applies an operation to the arguments coordinate by coordinate.
func byCoordinate(op *operation) func(*compiler, ast.Node, []ast.Node) int {
	return func(c *compiler, n ast.Node, args []ast.Node) int {
		return c.elementwise(n, op, c.translateAll(args...)...)
	}
}

func reduction(op *operation) func(*compiler, ast.Node, []ast.Node) int {
	return func(c *compiler, _ ast.Node, args []ast.Node) int {
		a := c.vector(args[0])
		return c.emit(op, value{n: 1}, nil, a)
	}
}

// extreme applies ofVector to one argument, and ofPair to several, coordinate by coordinate.
func extreme(ofPair, ofVector *operation) func(*compiler, ast.Node, []ast.Node) int {
	return func(c *compiler, n ast.Node, args []ast.Node) int {
		if len(args) == 1 {
			return reduction(ofVector)(c, n, args)
		}
		values := c.translateAll(args...)
		a := values[0]
		for _, b := range values[1:] {
			a = c.elementwise(n, ofPair, a, b)
		}
		return a
	}
}

func dot(c *compiler, n ast.Node, args []ast.Node) int {
	a := c.translate(args[0])
	b := c.vector(args[1])
	m := c.values[a]
	if m.matrix == 0 {
		a = c.vector(args[0])
		product := c.elementwise(n, multiply, a, b)
		return c.emit(sum, value{n: 1}, nil, product)
	}
	if v := &c.values[b]; v.n != m.matrix {
		panic(c.fail(n, "%v does not go with a vector of %d", &m, v.n))
	}
	return c.emit(matrixVector, value{n: m.n / m.matrix, vector: true}, nil, a, b)
}

func length(c *compiler, _ ast.Node, args []ast.Node) int {
	a := c.vector(args[0])
	return c.number(float64(c.values[a].n))
}

// shifted takes each coordinate's neighbour at an offset: coordinate i of the result is
// coordinate i + offset of the vector, and on a lattice site r is site r + offset. Beyond its
// ends a vector repeats if it is periodic, and is 0 otherwise.
func shifted(periodic bool) func(*compiler, ast.Node, []ast.Node) int {
	return func(c *compiler, n ast.Node, args []ast.Node) int {
		a := c.vector(args[0])
		length := c.values[a].n
		sides, offsets := []int{length}, []int{0}
		if len(args) == 2 {
			offsets[0] = c.integer(args[1], "a shift", -maxLength, maxLength)
		} else {
			sides = c.integers(args[1], "the side of a lattice", 1, maxLength)
			offsets = c.integers(args[2], "a shift", -maxLength, maxLength)
		}
		sites := 1
		for _, s := range sides {
			sites = min(sites*s, maxLength+1)
		}
		switch {
		case sites != length:
			panic(c.fail(args[1], "a lattice of sides %v has not the %d sites of the vector", sides, length))
		case len(offsets) != len(sides):
			panic(c.fail(args[2], "%d shifts for %d sides", len(offsets), len(sides)))
		}
		return c.selection(a, neighbours(sites, sides, offsets, periodic), true)
	}
}

// neighbours returns the site r + offset of each site r, −1 outside an open lattice. The last
// coordinate of r varies fastest.
func neighbours(sites int, sides, offsets []int, periodic bool) []int {
	list := make([]int, sites)
	for site := range list {
		neighbour, quotient, stride := 0, site, 1
		for axis := len(sides) - 1; axis >= 0; axis-- {
			side := sides[axis]
			r := quotient%side + offsets[axis]
			quotient /= side
			if periodic {
				r = (r%side + side) % side
			} else if r < 0 || r >= side {
				neighbour = -1
				break
			}
			neighbour += r * stride
			stride *= side
		}
		list[site] = neighbour
	}
	return list
}

// integers returns a list of constant whole numbers between bounds.
func (c *compiler) integers(n ast.Node, what string, low, high int) (list []int) {
	array, ok := n.(*ast.ArrayNode)
	if !ok || len(array.Nodes) == 0 {
		panic(c.fail(n, "a list such as [8, 8] is needed here"))
	}
	for i, item := range array.Nodes {
		list = append(list, c.integer(item, fmt.Sprintf("%s (number %d)", what, i+1), low, high))
	}
	return list
}
