// Package expression compiles a formula of a state, such as
//
//	2*kappa*sum(x*shift(x, 1)) - sum(x^2 + lambda*(x^2 - 1)^2)
//
// to a program that evaluates it for batches of states in float64. Syntax and
// precedence are those of github.com/expr-lang/expr, whose parser reads it; what
// the operators mean is this package's, and docs/targets.md says it.
//
// A value is a number or a vector, of numbers or of truth values. Operators and
// functions act on vectors coordinate by coordinate, a number going with each of
// them. What does not depend on the state is evaluated once.
//
//	compile.go     text → instructions; all errors
//	program.go     instructions over blocks of rows
//	functions.go   functions, their arguments, and the operations that they compile to
//	operations.go  what an instruction does
//	naive.go       the specification: a walk of the syntax tree for one state
//
// Every operation is one rounding in float64 and every sum is taken in the order
// of its terms. The same bits come out whatever a batch looks like, and in another
// language that does the same.
package expression
