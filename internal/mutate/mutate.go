package main

import (
	"bytes"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"slices"
	"strings"
)

// A mutant is one change of a file's text.
type mutant struct {
	file     string
	line     int
	at       int    // the line that tests reach: for a case's it is that of its switch
	from, to int    // the bytes that are replaced
	text     string // what replaces them
	change   string // for a reader
}

func (m mutant) String() string { return fmt.Sprintf("%s:%d: %s", m.file, m.line, m.change) }

// apply returns the file's text with the change.
func (m mutant) apply(source []byte) []byte {
	return slices.Concat(source[:m.from], []byte(m.text), source[m.to:])
}

// swaps are the operators that take each other's place. A comparison has two mutants:
// its boundary and its negation.
var swaps = map[token.Token][]token.Token{
	token.LSS: {token.LEQ, token.GEQ}, token.LEQ: {token.LSS, token.GTR},
	token.GTR: {token.GEQ, token.LEQ}, token.GEQ: {token.GTR, token.LSS},
	token.EQL: {token.NEQ}, token.NEQ: {token.EQL}, token.LAND: {token.LOR}, token.LOR: {token.LAND},
	token.ADD: {token.SUB}, token.SUB: {token.ADD}, token.MUL: {token.QUO}, token.QUO: {token.MUL}, token.REM: {token.QUO},
	token.AND: {token.OR}, token.OR: {token.AND}, token.XOR: {token.AND}, token.AND_NOT: {token.AND},
	token.SHL: {token.SHR}, token.SHR: {token.SHL}, token.INC: {token.DEC}, token.DEC: {token.INC},
	token.ADD_ASSIGN: {token.SUB_ASSIGN}, token.SUB_ASSIGN: {token.ADD_ASSIGN},
	token.MUL_ASSIGN: {token.QUO_ASSIGN}, token.QUO_ASSIGN: {token.MUL_ASSIGN},
	token.AND_ASSIGN: {token.OR_ASSIGN}, token.OR_ASSIGN: {token.AND_ASSIGN}, token.XOR_ASSIGN: {token.AND_ASSIGN},
	token.SHL_ASSIGN: {token.SHR_ASSIGN}, token.SHR_ASSIGN: {token.SHL_ASSIGN},
}

// mutants returns the mutants of a file in the order of its text, none of a generated one.
func mutants(name string, source []byte) (found []mutant, err error) {
	files := token.NewFileSet()
	file, err := parser.ParseFile(files, name, source, parser.ParseComments|parser.SkipObjectResolution)
	if err != nil || ast.IsGenerated(file) {
		return nil, err
	}
	at := func(p token.Pos) int { return files.Position(p).Offset }
	var stack []ast.Node
	replace := func(from, to token.Pos, text string) {
		if ofACapacity(stack, from) {
			return
		}
		m := mutant{file: name, line: files.Position(from).Line, from: at(from), to: at(to), text: text}
		m.at = files.Position(reachedAt(stack, from)).Line
		begin := bytes.LastIndexByte(source[:m.from], '\n') + 1
		first, _, _ := bytes.Cut(source[begin:], []byte("\n"))
		m.change = "without " + strings.TrimSpace(string(first))
		if text != "" && m.to <= begin+len(first) {
			after := mutant{from: m.from - begin, to: m.to - begin, text: text}.apply(first)
			m.change = strings.TrimSpace(string(first)) + " → " + strings.TrimSpace(string(after))
		} else if text != "" {
			m.change = strings.TrimSpace(string(first)) + " … → " + text
		}
		found = append(found, m)
	}
	swap := func(at token.Pos, operator token.Token) {
		for _, other := range swaps[operator] {
			replace(at, at+token.Pos(len(operator.String())), other.String())
		}
	}
	drop := func(n ast.Node) { replace(n.Pos(), n.End(), "") }
	text := func(n ast.Node) string { return string(source[at(n.Pos()):at(n.End())]) }
	ast.Inspect(file, func(n ast.Node) bool {
		switch n := n.(type) {
		case nil:
			stack = stack[:len(stack)-1]
			return true
		case *ast.ImportSpec:
			return false
		case *ast.BinaryExpr:
			swap(n.OpPos, n.Op)
		case *ast.UnaryExpr:
			if n.Op == token.SUB || n.Op == token.NOT {
				replace(n.Pos(), n.X.Pos(), " ")
			}
		case *ast.BasicLit:
			if besideAnError(stack, n) {
				break
			}
			if n.Kind == token.INT || n.Kind == token.FLOAT {
				replace(n.Pos(), n.End(), "("+n.Value+" + 1)")
			}
		case *ast.Ident:
			if other := map[string]string{"true": "false", "false": "true"}[n.Name]; other != "" {
				replace(n.Pos(), n.End(), other)
			}
		case *ast.IfStmt:
			switch x := n.Cond.(type) { // the negation of others is among their own mutants
			case *ast.Ident, *ast.CallExpr, *ast.SelectorExpr, *ast.IndexExpr:
				replace(x.Pos(), x.End(), "!"+text(x))
			}
		case *ast.IncDecStmt:
			swap(n.TokPos, n.Tok)
		case *ast.AssignStmt:
			swap(n.TokPos, n.Tok)
			if n.Tok != token.DEFINE && text(n.Lhs[0]) != "_" {
				drop(n)
			}
		case *ast.ExprStmt, *ast.DeferStmt, *ast.GoStmt:
			drop(n)
		case *ast.ReturnStmt:
			if last := len(n.Results) - 1; last >= 0 && text(n.Results[last]) != "nil" && returnsError(stack) {
				replace(n.Results[last].Pos(), n.Results[last].End(), "nil")
			}
		}
		stack = append(stack, n)
		return true
	})
	slices.SortStableFunc(found, func(a, b mutant) int { return a.from - b.from })
	return found, nil
}

// returnsError reports whether the last result of the innermost function is an error.
func returnsError(stack []ast.Node) bool {
	for _, n := range slices.Backward(stack) {
		var of *ast.FuncType
		switch n := n.(type) {
		case *ast.FuncDecl:
			of = n.Type
		case *ast.FuncLit:
			of = n.Type
		default:
			continue
		}
		if of.Results == nil {
			return false
		}
		name, ok := of.Results.List[len(of.Results.List)-1].Type.(*ast.Ident)
		return ok && name.Name == "error"
	}
	return false
}

// ofACapacity reports whether a place is in the capacity of a slice: memory, no more.
func ofACapacity(stack []ast.Node, place token.Pos) bool {
	return slices.ContainsFunc(stack, func(n ast.Node) bool {
		call, ok := n.(*ast.CallExpr)
		if !ok || len(call.Args) != 3 || call.Args[2].Pos() > place {
			return false
		}
		f, ok := call.Fun.(*ast.Ident)
		return ok && f.Name == "make"
	})
}

// reachedAt returns where a test is when it comes to a place: it comes to what stands
// between case and the colon by way of the switch, whichever case it takes.
func reachedAt(stack []ast.Node, place token.Pos) token.Pos {
	for i, n := range stack {
		if c, ok := n.(*ast.CaseClause); ok && place < c.Colon {
			return stack[i-2].Pos() // the switch, around its block
		}
	}
	return place
}

// besideAnError reports whether a value is returned beside an error that was seen, or is made
// there: nobody reads it.
func besideAnError(stack []ast.Node, n ast.Node) bool {
	r, ok := stack[len(stack)-1].(*ast.ReturnStmt)
	if !ok || len(r.Results) < 2 || n == r.Results[len(r.Results)-1] || !returnsError(stack) {
		return false
	}
	switch last := r.Results[len(r.Results)-1].(type) {
	case *ast.CallExpr:
		f, ok := last.Fun.(*ast.SelectorExpr)
		return ok && (f.Sel.Name == "Errorf" || f.Sel.Name == "New")
	case *ast.Ident:
		if len(stack) < 3 || last.Name == "nil" {
			return false
		}
		seen, ok := stack[len(stack)-3].(*ast.IfStmt) // around its block
		if !ok {
			return false
		}
		cond, ok := seen.Cond.(*ast.BinaryExpr)
		if !ok || cond.Op != token.NEQ {
			return false
		}
		x, ok := cond.X.(*ast.Ident)
		return ok && x.Name == last.Name
	}
	return false
}
