// Lint finds sums of floating-point numbers in the order of a map, which changes
// from run to run, and with it their last bits:
//
//	for _, w := range weights { // a map
//		sum += w
//	}
//
// It type-checks the packages that its arguments name to go list, tests
// included, and exits with 1 if it finds any:
//
//	go run ./internal/lint ./...
package main

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"go/ast"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
)

func main() {
	findings, err := lint(os.Args[1:]...)
	if err != nil {
		fmt.Fprintln(os.Stderr, "lint:", err)
		os.Exit(2)
	}
	for _, f := range findings {
		fmt.Println(f)
	}
	if len(findings) > 0 {
		os.Exit(1)
	}
}

// A listed package is what go list says of it.
type listed struct {
	ImportPath string
	Dir        string
	Export     string // file of its export data
	GoFiles    []string
	CgoFiles   []string
	ImportMap  map[string]string
	ForTest    string
	DepOnly    bool
	Standard   bool
}

// lint returns what is wrong with the packages, by position.
func lint(patterns ...string) ([]string, error) {
	command := exec.Command("go", append([]string{"list", "-test", "-deps", "-export", "-json=ImportPath,Dir,Export,GoFiles,CgoFiles,ImportMap,ForTest,DepOnly,Standard", "--"}, patterns...)...)
	command.Stderr = os.Stderr
	out, err := command.Output()
	if err != nil {
		return nil, fmt.Errorf("go list: %w", err)
	}
	var packages []listed
	export := map[string]string{}
	for decoder := json.NewDecoder(bytes.NewReader(out)); decoder.More(); {
		var p listed
		if err := decoder.Decode(&p); err != nil {
			return nil, err
		}
		export[p.ImportPath] = p.Export
		packages = append(packages, p)
	}
	var found []token.Position
	for _, p := range packages {
		if p.DepOnly && p.ForTest == "" || p.Standard || len(p.CgoFiles) > 0 {
			continue
		}
		positions, err := check(p, export)
		if err != nil {
			return nil, err
		}
		found = append(found, positions...)
	}
	slices.SortFunc(found, func(a, b token.Position) int {
		return cmp.Or(cmp.Compare(a.Filename, b.Filename), cmp.Compare(a.Offset, b.Offset))
	})
	var findings []string
	for _, at := range slices.Compact(found) { // a package and its variant for tests share files
		findings = append(findings, fmt.Sprintf("%s: a sum of floating-point numbers in the order of a map; take the keys in order", at))
	}
	return findings, nil
}

// check type-checks a package and returns where it sums in the order of a map.
func check(p listed, export map[string]string) ([]token.Position, error) {
	files := token.NewFileSet()
	var syntax []*ast.File
	for _, name := range p.GoFiles {
		if !filepath.IsAbs(name) {
			name = filepath.Join(p.Dir, name)
		}
		f, err := parser.ParseFile(files, name, nil, 0)
		if err != nil {
			return nil, err
		}
		syntax = append(syntax, f)
	}
	lookup := func(path string) (io.ReadCloser, error) {
		if mapped, ok := p.ImportMap[path]; ok {
			path = mapped
		}
		return os.Open(export[path])
	}
	info := &types.Info{Types: map[ast.Expr]types.TypeAndValue{}, Defs: map[*ast.Ident]types.Object{}, Uses: map[*ast.Ident]types.Object{}}
	config := types.Config{Importer: importer.ForCompiler(files, "gc", lookup)}
	if _, err := config.Check(p.ImportPath, files, syntax, info); err != nil {
		return nil, err
	}
	var found []token.Position
	for _, f := range syntax {
		ast.Inspect(f, func(n ast.Node) bool {
			if loop, ok := n.(*ast.RangeStmt); ok && unordered(info, loop.X) {
				for _, at := range sums(info, loop) {
					found = append(found, files.Position(at))
				}
			}
			return true
		})
	}
	return found, nil
}

// unordered reports whether ranging over x has no order: x is a map, or an
// iterator of package maps.
func unordered(info *types.Info, x ast.Expr) bool {
	if t := info.TypeOf(x); t != nil {
		if _, ok := t.Underlying().(*types.Map); ok {
			return true
		}
	}
	return iterator(info, x) != ""
}

// iterator returns the name of the function of package maps that x calls.
func iterator(info *types.Info, x ast.Expr) string {
	if call, ok := ast.Unparen(x).(*ast.CallExpr); ok {
		if f, ok := call.Fun.(*ast.SelectorExpr); ok {
			if of := info.Uses[f.Sel]; of != nil && of.Pkg() != nil && of.Pkg().Path() == "maps" {
				return f.Sel.Name
			}
		}
	}
	return ""
}

// sums returns where a loop accumulates a number that outlives an iteration.
// Elements at the loop's key are another for each iteration.
func sums(info *types.Info, loop *ast.RangeStmt) (found []token.Pos) {
	ast.Inspect(loop.Body, func(n ast.Node) bool {
		s, ok := n.(*ast.AssignStmt)
		if !ok || len(s.Lhs) != 1 || !floating(info.TypeOf(s.Lhs[0])) {
			return true
		}
		to := ast.Unparen(s.Lhs[0])
		if root := rootOf(to); root != nil {
			if o := info.ObjectOf(root); o != nil && loop.Body.Pos() <= o.Pos() && o.Pos() < loop.Body.End() {
				return true // declared in the loop
			}
		}
		if element, ok := to.(*ast.IndexExpr); ok && loop.Key != nil && iterator(info, loop.X) != "Values" && types.ExprString(element.Index) == types.ExprString(loop.Key) {
			return true
		}
		switch s.Tok {
		case token.ADD_ASSIGN, token.SUB_ASSIGN, token.MUL_ASSIGN, token.QUO_ASSIGN:
			found = append(found, s.Pos())
		case token.ASSIGN:
			if sum, ok := ast.Unparen(s.Rhs[0]).(*ast.BinaryExpr); ok && mentions(sum, types.ExprString(to)) {
				found = append(found, s.Pos())
			}
		}
		return true
	})
	return found
}

// mentions reports whether an arithmetic expression has a term or factor that is
// written so.
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

func floating(t types.Type) bool {
	if t == nil {
		return false
	}
	basic, ok := t.Underlying().(*types.Basic)
	return ok && basic.Info()&(types.IsFloat|types.IsComplex) != 0
}
