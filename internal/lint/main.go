// Lint finds sums of floating-point numbers in the order of a map. The order changes from run to
// run, and the last bits of the sums with it:
//
//	for _, w := range weights { // a map
//		sum += w
//	}
//
// It takes the packages that its arguments name, tests included, and exits with 3 if it
// finds any:
//
//	go run ./internal/lint ./...
package main

import (
	"go/ast"
	"go/token"
	"go/types"

	"golang.org/x/tools/go/analysis"
	"golang.org/x/tools/go/analysis/singlechecker"
)

func main() { singlechecker.Main(analyzer) }

var analyzer = &analysis.Analyzer{
	Name: "mapsum",
	Doc:  "find sums of floating-point numbers in the order of a map",
	Run: func(pass *analysis.Pass) (any, error) {
		for _, f := range pass.Files {
			ast.Inspect(f, func(n ast.Node) bool {
				if loop, ok := n.(*ast.RangeStmt); ok && isUnordered(pass.TypesInfo, loop.X) {
					for _, at := range mapSums(pass.TypesInfo, loop) {
						pass.Reportf(at, "a sum of floating-point numbers in the order of a map; take the keys in order")
					}
				}
				return true
			})
		}
		return nil, nil
	},
}

// isUnordered reports whether a range over x has no fixed order: x is a map, or an iterator of
// package maps.
func isUnordered(info *types.Info, x ast.Expr) bool {
	if t := info.TypeOf(x); t != nil {
		if _, ok := t.Underlying().(*types.Map); ok {
			return true
		}
	}
	return mapsFunction(info, x) != ""
}

// mapsFunction returns the name of the function of package maps that x calls, "" if it calls none.
func mapsFunction(info *types.Info, x ast.Expr) string {
	if call, ok := ast.Unparen(x).(*ast.CallExpr); ok {
		if f, ok := call.Fun.(*ast.SelectorExpr); ok {
			if function := info.Uses[f.Sel]; function != nil && function.Pkg() != nil && function.Pkg().Path() == "maps" {
				return f.Sel.Name
			}
		}
	}
	return ""
}

// mapSums returns where a loop accumulates a floating-point number that outlives an iteration. An
// element at the loop's key does not, since every iteration has another one.
func mapSums(info *types.Info, loop *ast.RangeStmt) (found []token.Pos) {
	ast.Inspect(loop.Body, func(n ast.Node) bool {
		s, ok := n.(*ast.AssignStmt)
		if !ok || len(s.Lhs) != 1 || !isFloat(info.TypeOf(s.Lhs[0])) {
			return true
		}
		target := ast.Unparen(s.Lhs[0])
		if root := rootOf(target); root != nil {
			if o := info.ObjectOf(root); o != nil && loop.Body.Pos() <= o.Pos() && o.Pos() < loop.Body.End() {
				return true // declared in the loop
			}
		}
		if element, ok := target.(*ast.IndexExpr); ok && loop.Key != nil && mapsFunction(info, loop.X) != "Values" && types.ExprString(element.Index) == types.ExprString(loop.Key) {
			return true
		}
		switch s.Tok {
		case token.ADD_ASSIGN, token.SUB_ASSIGN, token.MUL_ASSIGN, token.QUO_ASSIGN:
			found = append(found, s.Pos())
		case token.ASSIGN:
			if sum, ok := ast.Unparen(s.Rhs[0]).(*ast.BinaryExpr); ok && mentions(sum, types.ExprString(target)) {
				found = append(found, s.Pos())
			}
		}
		return true
	})
	return found
}

// mentions reports whether an arithmetic expression has a term or factor that reads as text.
func mentions(x ast.Expr, text string) bool {
	switch x := ast.Unparen(x).(type) {
	case *ast.BinaryExpr:
		return mentions(x.X, text) || mentions(x.Y, text)
	default:
		return types.ExprString(x) == text
	}
}

// rootOf returns the variable that an operand is part of.
func rootOf(x ast.Expr) *ast.Ident {
	for {
		switch y := ast.Unparen(x).(type) {
		case *ast.Ident:
			return y
		case *ast.SelectorExpr:
			x = y.X
		case *ast.IndexExpr:
			x = y.X
		default:
			return nil
		}
	}
}

func isFloat(t types.Type) bool {
	if t == nil {
		return false
	}
	basic, ok := t.Underlying().(*types.Basic)
	return ok && basic.Info()&(types.IsFloat|types.IsComplex) != 0
}
