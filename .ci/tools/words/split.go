// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"go/ast"
	"go/parser"
	"go/token"
	"html"
	"path"
	"regexp"
	"strconv"
	"strings"
)

// piece is text without markup. A NUL or a blank line ends a sentence.
type piece struct {
	line  int // of the first line
	text  string
	prose bool // sentences have a limit
}

// split returns the pieces of a file. Other types of files have none.
func split(p, src string) ([]piece, error) {
	if strings.Contains("/"+p, "/testdata/") || strings.Contains("/"+p, "/vendor/") || strings.Contains(p, ".min.") {
		return nil, nil
	}
	switch path.Ext(p) {
	case ".go":
		return splitGo(p, src)
	case ".js":
		return splitJS(p, src), nil
	case ".css":
		return matches(src, cssComment, comment), nil
	case ".html":
		return matches(src, htmlPart, splitHTML), nil
	case ".md":
		return prose(1, strings.Split(src, "\n")), nil
	case ".yml", ".yaml", ".service", ".alloy", ".sh", "":
		return matches(src, hashComment, func(line int, text string) []piece {
			return prose(line, strings.Split(hash.ReplaceAllString(text, ""), "\n"))
		}), nil
	}
	return nil, nil
}

func splitGo(p, src string) (pieces []piece, err error) {
	files := token.NewFileSet()
	file, err := parser.ParseFile(files, p, src, parser.ParseComments|parser.SkipObjectResolution)
	if err != nil || ast.IsGenerated(file) {
		return nil, err
	}
	isTest := strings.HasSuffix(p, "_test.go")
	var cgo *ast.CommentGroup
	ast.Inspect(file, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.GenDecl:
			for _, s := range n.Specs {
				if i, ok := s.(*ast.ImportSpec); ok && i.Path.Value == `"C"` {
					cgo = n.Doc // its text is C
				}
			}
			return n.Tok != token.IMPORT
		case *ast.CallExpr:
			s, ok := n.Fun.(*ast.SelectorExpr)
			if !ok {
				break
			}
			x, ok := s.X.(*ast.Ident)
			return !ok || x.Name != "regexp"
		case *ast.StructType:
			for _, f := range n.Fields.List {
				f.Tag = nil
			}
		case *ast.BasicLit:
			if n.Kind == token.STRING && !isTest {
				pieces = append(pieces, literal(files.Position(n.Pos()).Line, n.Value)...)
			}
		}
		return true
	})
	for _, g := range file.Comments {
		if g != cgo {
			start, end := files.Position(g.Pos()), files.Position(g.End())
			pieces = append(pieces, comment(start.Line, src[start.Offset:end.Offset])...)
		}
	}
	return pieces, nil
}

// literal keeps the lines of a raw string. Escaped newlines are not lines of the file.
func literal(line int, quoted string) []piece {
	text, err := strconv.Unquote(quoted)
	if err != nil {
		text = strings.Trim(quoted, `'"`)
	}
	if quoted[0] != '`' {
		text = strings.ReplaceAll(text, "\n", "\x00")
	}
	if wordCount(text) < 2 {
		return nil
	}
	return []piece{{line, text, false}}
}

var (
	// Regular expressions follow an operator. They may have quotes.
	jsPart = regexp.MustCompile("(?m)^[ \t]*//.*(?:\n[ \t]*//.*)*|//.*|/\\*(?s:.*?)\\*/" +
		"|'(?:\\\\.|[^'\\\\\n])*'|\"(?:\\\\.|[^\"\\\\\n])*\"|`(?s:\\\\.|[^`\\\\])*`" +
		"|(?:[(,=:\\[!&|?{};>]|return)\\s*/(?:\\\\.|\\[(?:\\\\.|[^\\]\\\\\n])*\\]|[^*/\\\\\n\\[])(?:\\\\.|\\[(?:\\\\.|[^\\]\\\\\n])*\\]|[^/\\\\\n\\[])*/")
	jsValue     = regexp.MustCompile(`\$\{[^}]*\}?`)
	hashComment = regexp.MustCompile(`(?m)(?:^[ \t]*# .*\n?)+|[ \t]# [^"'\n]*$`)
	hash        = regexp.MustCompile(`(?m)^[ \t]*#[ \t]?`)
	cssComment  = regexp.MustCompile(`(?s)/\*.*?\*/`)
	htmlPart    = regexp.MustCompile(`(?is)<!--.*?-->|<script\b.*?</script>|<style\b.*?</style>|<[^>]*>|[^<]+`)
	htmlText    = regexp.MustCompile(`(?i)\b(?:alt|aria-label|content|placeholder|title)="([^"]*)"`)
)

// matches calls f with the line and the text of each match.
func matches(src string, r *regexp.Regexp, f func(line int, text string) []piece) (pieces []piece) {
	for _, m := range r.FindAllStringIndex(src, -1) {
		pieces = append(pieces, f(1+strings.Count(src[:m[0]], "\n"), src[m[0]:m[1]])...)
	}
	return pieces
}

func splitJS(p, src string) []piece {
	isTest := strings.HasSuffix(p, ".test.js")
	return matches(src, jsPart, func(line int, text string) []piece {
		trimmed := strings.TrimSpace(text)
		switch {
		case strings.HasPrefix(trimmed, "//"), strings.HasPrefix(trimmed, "/*"):
			return comment(line, text)
		case strings.ContainsAny(text[:1], "'\"`") && !isTest:
			return literal(line, jsValue.ReplaceAllString(text, "0"))
		}
		return nil
	})
}

func splitHTML(line int, text string) (pieces []piece) {
	switch {
	case strings.HasPrefix(text, "<!--"):
		return prose(line, strings.Split(strings.Trim(text, "<!->"), "\n"))
	case text[0] != '<':
		return []piece{{line, html.UnescapeString(text), false}}
	}
	return matches(text, htmlText, func(i int, attribute string) []piece {
		_, value, _ := strings.Cut(attribute, "=")
		return literal(line+i-1, value)
	})
}

var (
	marker    = regexp.MustCompile(`^\s*(?://|/\*+|\*/|\* )|\*/$`)
	directive = regexp.MustCompile(`^\s*//(?:[a-z0-9]+:[a-z0-9]|nolint|line |export )`)
	license   = regexp.MustCompile(`^\s*(?:Copyright |SPDX-)`)
	output    = regexp.MustCompile(`(?i)^\s*(?:unordered )?output:`)
	listItem  = regexp.MustCompile(`^\s*(?:[-*+]|\d+[.)])\s`)
)

// comment removes what is no prose: markers, directives, an example's output.
func comment(line int, text string) []piece {
	lines := strings.Split(text, "\n")
	for i, l := range lines {
		isDirective := directive.MatchString(l)
		isBlock := !strings.HasPrefix(strings.TrimSpace(l), "//")
		l = marker.ReplaceAllString(l, "")
		if isBlock {
			l = strings.TrimSpace(l)
		}
		if output.MatchString(l) {
			return prose(line, lines[:i])
		}
		if isDirective || license.MatchString(l) {
			l = ""
		}
		lines[i] = l
	}
	return prose(line, lines)
}

// prose blanks code. List items and tables are pieces without a limit for sentences.
func prose(line int, lines []string) (pieces []piece) {
	var inFence, inList bool
	for i, l := range lines {
		indented := strings.HasPrefix(l, "  ") || strings.HasPrefix(l, "\t")
		trimmed := strings.TrimSpace(l)
		isFence := strings.HasPrefix(trimmed, "```") || strings.HasPrefix(trimmed, "~~~")
		isTable := strings.HasPrefix(trimmed, "|")
		switch {
		case isFence:
			inFence = !inFence
			l = ""
		case inFence:
			l = ""
		case isTable:
			l = strings.ReplaceAll(l, "|", "\x00")
		case strings.HasPrefix(trimmed, "#"):
			l = "\x00" + l + "\x00"
		case listItem.MatchString(l) && !strings.HasPrefix(l, "\t"):
			inList = true
			l = "\x00" + l
		case inList && trimmed != "" && !indented:
			inList = false
		case !inList && (strings.HasPrefix(l, "\t") || strings.HasPrefix(l, "    ")):
			l = ""
		}
		limit := !inList && !isTable
		if n := len(pieces); n == 0 || pieces[n-1].prose != limit {
			pieces = append(pieces, piece{line + i, l, limit})
		} else {
			pieces[n-1].text += "\n" + l
		}
	}
	return pieces
}
