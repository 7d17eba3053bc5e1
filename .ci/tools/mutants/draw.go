// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package main

import (
	"bytes"
	"errors"
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

type pkg struct {
	Dir, ImportPath                    string
	GoFiles, TestGoFiles, XTestGoFiles []string
	Imports, TestImports, XTestImports []string
	judges                             []string
}

type mutant struct {
	in                                    *pkg
	file, path, mutation, source, outcome string
	line, start, end                      int
	code                                  []byte
	text                                  string // in place of the code from start to end
}

var swaps = map[token.Token]token.Token{
	token.LSS: token.LEQ, token.LEQ: token.LSS, token.GTR: token.GEQ, token.GEQ: token.GTR,
	token.EQL: token.NEQ, token.NEQ: token.EQL, token.LAND: token.LOR, token.LOR: token.LAND,
	token.ADD: token.SUB, token.SUB: token.ADD, token.MUL: token.QUO, token.QUO: token.MUL,
	token.BREAK: token.CONTINUE, token.CONTINUE: token.BREAK,
}

// judgesOf returns the packages with tests, of the room, that reach p.
func judgesOf(p *pkg, packages []*pkg) (judges []string) {
	reached := []*pkg{p}
	for i := 0; i < len(reached); i++ {
		if len(reached[i].TestGoFiles)+len(reached[i].XTestGoFiles) > 0 {
			judges = append(judges, reached[i].ImportPath)
		}
		for _, q := range packages {
			imports := slices.Concat(q.Imports, q.TestImports, q.XTestImports)
			if slices.Contains(imports, reached[i].ImportPath) && !slices.Contains(reached, q) {
				reached = append(reached, q)
			}
		}
	}
	return judges
}

func mutantsOf(p *pkg) (found []*mutant, err error) {
	for _, name := range p.GoFiles {
		file := filepath.Join(p.Dir, name)
		path, pathErr := filepath.Rel(root, file)
		code, readErr := os.ReadFile(file)
		files := token.NewFileSet()
		parsed, parseErr := parser.ParseFile(files, file, code, parser.ParseComments|parser.SkipObjectResolution)
		if err := errors.Join(pathErr, readErr, parseErr); err != nil {
			return nil, err
		}
		if ast.IsGenerated(parsed) {
			continue
		}
		at := func(p token.Pos) int { return int(p - parsed.FileStart) }
		lines, within := strings.Split(string(code), "\n"), ""
		add := func(from, to token.Pos, text, mutation string) {
			line := files.PositionFor(from, false).Line
			found = append(found, &mutant{
				in: p, file: file, path: path, mutation: mutation + within, source: strings.TrimSpace(lines[line-1]),
				line: line, start: at(from), end: at(to), code: code,
				text: strings.Replace(text, "OLD", string(code[at(from):at(to)]), 1),
			})
		}
		for _, d := range parsed.Decls {
			switch d := d.(type) {
			case *ast.GenDecl:
				if within = ""; d.Tok == token.CONST && bytes.Contains(code[at(d.Pos()):at(d.End())], []byte("iota")) {
					continue
				}
			case *ast.FuncDecl:
				within = " in " + d.Name.Name
				if d.Recv != nil {
					within = " in " + strings.TrimPrefix(types.ExprString(d.Recv.List[0].Type), "*") + "." + d.Name.Name
				}
			}
			ast.Inspect(d, func(n ast.Node) bool { return mutate(n, add) })
		}
	}
	return found, nil
}

func mutate(n ast.Node, add func(from, to token.Pos, text, mutation string)) bool {
	swap := func(at token.Pos, op token.Token) {
		if other, ok := swaps[op]; ok {
			add(at, at+token.Pos(len(op.String())), other.String(), op.String()+" to "+other.String())
		}
	}
	switch n := n.(type) {
	case *ast.ArrayType:
		return false
	case *ast.BinaryExpr:
		if n.Op != token.ADD || !isText(n.X) && !isText(n.Y) {
			swap(n.OpPos, n.Op)
		}
	case *ast.BranchStmt:
		swap(n.TokPos, n.Tok)
	case *ast.IfStmt:
		// A negated comparison is a mutant already.
		if c, ok := n.Cond.(*ast.BinaryExpr); !ok || c.Op != token.EQL && c.Op != token.NEQ {
			add(n.Cond.Pos(), n.Cond.End(), "!(OLD)", "negated if")
		}
	case *ast.BasicLit:
		if v, err := strconv.ParseInt(n.Value, 0, 64); n.Kind == token.INT && err == nil {
			text := strconv.FormatInt(v+1, 10)
			add(n.Pos(), n.End(), text, n.Value+" to "+text)
		}
	case *ast.ReturnStmt:
		for _, result := range n.Results {
			if id, ok := result.(*ast.Ident); ok && (id.Name == "true" || id.Name == "false") {
				add(id.Pos(), id.End(), "!OLD", id.Name+" to !"+id.Name)
			}
		}
	case *ast.BlockStmt:
		remove(n.List, add)
	case *ast.CaseClause:
		remove(n.Body, add)
	case *ast.CommClause:
		remove(n.Body, add)
	}
	return true
}

// remove leaves what is removed to the compiler, so that nothing is unused. The head of a
// loop stays, for without its last part most loops are endless.
func remove(list []ast.Stmt, add func(from, to token.Pos, text, mutation string)) {
	for _, stmt := range list {
		removed := false
		switch stmt := stmt.(type) {
		case *ast.ExprStmt, *ast.DeferStmt, *ast.IncDecStmt:
			removed = true
		case *ast.AssignStmt:
			removed = stmt.Tok != token.ASSIGN && stmt.Tok != token.DEFINE
		}
		if removed {
			add(stmt.Pos(), stmt.End(), "if false { OLD }", "removed statement")
		}
	}
}

func isText(e ast.Expr) bool {
	l, ok := e.(*ast.BasicLit)
	return ok && l.Kind == token.STRING
}
