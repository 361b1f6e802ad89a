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
	Parameters map[string]Parameter // constants by name
}

// Limits of an expression.
const (
	maxText   = 1 << 16 // bytes
	maxLength = 1 << 20 // of a vector
	maxNumber = 1 << 24 // numbers that instructions compute for one row
)

// An Error says what is wrong with an expression and where.
type Error struct {
	Line, Column int // in characters, counted from 1
	Text         string
	Reason       string
}

// Error returns the place, the text there, and the reason.
func (e *Error) Error() string {
	place := fmt.Sprintf("column %d", e.Column)
	if e.Line > 1 {
		place = fmt.Sprintf("line %d, %s", e.Line, place)
	}
	const shown = 20
	source := []rune(strings.Split(e.Text, "\n")[e.Line-1])[e.Column-1:]
	switch {
	case len(source) > shown:
		place += fmt.Sprintf(", at %s…", string(source[:shown]))
	case len(source) > 0:
		place += ", at " + string(source)
	}
	return place + ": " + e.Reason
}

// Compile translates an expression. Its error is an *Error.
func Compile(text string, env Environment) (p *Program, err error) {
	tree, err := parse(text)
	if err != nil {
		return nil, err
	}
	c := &compiler{env: env, text: text, valueOf: map[string]int{}}
	defer func() {
		// An error ends the translation by a panic, however deep.
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
	return c.program(c.root(tree), tree), nil
}

func parse(text string) (root ast.Node, err error) {
	errorAt := func(offset int, reason string) error { return located(text, offset, reason) }
	if strings.TrimSpace(text) == "" {
		return nil, errorAt(0, "the expression is empty; write ln π of the state x, -sum(x^2)/2 say")
	}
	if len(text) > maxText {
		return nil, errorAt(0, fmt.Sprintf("%d bytes are more than %d", len(text), maxText))
	}
	if i := strings.IndexFunc(text, func(r rune) bool { return r == utf8.RuneError }); i >= 0 {
		return nil, errorAt(utf8.RuneCountInString(text[:i]), "the text is not UTF-8")
	}
	tree, err := parser.Parse(text)
	if err != nil {
		e, ok := err.(*file.Error)
		if ok && strings.Contains(e.Message, "EOF") {
			return nil, errorAt(utf8.RuneCountInString(text), "the expression ends too early")
		}
		if ok {
			return nil, errorAt(e.From, e.Message)
		}
		return nil, errorAt(0, err.Error())
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

// A value is the result of an instruction, a constant, or the state's x or k: n numbers for each
// row.
type value struct {
	n        int
	vector   bool
	boolean  bool      // truth values, 1 for true and 0 for false
	constant []float64 // [n], nil if the value depends on the state
	matrix   int       // number of columns of a matrix of n/matrix rows; 0 for numbers and vectors
}

func (v *value) String() string {
	what := "number"
	if v.boolean {
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

// A compiler translates an expression. It refers to a value by its index in values.
type compiler struct {
	env     Environment
	text    string
	x, k    int
	values  []value
	code    []instruction
	scope   []binding      // names that let defines
	valueOf map[string]int // values by a key of what computes them
	size    int            // numbers that code computes for one row
}

// A binding is a name that let defines.
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

// constant returns the constant with a key, which it adds if it is new.
func (c *compiler) constant(key string, v value) int {
	id, ok := c.valueOf[key]
	if !ok {
		id = c.value(v)
		c.valueOf[key] = id
	}
	return id
}

// emit returns the value of an operation. It is an earlier value if the same operation has been
// emitted, and a constant if the arguments are.
func (c *compiler) emit(op *operation, result value, list []int, args ...int) int {
	key := fmt.Sprintf("%p %v %v %v", op, result, list, args)
	if id, ok := c.valueOf[key]; ok {
		return id
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
	c.valueOf[key] = in.dst
	return in.dst
}

// stride returns the distance between the coordinates of a value for so many rows.
func stride(v *value, rows int) int {
	if v.vector || v.matrix > 0 {
		return rows
	}
	return 0
}

// fail returns an error about a node. Translation panics with it, and Compile returns it.
func (c *compiler) fail(n ast.Node, format string, args ...any) *Error {
	return located(c.text, n.Location().From, fmt.Sprintf(format, args...))
}

// root translates the whole expression, which must be a number.
func (c *compiler) root(root ast.Node) int {
	result := c.translate(root)
	switch v := &c.values[result]; {
	case v.boolean:
		panic(c.fail(root, "the expression is a truth value, and ln π is a number: write (condition ? a : b)"))
	case v.vector || v.matrix > 0:
		panic(c.fail(root, "the expression is %v, and ln π is one number: sum(…) adds a vector up", v))
	}
	return result
}

func (c *compiler) translate(n ast.Node) int {
	if c.size > maxNumber {
		panic(c.fail(n, "the expression needs more than %d numbers for each state", maxNumber))
	}
	switch n := n.(type) {
	case *ast.IntegerNode:
		return c.number(float64(n.Value))
	case *ast.FloatNode:
		return c.number(n.Value)
	case *ast.IdentifierNode:
		return c.identifier(n)
	case *ast.UnaryNode:
		return c.elementwise(n, unaryOperations[n.Operator], c.translate(n.Node))
	case *ast.BinaryNode:
		return c.binary(n)
	case *ast.ConditionalNode:
		return c.elementwise(n.Cond, where, c.translateAll(n.Cond, n.Exp1, n.Exp2)...)
	case *ast.VariableDeclaratorNode:
		a := c.translate(n.Value)
		if c.nameTaken(n.Name) {
			panic(c.fail(n, "%s has a meaning already; take another name", n.Name))
		}
		if v := &c.values[a]; v.matrix > 0 {
			panic(c.fail(n, "%v gets no other name", v))
		}
		c.scope = append(c.scope, binding{n.Name, a})
		defer func() { c.scope = c.scope[:len(c.scope)-1] }()
		return c.translate(n.Expr)
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

func (c *compiler) translateAll(nodes ...ast.Node) []int { return lists.Map(nodes, c.translate) }

// nameTaken reports whether a name has a meaning.
func (c *compiler) nameTaken(name string) bool {
	return slices.Contains(c.names(), name) || functions[name] != nil
}

// CheckName reports a name that a parameter cannot have.
func (e *Environment) CheckName(name string) error {
	c := compiler{env: Environment{Modes: e.Modes}}
	if c.nameTaken(name) {
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

// names lists the names of an expression, without functions.
func (c *compiler) names() []string {
	names := []string{"x", "pi", "inf"}
	if c.env.Modes > 0 {
		names = append(names, "k")
	}
	names = append(names, slices.Sorted(maps.Keys(c.env.Parameters))...)
	for _, b := range c.scope {
		names = append(names, b.name)
	}
	return names
}

func (c *compiler) identifier(n *ast.IdentifierNode) int {
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

var unaryOperations = map[string]*operation{"-": negate, "+": identity, "!": not, "not": not}

var binaryOperations = map[string]*operation{
	"+": add, "-": subtract, "*": multiply, "/": divide, "^": raise, "**": raise,
	"and": and, "&&": and, "or": or, "||": or,
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
	args := c.translateAll(n.Left, n.Right)
	if p, ok := c.exponent(args[1]); ok && op == raise && !c.values[args[0]].boolean && c.values[args[0]].matrix == 0 {
		return c.power(args[0], p)
	}
	return c.elementwise(n, op, args...)
}

// exponent returns a constant exponent that power can emit as multiplications.
func (c *compiler) exponent(a int) (p int, ok bool) {
	v := &c.values[a]
	if v.constant == nil || v.vector || v.matrix > 0 || !isSmallInteger(v.constant[0]) { // a truth value is less than 2
		return 0, false
	}
	return int(v.constant[0]), true
}

// power emits the multiplications of integerPower.
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
	result := value{n: 1, boolean: op.boolResult}
	for i, a := range args {
		v := &c.values[a]
		if v.matrix > 0 {
			panic(c.fail(n, "%v stands here; it goes into dot(matrix, vector) or matrix[index]", v))
		}
		if wants := i < op.boolArguments; wants != v.boolean && !(op == identity || op == where && i > 0) {
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
	case identity:
		return args[0]
	case where:
		if c.values[args[1]].boolean || c.values[args[2]].boolean {
			panic(c.fail(n, "a choice between truth values; use and, or and not"))
		}
	}
	return c.emit(op, result, nil, args...)
}

// array concatenates numbers and vectors.
func (c *compiler) array(n *ast.ArrayNode) int {
	args := c.translateAll(n.Nodes...)
	length := 0
	for i, a := range args {
		if v := &c.values[a]; v.boolean || v.matrix > 0 {
			panic(c.fail(n.Nodes[i], "%v in a list of numbers", v))
		}
		length += c.values[a].n
	}
	if length == 0 || length > maxLength {
		panic(c.fail(n, "a list of %d numbers; it may have 1 to %d", length, maxLength))
	}
	return c.emit(join, value{n: length, vector: true}, nil, args...)
}

// integer returns a constant whole number between bounds.
func (c *compiler) integer(n ast.Node, what string, low, high int) int {
	a := c.translate(n)
	v := &c.values[a]
	if v.constant == nil || v.vector || v.boolean || v.matrix > 0 || v.constant[0] != math.Trunc(v.constant[0]) {
		panic(c.fail(n, "%s must be a whole number that does not depend on the state", what))
	}
	if x := v.constant[0]; x < float64(low) || x > float64(high) {
		panic(c.fail(n, "%s is %v and must be between %d and %d", what, x, low, high))
	}
	return int(v.constant[0])
}

// selection takes coordinates of a vector.
func (c *compiler) selection(a int, list []int, vector bool) int {
	return c.emit(take, value{n: len(list), vector: vector, boolean: c.values[a].boolean}, list, a)
}

func (c *compiler) index(n *ast.MemberNode) int {
	if _, ok := n.Property.(*ast.StringNode); ok {
		panic(c.fail(n, "names have no parts here; v[i] is coordinate i of a vector, counted from 0"))
	}
	args := c.translateAll(n.Node, n.Property)
	v, i := &c.values[args[0]], &c.values[args[1]]
	switch {
	case !v.vector && v.matrix == 0:
		panic(c.fail(n, "%v has no coordinates", v))
	case v.boolean || i.boolean || i.matrix > 0 || i.vector:
		panic(c.fail(n, "an index is a number"))
	}
	rows, width := v.n, 1
	if v.matrix > 0 {
		rows, width = v.n/v.matrix, v.matrix
	}
	if i.constant != nil {
		row := c.integer(n.Property, "an index", 0, rows-1)
		return c.selection(args[0], lists.Range(row*width, (row+1)*width), v.matrix > 0)
	}
	if args[1] == c.k && c.env.Modes > rows {
		panic(c.fail(n, "the mode k takes %d values, and there are %d here", c.env.Modes, rows))
	}
	return c.emit(gather, value{n: width, vector: v.matrix > 0}, nil, args...)
}

func (c *compiler) slice(n *ast.SliceNode) int {
	a := c.translate(n.Node)
	v := &c.values[a]
	if !v.vector {
		panic(c.fail(n, "%v has no coordinates", v))
	}
	length := v.n
	bound := func(n ast.Node, absent int) int {
		if n == nil {
			return absent
		}
		i := c.integer(n, "the bound of a slice", -length, length)
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
