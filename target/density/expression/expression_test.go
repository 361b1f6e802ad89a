package expression

import (
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/revgen/revgen/internal/alloctest"
	"github.com/revgen/revgen/internal/long"
)

var nan, inf = math.NaN(), math.Inf(1)

func environment(t testing.TB) Environment {
	m, err := Matrix([]float64{1, 2, 3, 4, 5, 6}, []float64{-1, 0.5, 0, 2, 1, -3})
	require.NoError(t, err)
	return Environment{Dim: 6, Modes: 2, Parameters: map[string]Parameter{
		"kappa": Number(0.25), "mu": Vector(1, 9), "w": Vector(0.5, -1, 2, 0, 3, 1e-3), "A": m, "one": Vector(2),
	}}
}

// TestValues holds values against those worked out by hand.
func TestValues(t *testing.T) {
	x := []float32{1, -2, 0.5, 3, 0, 4}
	cases := map[string]float64{
		"7":                                7,
		"k":                                1,
		"-sum(x^2)/2":                      -15.125,
		"-x[1]^2":                          -4,
		"2^-1":                             0.5,
		"2^3^2":                            512,
		"x[1]^3":                           -8,
		"sum(x*shift(x, 1))":               -2 - 1 + 1.5 + 0 + 0 + 4,
		"sum(x[1:]*x[:-1])":                -2 - 1 + 1.5,
		"sum(x*slide(x, 1))":               -2 - 1 + 1.5,
		"sum(x*shift(x, -1))":              -2 - 1 + 1.5 + 0 + 0 + 4,
		"sum(x*shift(x, [2,3], [0, 1]))":   1*-2 - 2*0.5 + 0.5*1 + 0 + 0 + 4*3,
		"sum(x*shift(x, [2,3], [1, 0]))":   2 * (3 + 0 + 2),
		"sum(x*slide(x, [2,3], [1, 0]))":   3 + 0 + 2,
		"dot(w, x)":                        0.5 + 2 + 1 + 0 + 0 + 0.004,
		"dot(A, x)[1]":                     -1 - 1 + 0 + 6 + 0 - 12,
		"sum(dot(A, x))":                   1 - 4 + 1.5 + 12 + 0 + 24 - 8,
		"mu[k]":                            9,
		"sum(A[k]*x)":                      -8,
		"A[0][2]":                          3,
		"mu[k + 1]":                        nan,
		"x[k]":                             -2,
		"max(x)":                           4,
		"min(x, 0)[1]":                     -2,
		"sum(max(x, w))":                   2 + 3 + 3 + 4,
		"logsumexp([0, log(3)])":           math.Log(4),
		"logsumexp([-inf, -inf])":          -inf,
		"mean(x)":                          6.5 / 6,
		"len(x)":                           6,
		"x[0] > 0 ? log(x[0]) : -inf":      0,
		"x[1] > 0 ? log(x[1]) : -inf":      -inf,
		"sum(where(x > 0, x, 0))":          8.5,
		"sum(x > 0 and not (x > 2) ? 1:0)": 2,
		"if k == 1 {3} else {4}":           3,
		"let r = sqrt(sum(x^2)); -(r - 3)^2": func() float64 {
			r := math.Sqrt(30.25)
			return -(r - 3) * (r - 3)
		}(),
		"0 < x[0] < 2 ? 1 : 0": 1,
		"sum([1, x[0], x[2]])": 2.5,
		"softplus(1000)":       1000,
		"exp(1)*pi":            math.Exp(1) * math.Pi,
		"-0.0":                 0,
		"sign(x[1])":           -1,
		"sum(x*kappa)":         1.625,
		"sum(one*x[0])":        2,

		"sum(x > 0 or x < 0 ? 1 : 0)":                5,
		"sum(x >= 3 && x <= 4 || x == 0 ? 1 : 0)":    3,
		"sum(x != 0 and not (x < 0) ? 1 : 0)":        4,
		"sum(x^[2, 1, 3, 0, 2, 0.5])":                1 - 2 + 0.125 + 1 + 0 + 2,
		"sum(x[-3:-1])":                              3,
		"sum(x[-6:6])":                               6.5,
		"sum(([x[0], x[1]]*x[2])*([x[2], x[3]]-k))":  -0.25 - 2,
		"min(x[0], x[1], x[2])":                      -2,
		"max(x[0], x[2], x[3])":                      3,
		"logsumexp([inf, x[0]])":                     inf,
		"(let a = 2; a*x[0]) + (let a = 3; a)":       5,
		"(let a = [1, 2]; a)[k] + len([1, x[0], 2])": 5,
		"[[1, 2], x[3:5], 7][3]":                     0,
		"+x[3]":                                      3,
		"where(x[0] > 0, 4, 5)":                      4,
		"mu[k - 2]":                                  nan,
		"mu[k/2]":                                    nan,
		"sum(shift(x, 1048576)*[1, 0, 0, 0, 0, 0])":  0,
		"shift(x, -1048576)[0]":                      0.5,
		"sum(slide(x, 1048576)) + slide(x, -1)[5]":   0,
		"shift(x, [1, 3, 2], [9, -1, 1])[0]":         4,
		"slide(x, [1, 3, 2], [0, 2, -1])[1]":         0,
		"slide(x, [1, 3, 2], [0, 2, -1])[0]":         0,
	}
	for text, want := range cases {
		p, err := Compile(text, environment(t))
		require.NoError(t, err, text)
		got := []float64{5}
		p.NewEvaluator().Evaluate(got, x, []uint8{1})
		require.Equal(t, math.Float64bits(p.Naive(x, 1)), math.Float64bits(got[0]), text)
		if math.IsNaN(want) {
			require.True(t, math.IsNaN(got[0]), text)
			continue
		}
		require.InDelta(t, want, got[0], 1e-12*math.Abs(want), text)
	}
}

// TestOperations: numbers that are written, added up, multiplied; none of constants.
func TestOperations(t *testing.T) {
	for text, want := range map[string]int{
		"7": 1, "2*kappa": 1, "sum(w)": 1, "k": 1,
		"k + 1": 1 + 1, "sum(x)": 1 + 6, "sum(x^2)": 1 + 6 + 6, "mean(exp(x*w))": 1 + 3*6,
		"dot(w, x)": 1 + 6 + 6, "sum(dot(A, x))": 1 + 12 + 2, "mu[k]": 1 + 1, "logsumexp(x)": 1 + 6,
	} {
		p, err := Compile(text, environment(t))
		require.NoError(t, err, text)
		assert.Equal(t, want, p.Operations(), text)
	}
}

// TestProducts: matrices of any number of columns.
func TestProducts(t *testing.T) {
	for columns := 1; columns <= 10; columns++ {
		rows, want, x := make([][]float64, 3), 0.0, make([]float32, columns)
		for j := range x {
			x[j] = float32(j*j + 1)
		}
		for i := range rows {
			for j := range columns {
				rows[i] = append(rows[i], float64(7*i-3*j+1))
				want += rows[i][j] * float64(x[j]) * float64(i+1)
			}
		}
		m, err := Matrix(rows...)
		require.NoError(t, err)
		p, err := Compile("dot(dot(M, x), [1, 2, 3])", Environment{Dim: columns, Parameters: map[string]Parameter{"M": m}})
		require.NoError(t, err)
		got := make([]float64, 1)
		p.NewEvaluator().Evaluate(got, x, nil)
		require.Equal(t, want, got[0], columns)
	}
}

// TestLimits has what is just within each limit, and what is just beyond.
func TestLimits(t *testing.T) {
	const length = 1 << 20
	env := Environment{Dim: 6, Modes: 2, Parameters: map[string]Parameter{
		"most": Vector(make([]float64, length)...), "less": Vector(make([]float64, length-1)...),
		"B": {values: []float64{2, 3, 4, 5}, columns: 2},
	}}
	numbers := func(additions int) string { // 16 vectors of 2²⁰ − 1 numbers, their sum, and one number each
		return "sum(" + strings.Repeat("exp(", 15) + "less*k" + strings.Repeat(")", 16) + strings.Repeat("+k", additions)
	}
	same := func(n int) string { return strings.TrimSuffix(strings.Repeat("x[0],", n), ",") }
	for _, c := range []struct{ within, beyond, reason string }{
		{"1" + strings.Repeat(" ", 1<<16-1), "1" + strings.Repeat(" ", 1<<16), "column 1, at 1                   …: 65537 bytes are more than 65536"},
		{"sum([less, 1])", "sum([most, 1])", "column 5, at [most, 1]): a list of 1048577 numbers; it may have 1 to 1048576"},
		{"sum([1])", "sum([])", "column 5, at []): a list of 0 numbers; it may have 1 to 1048576"},
		{numbers(16), numbers(17), "the expression needs more than 16777216 numbers for each state"},
		{"min(" + same(64) + ")", "min(" + same(65) + ")", "min is written min(v) or min(a, b, …); it has 65 arguments here"},
		{"x[0]", "x[-1]", "an index is -1 and must be between 0 and 5"},
		{"x[5]", "x[6]", "an index is 6 and must be between 0 and 5"},
		{"sum(B[1])", "sum(B[2])", "column 7, at 2]): an index is 2 and must be between 0 and 1"},
		{"sum(x[-6:])", "sum(x[-7:])", "the bound of a slice is -7 and must be between -6 and 6"},
		{"sum(x[:6])", "sum(x[:7])", "the bound of a slice is 7 and must be between -6 and 6"},
		{"sum(x[2:3])", "sum(x[2:2])", "the slice from 2 to 2 is empty"},
		{"sum(shift(x, 1048576))", "sum(shift(x, 1048577))", "a shift is 1.048577e+06 and must be between -1048576 and 1048576"},
		{"sum(shift(x, -1048576))", "sum(shift(x, -1048577))", "a shift is -1.048577e+06 and must be between -1048576 and 1048576"},
		{"sum(shift(x, [6,1], [1048576, 0]))", "sum(shift(x, [6,1], [1048577, 0]))", "a shift (number 1) is 1.048577e+06 and must be between -1048576 and 1048576"},
		{"sum(shift(x, [6,1], [0, -1048576]))", "sum(shift(x, [6,1], [0, -1048577]))", "a shift (number 2) is -1.048577e+06 and must be between -1048576 and 1048576"},
		{"sum(shift(x, [6,1], [0, 0]))", "sum(shift(x, [6,0], [0, 0]))", "the side of a lattice (number 2) is 0 and must be between 1 and 1048576"},
		{"sum(shift(most, [1048576], [1]))", "sum(shift(x, [1048577], [0]))", "the side of a lattice (number 1) is 1.048577e+06 and must be between 1 and 1048576"},
		{"sum(shift(x, [2,3], [1,1]))", "sum(shift(x, [2], [1]))", "a lattice of sides [2] has not the 6 sites of the vector"},
		{"1", "x[0] + abcdefghijklmnopqrst", "column 8, at abcdefghijklmnopqrst: unknown name"},
		{"1", "x[0] + abcdefghijklmnopqrstu", "column 8, at abcdefghijklmnopqrst…: unknown name"},
		{"1", "1 +", "column 4: the expression ends too early"},
	} {
		_, err := Compile(c.within, env)
		require.NoError(t, err, c.within)
		_, err = Compile(c.beyond, env)
		require.ErrorContains(t, err, c.reason)
	}
	for p, op := range map[string]*operation{"2": multiply, "64": multiply, "1": raise, "65": raise, "2.5": raise, "-2": raise, "0": raise} {
		compiled, err := Compile("k^("+p+")", env)
		require.NoError(t, err)
		require.Equal(t, op, compiled.code[0].op, p)
	}
	require.Equal(t, 1.5*1.5*1.5*1.5*1.5*1.5*1.5, power(1.5, 7))
	require.Equal(t, math.Pow(1.1, 65), power(1.1, 65))
	require.NoError(t, env.Parameters["most"].Validate())
	require.EqualError(t, Vector(make([]float64, length+1)...).Validate(), "1048577 numbers; there may be 1 to 1048576")
	require.EqualError(t, Vector().Validate(), "0 numbers; there may be 1 to 1048576")
	_, err := Matrix([]float64{1}, []float64{1, 2})
	require.EqualError(t, err, "row 1 has 2 numbers, and the first has 1")
	for text, want := range map[string]string{
		"null": "null is no number", "[1,null]": "null is no number", `"1"`: "not a number, nor a list of numbers, nor a list of lists of numbers", "[]": "not a number, nor a list of numbers, nor a list of lists of numbers",
		"[1,[2]]": "not a number, nor a list of numbers, nor a list of lists of numbers", "[[1,2],[3]]": "row 1 has 1 numbers, and the first has 2", "2.5": "", "[1,2]": "", "[[1,2],[3,4],[5,6]]": "",
	} {
		var p Parameter
		if err := p.UnmarshalJSON([]byte(text)); want != "" {
			require.EqualError(t, err, want, text)
			continue
		}
		again, err := p.MarshalJSON()
		require.NoError(t, err)
		require.Equal(t, text, string(again))
	}
	text, err := json.Marshal(Parameter{})
	require.NoError(t, err)
	require.Equal(t, "0", string(text))
}

// TestBlocks: 2048 numbers of the widest value, but 16 to 256 rows.
func TestBlocks(t *testing.T) {
	for dim, rows := range map[int]int{1: 256, 8: 256, 9: 227, 127: 16, 128: 16, 300: 16} {
		p, err := Compile("sum(x)", Environment{Dim: dim})
		require.NoError(t, err)
		require.Equal(t, rows, p.rows, dim)
	}
	joined, err := Compile("sum(["+strings.TrimSuffix(strings.Repeat("x[0],", 100), ",")+"])", Environment{Dim: 1})
	require.NoError(t, err)
	require.Equal(t, 20, joined.rows)
	// Registers are used again once what they hold has been read for the last time.
	chain, err := Compile("sum(exp(sin(cos(exp(x*x)))))", Environment{Dim: 3})
	require.NoError(t, err)
	require.Equal(t, []int{3, 3, 1}, chain.widths)
	held, err := Compile("let a = exp(x); sum(a*sin(cos(sin(a))))", Environment{Dim: 3})
	require.NoError(t, err)
	require.Equal(t, []int{3, 3, 3, 1}, held.widths)
}

// TestUsage: every function says how it is written when it has an argument too few or too many.
func TestUsage(t *testing.T) {
	env := environment(t)
	for _, name := range Functions() {
		usage, least, most := name+"(v)", 1, 1
		switch name {
		case "min", "max":
			usage, most = name+"(v) or "+name+"(a, b, …)", 64
		case "dot":
			usage, least, most = "dot(u, v) or dot(matrix, v)", 2, 2
		case "where":
			usage, least, most = "where(condition, a, b)", 3, 3
		case "shift", "slide":
			usage, least, most = name+"(v, by) or "+name+"(v, [sides], [by])", 2, 3
		}
		for _, n := range []int{least - 1, most + 1} {
			_, err := Compile(name+"("+strings.TrimSuffix(strings.Repeat("x,", n), ",")+")", env)
			var e *Error
			require.ErrorAs(t, err, &e)
			if !slices.Contains([]string{"abs", "floor", "len", "max", "mean", "min", "sum"}, name) { // whose arguments the parser counts
				require.Equal(t, 1, e.Column, name)
				require.Equal(t, fmt.Sprintf("%s is written %s; it has %d arguments here", name, usage, n), e.Reason)
			}
		}
	}
}

// TestCheckName: a parameter's name is a word without a meaning.
func TestCheckName(t *testing.T) {
	for name, reason := range map[string]string{
		"a_1": "", "κ": "", "k": "", "x": "has a meaning of its own", "pi": "has a meaning of its own", "inf": "has a meaning of its own",
		"exp": "has a meaning of its own", "slide": "has a meaning of its own",
		"let": "is no name", "a b": "is no name", "a.b": "is no name", "1": "is no name", " a": "is no name", "": "is no name", "true": "is no name",
	} {
		err := (&Environment{}).CheckName(name)
		if reason == "" {
			require.NoError(t, err, name)
			continue
		}
		require.ErrorContains(t, err, fmt.Sprintf("%q %s", name, reason))
	}
	require.EqualError(t, (&Environment{Modes: 1}).CheckName("k"), `"k" has a meaning of its own in expressions; take another name`)
}

func TestErrors(t *testing.T) {
	cases := map[string]string{
		"":                           "column 1|the expression is empty",
		"sum(x^2":                    "column 8|the expression ends too early",
		"sum(y)":                     "column 5|unknown name y; there are x, pi, inf, k, A, kappa, mu, one, w",
		"x":                          "column 1|the expression is a vector of 6 numbers",
		"sum(x) > 0":                 "column 8|the expression is a truth value",
		"1 + x[6]":                   "column 7|an index is 6 and must be between 0 and 5",
		"x[0.5]":                     "column 3|an index must be a whole number",
		"kappa[0]":                   "has no coordinates",
		"sum(x + mu)":                "column 7|a vector of 6 does not go with one of 2",
		"sin(x, 1)":                  "column 1|sin is written sin(v); it has 2 arguments here",
		"sqr(x)":                     "column 1|unknown function sqr; there are abs, acos",
		"x > 0 ? 1 : 0":              "is a vector of 6 numbers",
		"kappa ? 1 : 0":              "a number stands where a condition is needed",
		"1 + (kappa > 0)":            "column 3|a truth value stands where a number is needed",
		"sum(1)":                     "column 5|a number stands where a vector",
		"A":                          "a matrix of 2 × 6",
		"sum(A*2)":                   "a matrix of 2 × 6 stands here",
		"dot(A, mu)":                 "does not go with a vector of 2",
		"shift(x, k)":                "column 10|a shift must be a whole number",
		"sum(shift(x, [4,4],[0,1]))": "a lattice of sides [4 4] has not the 6 sites",
		"sum(shift(x, [2,3],[1]))":   "1 shifts for 2 sides",
		"sum(shift(x, 1, 1))":        "a list such as",
		"let x = 1; x":               "x has a meaning already",
		"sum(x[4:2])":                "the slice from 4 to 2 is empty",
		"sum(x[:0])":                 "the slice from 0 to 0 is empty",
		"sum(x[-6:0])":               "the slice from 0 to 0 is empty",
		"sum(x[6:])":                 "the slice from 6 to 6 is empty",
		"sum(x[:-6])":                "the slice from 0 to 0 is empty",
		"sum(x[-7:])":                "the bound of a slice is -7 and must be between -6 and 6",
		"sum(x[:7])":                 "the bound of a slice is 7 and must be between -6 and 6",
		"sum(x, # > 1)":              "sum is written sum(v)",
		"\"a\"":                      "has no meaning here",
		"x % 2":                      "the operator % has no meaning here",
		"1 +\n  z":                   "line 2, column 3|unknown name z",
		"x.y":                        "names have no parts",
		"sin":                        "sin is a function",
		"\xff":                       "not UTF-8",
		"abs(-kappa":                 "column 11|the expression ends too early",
		"let B = A; B[0][0]":         "gets no other name",
		"let sum = 1; 2":             "sum has a meaning already; take another name",
		"let kappa = 1; 2":           "kappa has a meaning already",
		"let a = 1; let a = 2; a":    "a has a meaning already",
		"(let a = 1; a) + a":         "column 18|unknown name a; there are x, pi, inf, k, A, kappa, mu, one, w",
		"let a = 1; b":               "unknown name b; there are x, pi, inf, k, A, kappa, mu, one, w, a",
		"x > 0 ? x > 1 : x > 2":      "column 3|a choice between truth values; use and, or and not",
		"sum(x > 0 ? 1 : x > 2)":     "a choice between truth values",
		"sum(x > 0 ? x > 1 : 2)":     "a choice between truth values",
		"sum([1, x > 0])":            "column 11|a vector of 6 truth values in a list of numbers",
		"sum([A, 1])":                "column 6|a matrix of 2 × 6 in a list of numbers",
		"sum(x > 0)":                 "column 7|a vector of 6 truth values stands where a vector of numbers is needed",
		"k > 0 ? 1 : x[k > 0]":       "an index is a number",
		"(x > 0)[0] ? 1 : 0":         "an index is a number",
		"x[x]":                       "column 2|an index is a number",
		"x[A]":                       "an index is a number",
		"k[0]":                       "column 2|a number has no coordinates",
		"(k > 0)[0]":                 "a truth value has no coordinates",
		"A[1:]":                      "a matrix of 2 × 6 has no coordinates",
		"kappa[1:]":                  "a number has no coordinates",
		"sum(shift(x, 1 < 2))":       "column 16|a shift must be a whole number that does not depend on the state",
		"sum(shift(x, [1]))":         "column 14|a shift must be a whole number that does not depend on the state",
		"sum(shift(x, A))":           "column 14|a shift must be a whole number that does not depend on the state",
		"sum(shift(x, 1.5))":         "column 14|a shift must be a whole number that does not depend on the state",
		"sum(shift(x, [], []))":      "a list such as [8, 8] is needed here",
		"sum((x > 0)^2)":             "a truth value stands where a number is needed: write (condition ? a : b)",
		"A^2":                        "column 2|a matrix of 2 × 6 stands here; it goes into dot(matrix, vector) or matrix[index]",
		"sum(x^A)":                   "a matrix of 2 × 6 stands here",
		"sum(x^(1 < 2))":             "a truth value stands where a number is needed",
		"sum(x and 1 > 0)":           "a vector of 6 numbers stands where a condition is needed, x > 0 say",
		"sum(-(x > 0))":              "a truth value stands where a number is needed",
		"dot(x, 1)":                  "a number stands where a vector of numbers is needed",
		"dot(1, x)":                  "a number stands where a vector of numbers is needed",
		"sum(dot(A, mu))":            "column 5|a matrix of 2 × 6 does not go with a vector of 2",
		strings.Repeat("x", 1<<17):   "bytes are more than",
	}
	for text, want := range cases {
		_, err := Compile(text, environment(t))
		place, reason, both := strings.Cut(want, "|")
		assert.ErrorContains(t, err, place, text)
		if both {
			assert.ErrorContains(t, err, reason, text)
		}
		var located *Error
		require.ErrorAs(t, err, &located)
	}
	_, err := Compile("kappa*lamda", environment(t))
	require.EqualError(t, err, "column 7, at lamda: unknown name lamda; there are x, pi, inf, k, A, kappa, mu, one, w")
	without := environment(t)
	without.Modes = 0
	_, err = Compile("k", without)
	require.ErrorContains(t, err, "unknown name k")
	without.Modes = 3
	_, err = Compile("mu[k]", without)
	require.ErrorContains(t, err, "the mode k takes 3 values, and there are 2 here")
}

// grow writes a random expression: a number, a vector of n or a condition on one or
// the other.
func grow(r *rand.Rand, depth, n int, truth bool) string {
	pick := func(all ...string) string { return all[r.IntN(len(all))] }
	number := func() string { return grow(r, depth-1, 1, false) }
	same := func() string { return grow(r, depth-1, n, false) }
	if truth {
		if depth > 0 && r.IntN(3) == 0 {
			return pick("not (", "(1 < 2 and ", "(1 > 2 or ") + grow(r, depth-1, n, true) + ")"
		}
		return "(" + same() + pick(" < ", " <= ", " > ", " >= ", " == ", " != ") + number() + ")"
	}
	if depth <= 0 {
		if n == 6 {
			return pick("x", "w", "A[k]", "A[1]", "shift(x, 2)", "slide(x, [3, 2], [1, -1])")
		}
		return pick("k", "kappa", "2", "1e-3", "x[0]", "mu[k]", "x[5]", "pi", "0", "inf", "A[k][3]", "x[x[4]]", "one[0]")
	}
	switch r.IntN(7) {
	case 0:
		return "(" + same() + pick("+", "-", "*", "/") + pick(number(), same()) + ")"
	case 1:
		return "(" + same() + ")^" + pick("2", "3", "7", "-1", "0.5", "kappa", "k", number())
	case 2:
		return pick(Functions()[:3]...) + "(" + same() + ")"
	case 3:
		return pick("exp", "log", "tanh", "sin", "sqrt", "softplus", "erf", "-", "floor", "sign", "+") + "(" + same() + ")"
	case 4:
		return "(" + grow(r, depth-1, n, true) + " ? " + same() + " : " + number() + ")"
	case 5:
		name := fmt.Sprintf("v%d", r.IntN(1<<30))
		return "(let " + name + " = " + same() + "; " + name + pick("+", "*") + name + ")"
	}
	if n == 6 {
		return pick("min", "max") + "(" + same() + ", " + number() + ")"
	}
	v := grow(r, depth-1, 6, false)
	return pick("sum("+v+")", "max("+v+")", "logsumexp("+v+")", "mean("+v+")", "dot(w, "+v+")", "dot(A, "+v+")[k]",
		"sum(("+v+")[1:])", "sum(("+v+")*("+v+")[0])", "["+number()+", "+number()+"][1]")
}

// against compares a program with its specification, bit for bit, for batches of
// several lengths.
func against(t *testing.T, p *Program, text string, seed uint64) {
	r := rand.New(rand.NewPCG(seed, 1))
	e := p.NewEvaluator()
	for _, rows := range []int{1, 3, p.rows + 5} {
		x, k, got := make([]float32, rows*p.dim), make([]uint8, rows), make([]float64, rows)
		for i := range x {
			x[i] = float32(r.NormFloat64() * math.Pow(10, float64(r.IntN(3)-1)))
			if r.IntN(16) == 0 {
				x[i] = []float32{0, 1, -1, 1e30, float32(math.Inf(-1)), float32(nan)}[r.IntN(6)]
			}
		}
		for i := range k {
			k[i] = uint8(r.IntN(max(1, p.env.Modes)))
		}
		e.Evaluate(got, x, k)
		for i := range got {
			want := p.Naive(x[i*p.dim:(i+1)*p.dim], k[i])
			require.Equal(t, math.Float64bits(want), math.Float64bits(got[i]), "%s: row %d of %d at %v in mode %d: %v instead of %v",
				text, i, rows, x[i*p.dim:(i+1)*p.dim], k[i], got[i], want)
		}
	}
}

// TestFunctions holds every function of one number against the mathematics of its name.
func TestFunctions(t *testing.T) {
	of := map[string]func(float64) float64{
		"exp": math.Exp, "expm1": math.Expm1, "log": math.Log, "log1p": math.Log1p, "sqrt": math.Sqrt, "abs": math.Abs,
		"sin": math.Sin, "cos": math.Cos, "tan": math.Tan, "asin": math.Asin, "acos": math.Acos, "atan": math.Atan,
		"sinh": math.Sinh, "cosh": math.Cosh, "tanh": math.Tanh, "erf": math.Erf, "erfc": math.Erfc, "floor": math.Floor,
		"lgamma":   func(x float64) float64 { y, _ := math.Lgamma(x); return y },
		"softplus": func(x float64) float64 { return math.Log1p(math.Exp(x)) },
		"sign":     func(x float64) float64 { return math.Copysign(1, x) },
	}
	require.Len(t, of, len(unaryFunctions))
	env := environment(t)
	for _, f := range unaryFunctions {
		require.Contains(t, of, f.name)
		p, err := Compile(f.name+"(x[2]) + 0*sum(x)", env) // a number that nothing folds
		require.NoError(t, err, f.name)
		var dst [1]float64
		p.NewEvaluator().Evaluate(dst[:], []float32{1, -2, 0.5, 3, 0, 4}, nil)
		require.InDelta(t, of[f.name](0.5), dst[0], 1e-12, f.name)
	}
}

func TestAgainstSpecification(t *testing.T) {
	long.SkipShort(t)
	env := environment(t)
	r := rand.New(rand.NewPCG(3, 4))
	for i := range 500 {
		text := grow(r, 1+i%4, 1, false)
		p, err := Compile(text, env)
		require.NoError(t, err, text)
		against(t, p, text, uint64(i))
	}
}

// FuzzCompile: no text panics, and what compiles means what its specification says.
func FuzzCompile(f *testing.F) {
	for _, text := range []string{"-sum(x^2)/2", "x[k] > 0 ? 1 : -inf", "let a = [1,2]; a[k]", "dot(A, x)[0]", "sum(shift(x, [2,3], [1,0]))", "((((", "x[-1:]", "1e999", "-inf^0.5"} {
		f.Add(text)
	}
	env := environment(f)
	f.Fuzz(func(t *testing.T, text string) {
		p, err := Compile(text, env)
		if err != nil {
			var located *Error
			require.ErrorAs(t, err, &located)
			_ = err.Error()
			return
		}
		against(t, p, text, 1)
	})
}

func TestEvaluateAllocatesNothing(t *testing.T) {
	p, err := Compile("2*kappa*sum(x*shift(x, 1)) + logsumexp(x) - mu[k] + sum(A[k]*x > 0 ? exp(x) : x^2.5)", environment(t))
	require.NoError(t, err)
	e, dst, x, k := p.NewEvaluator(), make([]float64, 700), make([]float32, 4200), make([]uint8, 700)
	require.Zero(t, alloctest.PerRun(5, func() { e.Evaluate(dst, x, k) }))
}

// TestFolding: what does not depend on the state costs nothing, and equal terms are
// computed once.
func TestFolding(t *testing.T) {
	count := func(text string) int {
		p, err := Compile(text, environment(t))
		require.NoError(t, err)
		return len(p.code)
	}
	require.Equal(t, 0, count("sum(exp(w)*2) + dot(A, w)[1] + A[0][2]"))
	require.Equal(t, 2, count("sum(x^2)"))
	require.Equal(t, 3, count("sum(x^2) + sum(x^2)"))
	require.Equal(t, 1, count("let unused = exp(x); sum(x)"))
}

func TestParameters(t *testing.T) {
	for text, want := range map[string]Parameter{"1.5": Number(1.5), "[1,2]": Vector(1, 2), "[[1,2],[3,4]]": {values: []float64{1, 2, 3, 4}, columns: 2}} {
		var p Parameter
		require.NoError(t, json.Unmarshal([]byte(text), &p))
		require.Equal(t, want, p)
		back, err := json.Marshal(p)
		require.NoError(t, err)
		require.Equal(t, text, string(back))
	}
	for _, text := range []string{`"a"`, "null", "[]", "[[]]", "[[1],[1,2]]", "[1,null]", "{}", "true", "[[1],2]", "1e999"} {
		var p Parameter
		require.Error(t, json.Unmarshal([]byte(text), &p), text)
	}
}

func phi4() (string, Environment) {
	return "2*kappa*sum(x*(shift(x, [8,8], [1,0]) + shift(x, [8,8], [0,1]))) - sum(x^2 + lambda*(x^2 - 1)^2)",
		Environment{Dim: 64, Parameters: map[string]Parameter{"kappa": Number(0.2), "lambda": Number(0.02)}}
}

// BenchmarkEvaluate measures the φ⁴ field on 8 × 8 sites, by batch and by the
// specification.
func BenchmarkEvaluate(b *testing.B) {
	text, env := phi4()
	p, err := Compile(text, env)
	require.NoError(b, err)
	const rows = 1024
	x, dst := make([]float32, rows*64), make([]float64, rows)
	b.Run("program", func(b *testing.B) {
		e := p.NewEvaluator()
		for b.Loop() {
			e.Evaluate(dst, x, nil)
		}
		b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*rows), "ns/state")
	})
	b.Run("naive", func(b *testing.B) {
		for b.Loop() {
			dst[0] = p.Naive(x[:64], 0)
		}
		b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N), "ns/state")
	})
}
