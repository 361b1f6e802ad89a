package expression

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/expr-lang/expr/ast"
	"github.com/expr-lang/expr/file"
	"github.com/expr-lang/expr/parser"

	"github.com/revgen/revgen/internal/lists"
)

// An Environment is what an expression may name besides functions and the
// constants pi and inf.
type Environment struct {
	Dim        int                  // of the state x
	Modes      int                  // M of a mode k = 0 … M−1; 0 if there is none
	Parameters map[string]Parameter // constants of its own
}

// Limits of an expression.
const (
	maxText   = 1 << 16 // bytes
	maxLength = 1 << 20 // of a vector
	maxNumber = 1 << 24 // numbers that the registers of one row hold
)

// An Error says what is wrong with an expression and where.
type Error struct {
	Line, Column int // in characters, counted from 1
	Text         string
	Reason       string
}

// Error returns the place, what stands there, and the reason.
func (e *Error) Error() string {
	at := fmt.Sprintf("column %d", e.Column)
	if e.Line > 1 {
		at = fmt.Sprintf("line %d, %s", e.Line, at)
	}
	const shown = 20
	rest := []rune(strings.Split(e.Text, "\n")[e.Line-1])[e.Column-1:]
	switch {
	case len(rest) > shown:
		at += fmt.Sprintf(", at %s…", string(rest[:shown]))
	case len(rest) > 0:
		at += ", at " + string(rest)
	}
	return at + ": " + e.Reason
}

// Compile translates an expression. Its error is an *Error.
func Compile(text string, env Environment) (p *Program, err error) {
	tree, err := parse(text)
	if err != nil {
		return nil, err
	}
	c := &compiler{env: env, text: text, known: map[string]int{}}
	defer func() {
		// What fails ends the translation, however deep.
		switch e := recover().(type) {
		case nil:
		case *Error:
			err = e
		default:
			panic(e)
		}
	}()
	c.x = c.value(value{n: env.Dim, vector: true})
	c.k = c.value(value{n: 1})
	return c.program(c.tree(tree), tree), nil
}

func parse(text string) (root ast.Node, err error) {
	at := func(offset int, reason string) error { return located(text, offset, reason) }
	if strings.TrimSpace(text) == "" {
		return nil, at(0, "the expression is empty; write ln π of the state x, -sum(x^2)/2 say")
	}
	if len(text) > maxText {
		return nil, at(0, fmt.Sprintf("%d bytes are more than %d", len(text), maxText))
	}
	if i := strings.IndexFunc(text, func(r rune) bool { return r == utf8.RuneError }); i >= 0 {
		return nil, at(utf8.RuneCountInString(text[:i]), "the text is not UTF-8")
	}
	tree, err := parser.Parse(text)
	if err != nil {
		e, ok := err.(*file.Error)
		if ok && strings.Contains(e.Message, "EOF") {
			return nil, at(utf8.RuneCountInString(text), "the expression ends too early")
		}
		if ok {
			return nil, at(e.From, e.Message)
		}
		return nil, at(0, err.Error())
	}
	return tree.Node, nil
}

// located makes an Error of an offset in characters.
func located(text string, offset int, reason string) *Error {
	runes := []rune(text)
	before := string(runes[:min(max(offset, 0), len(runes))])
	line := strings.Count(before, "\n")
	return &Error{line + 1, 1 + utf8.RuneCountInString(before[1+strings.LastIndexByte(before, '\n'):]), text, reason}
}

// A value is what one instruction computes, or a constant, or what comes with a
// state: n numbers of each row.
type value struct {
	n        int
	vector   bool
	truth    bool      // 1 for true and 0 for false
	constant []float64 // [n]
	matrix   int       // columns of a constant matrix of n/matrix rows, which is neither number nor vector
}

func (v *value) String() string {
	what := "number"
	if v.truth {
		what = "truth value"
	}
	switch {
	case v.matrix > 0:
		return fmt.Sprintf("a matrix of %d × %d", v.n/v.matrix, v.matrix)
	case v.vector:
		return fmt.Sprintf("a vector of %d %ss", v.n, what)
	}
	return "a " + what
}

// An instruction sets value dst from others.
type instruction struct {
	op   *operation
	dst  int
	args []int
	list []int // coordinates that a selection takes, −1 for a 0
}

type compiler struct {
	env    Environment
	text   string
	x, k   int
	values []value
	code   []instruction
	scope  []binding
	known  map[string]int // values by what computes them
	size   int
}

type binding struct {
	name  string
	value int
}

func (c *compiler) value(v value) int {
	c.values = append(c.values, v)
	return len(c.values) - 1
}

func (c *compiler) number(x float64) int {
	return c.constant(fmt.Sprintf("number %x", x), value{n: 1, constant: []float64{x}})
}

// constant returns the value that is known by a key, a new one at first.
func (c *compiler) constant(key string, v value) int {
	at, ok := c.known[key]
	if !ok {
		at = c.value(v)
		c.known[key] = at
	}
	return at
}

// emit returns the value that an operation makes, an earlier one if it has been
// made, a constant if its arguments are.
func (c *compiler) emit(op *operation, result value, list []int, args ...int) int {
	key := fmt.Sprintf("%p %v %v %v", op, result, list, args)
	if at, ok := c.known[key]; ok {
		return at
	}
	in := instruction{op: op, args: args, list: list}
	fold := true
	for _, a := range args {
		fold = fold && c.values[a].constant != nil
	}
	if fold {
		result.constant = make([]float64, result.n)
		operands := lists.Map(args, func(a int) operand {
			v := &c.values[a]
			return operand{v.constant, stride(v, 1), v.n}
		})
		op.run(operand{result.constant, 1, result.n}, operands, list, 1)
	}
	in.dst = c.value(result)
	if !fold {
		c.code = append(c.code, in)
		c.size += result.n
	}
	c.known[key] = in.dst
	return in.dst
}

// stride is how far apart the coordinates of a value of so many rows are.
func stride(v *value, rows int) int {
	if v.vector || v.matrix > 0 {
		return rows
	}
	return 0
}

// fail returns the error of a node, with which a translation panics and Compile returns.
func (c *compiler) fail(n ast.Node, format string, args ...any) *Error {
	return located(c.text, n.Location().From, fmt.Sprintf(format, args...))
}

// tree translates the whole expression.
func (c *compiler) tree(root ast.Node) int {
	result := c.node(root)
	switch v := &c.values[result]; {
	case v.truth:
		panic(c.fail(root, "the expression is a truth value, and ln π is a number: write (condition ? a : b)"))
	case v.vector || v.matrix > 0:
		panic(c.fail(root, "the expression is %v, and ln π is one number: sum(…) adds a vector up", v))
	}
	return result
}

func (c *compiler) node(n ast.Node) int {
	if c.size > maxNumber {
		panic(c.fail(n, "the expression needs more than %d numbers for each state", maxNumber))
	}
	switch n := n.(type) {
	case *ast.IntegerNode:
		return c.number(float64(n.Value))
	case *ast.FloatNode:
		return c.number(n.Value)
	case *ast.IdentifierNode:
		return c.name(n)
	case *ast.UnaryNode:
		return c.elementwise(n, unaryOperations[n.Operator], c.node(n.Node))
	case *ast.BinaryNode:
		return c.binary(n)
	case *ast.ConditionalNode:
		return c.elementwise(n.Cond, choose, c.nodes(n.Cond, n.Exp1, n.Exp2)...)
	case *ast.VariableDeclaratorNode:
		a := c.node(n.Value)
		if c.taken(n.Name) {
			panic(c.fail(n, "%s has a meaning already; take another name", n.Name))
		}
		if v := &c.values[a]; v.matrix > 0 {
			panic(c.fail(n, "%v gets no other name", v))
		}
		c.scope = append(c.scope, binding{n.Name, a})
		defer func() { c.scope = c.scope[:len(c.scope)-1] }()
		return c.node(n.Expr)
	case *ast.ArrayNode:
		return c.array(n)
	case *ast.MemberNode:
		return c.index(n)
	case *ast.SliceNode:
		return c.slice(n)
	case *ast.CallNode:
		if name, ok := n.Callee.(*ast.IdentifierNode); ok {
			return c.call(n, name.Value, n.Arguments)
		}
	case *ast.BuiltinNode:
		return c.call(n, n.Name, n.Arguments)
	}
	panic(c.fail(n, "%s has no meaning here", n))
}

func (c *compiler) nodes(all ...ast.Node) []int { return lists.Map(all, c.node) }

// taken reports a name that has a meaning.
func (c *compiler) taken(name string) bool {
	return slices.Contains(c.names(), name) || functions[name] != nil
}

// Usable reports a name of a parameter that an expression could not mean it by.
func (e *Environment) Usable(name string) error {
	c := compiler{env: Environment{Modes: e.Modes}}
	if c.taken(name) {
		return fmt.Errorf("%q has a meaning of its own in expressions; take another name", name)
	}
	tree, err := parser.Parse(name)
	if err == nil {
		if n, ok := tree.Node.(*ast.IdentifierNode); ok && n.Value == name {
			return nil
		}
	}
	return fmt.Errorf("%q is no name that an expression can have; take another word, of letters, digits and _", name)
}

// names lists what an identifier may be, but for functions.
func (c *compiler) names() []string {
	all := []string{"x", "pi", "inf"}
	if c.env.Modes > 0 {
		all = append(all, "k")
	}
	all = append(all, slices.Sorted(maps.Keys(c.env.Parameters))...)
	for _, b := range c.scope {
		all = append(all, b.name)
	}
	return all
}

func (c *compiler) name(n *ast.IdentifierNode) int {
	for _, b := range slices.Backward(c.scope) {
		if b.name == n.Value {
			return b.value
		}
	}
	switch n.Value {
	case "x":
		return c.x
	case "pi":
		return c.number(math.Pi)
	case "inf":
		return c.number(math.Inf(1))
	case "k":
		if c.env.Modes > 0 {
			return c.k
		}
	}
	if p, ok := c.env.Parameters[n.Value]; ok {
		return c.constant("parameter "+n.Value, value{n: len(p.values), vector: p.vector, constant: p.values, matrix: p.columns})
	}
	if functions[n.Value] != nil {
		panic(c.fail(n, "%s is a function: %s(…)", n.Value, n.Value))
	}
	panic(c.fail(n, "unknown name %s; there are %s", n.Value, strings.Join(c.names(), ", ")))
}

var unaryOperations = map[string]*operation{"-": negate, "+": same, "!": not, "not": not}

var binaryOperations = map[string]*operation{
	"+": add, "-": subtract, "*": multiply, "/": divide, "^": raise, "**": raise,
	"and": both, "&&": both, "or": either, "||": either,
	"<":  comparison(func(a, b float64) bool { return a < b }),
	"<=": comparison(func(a, b float64) bool { return a <= b }),
	">":  comparison(func(a, b float64) bool { return a > b }),
	">=": comparison(func(a, b float64) bool { return a >= b }),
	"==": comparison(func(a, b float64) bool { return a == b }),
	"!=": comparison(func(a, b float64) bool { return a != b }),
}

func (c *compiler) binary(n *ast.BinaryNode) int {
	op, ok := binaryOperations[n.Operator]
	if !ok {
		panic(c.fail(n, "the operator %s has no meaning here; there are + - * / ^, comparisons, and, or and not", n.Operator))
	}
	args := c.nodes(n.Left, n.Right)
	if p, ok := c.exponent(args[1]); ok && op == raise && !c.values[args[0]].truth && c.values[args[0]].matrix == 0 {
		return c.power(args[0], p)
	}
	return c.elementwise(n, op, args...)
}

// exponent returns a whole number that does not depend on the state.
func (c *compiler) exponent(a int) (p int, ok bool) {
	v := &c.values[a]
	if v.constant == nil || v.vector || v.matrix > 0 || !multiplies(v.constant[0]) { // as a truth value, 0 or 1, does not
		return 0, false
	}
	return int(v.constant[0]), true
}

// power emits the multiplications of the function power.
func (c *compiler) power(a, p int) int {
	if p == 1 {
		return a
	}
	b := a
	if p%2 == 0 {
		a = c.power(a, p/2)
		b = a
	} else {
		a = c.power(a, p-1)
	}
	v := c.values[a]
	return c.emit(multiply, value{n: v.n, vector: v.vector}, nil, a, b)
}

// elementwise applies an operation to each coordinate.
func (c *compiler) elementwise(n ast.Node, op *operation, args ...int) int {
	result := value{n: 1, truth: op.truth}
	for i, a := range args {
		v := &c.values[a]
		if v.matrix > 0 {
			panic(c.fail(n, "%v stands here; it goes into dot(matrix, vector) or matrix[index]", v))
		}
		if wants := i < op.truths; wants != v.truth && !(op == same || op == choose && i > 0) {
			if wants {
				panic(c.fail(n, "%v stands where a condition is needed, x > 0 say", v))
			}
			panic(c.fail(n, "a truth value stands where a number is needed: write (condition ? a : b)"))
		}
		if !v.vector {
			continue
		}
		if result.vector && result.n != v.n {
			panic(c.fail(n, "a vector of %d does not go with one of %d", result.n, v.n))
		}
		result.n, result.vector = v.n, true
	}
	switch op {
	case same:
		return args[0]
	case choose:
		if c.values[args[1]].truth || c.values[args[2]].truth {
			panic(c.fail(n, "a choice between truth values; use and, or and not"))
		}
	}
	return c.emit(op, result, nil, args...)
}

// array makes a vector of numbers and vectors.
func (c *compiler) array(n *ast.ArrayNode) int {
	args := c.nodes(n.Nodes...)
	total := 0
	for i, a := range args {
		if v := &c.values[a]; v.truth || v.matrix > 0 {
			panic(c.fail(n.Nodes[i], "%v in a list of numbers", v))
		}
		total += c.values[a].n
	}
	if total == 0 || total > maxLength {
		panic(c.fail(n, "a list of %d numbers; it may have 1 to %d", total, maxLength))
	}
	return c.emit(join, value{n: total, vector: true}, nil, args...)
}

// whole returns a constant whole number between bounds.
func (c *compiler) whole(n ast.Node, what string, low, high int) int {
	a := c.node(n)
	v := &c.values[a]
	if v.constant == nil || v.vector || v.truth || v.matrix > 0 || v.constant[0] != math.Trunc(v.constant[0]) {
		panic(c.fail(n, "%s must be a whole number that does not depend on the state", what))
	}
	if x := v.constant[0]; x < float64(low) || x > float64(high) {
		panic(c.fail(n, "%s is %v and must be between %d and %d", what, x, low, high))
	}
	return int(v.constant[0])
}

// selection takes coordinates of a vector.
func (c *compiler) selection(a int, list []int, vector bool) int {
	return c.emit(take, value{n: len(list), vector: vector, truth: c.values[a].truth}, list, a)
}

func (c *compiler) index(n *ast.MemberNode) int {
	if _, ok := n.Property.(*ast.StringNode); ok {
		panic(c.fail(n, "names have no parts here; v[i] is coordinate i of a vector, counted from 0"))
	}
	args := c.nodes(n.Node, n.Property)
	v, i := &c.values[args[0]], &c.values[args[1]]
	switch {
	case !v.vector && v.matrix == 0:
		panic(c.fail(n, "%v has no coordinates", v))
	case v.truth || i.truth || i.matrix > 0 || i.vector:
		panic(c.fail(n, "an index is a number"))
	}
	rows, width := v.n, 1
	if v.matrix > 0 {
		rows, width = v.n/v.matrix, v.matrix
	}
	if i.constant != nil {
		row := c.whole(n.Property, "an index", 0, rows-1)
		return c.selection(args[0], lists.Range(row*width, (row+1)*width), v.matrix > 0)
	}
	if args[1] == c.k && c.env.Modes > rows {
		panic(c.fail(n, "the mode k takes %d values, and there are %d here", c.env.Modes, rows))
	}
	return c.emit(gather, value{n: width, vector: v.matrix > 0}, nil, args...)
}

func (c *compiler) slice(n *ast.SliceNode) int {
	a := c.node(n.Node)
	v := &c.values[a]
	if !v.vector {
		panic(c.fail(n, "%v has no coordinates", v))
	}
	length := v.n
	bound := func(n ast.Node, otherwise int) int {
		if n == nil {
			return otherwise
		}
		i := c.whole(n, "the bound of a slice", -length, length)
		if i < 0 {
			i += length
		}
		return i
	}
	from, to := bound(n.From, 0), bound(n.To, length)
	if from >= to {
		panic(c.fail(n, "the slice from %d to %d is empty", from, to))
	}
	return c.selection(a, lists.Range(from, to), true)
}
