// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package static

import (
	"flag"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "write texts.md")

// texts.md lists every text of the page, for readers and for the lint of words.
func TestTexts(t *testing.T) {
	found := map[string]bool{}
	files, err := filepath.Glob("*.js")
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	for _, file := range files {
		src, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		scriptTexts(string(src), found)
	}
	for _, m := range regexp.MustCompile(`>([^<>]+)<|(?:aria-label|title|placeholder)="([^"]+)"`).FindAllStringSubmatch(string(Page()), -1) {
		if text := strings.TrimSpace(m[1] + m[2]); text != "" {
			found[text] = true
		}
	}
	got := "# The texts of the page\n\n`go test ./viewer/internal/static -update` writes this list. A dot stands for a value.\n\n- " + strings.Join(slices.Sorted(maps.Keys(found)), "\n- ") + "\n"
	if *update {
		if err := os.WriteFile("texts.md", []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile("texts.md")
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("texts.md (-want +got, -update writes it):\n%s", diff)
	}
}

var (
	// notText precedes names of classes, selectors, fonts, keys and headers.
	notText = regexp.MustCompile(`(class|className|role|type|rel|target|FONT|font|name|method|cls|'data-key'|dataset\.\w+)\s*[:=]\s*$|(class|font)\b[^,{}]*\? $|(===|!==) $|\b(querySelector|querySelectorAll|closest|addEventListener|getPropertyValue|getContext|matchMedia|toLocale\w+|get|has|set|delete|go|remember|case|startsWith|endsWith|createElement|setAttribute|append|h|link|matches)\s*\(?\s*$`)
	// words begin with a capital, or are several, or stand beside a value.
	words = regexp.MustCompile(`^[(←]? ?[A-Z][a-z]+( .*|[.:]?)$|[a-z]{2,},? [a-z(]|^\([a-z]+\)$|(^|[ (])[a-z]{2,}:? •|• [a-z]+( |$)`)
	// child precedes a text of an element.
	child  = regexp.MustCompile(`(\bnull|\}), $`)
	letter = regexp.MustCompile(`[a-z]{2}`)
	styled = regexp.MustCompile(`^[a-z-]+( [a-z-]+)*$`)
	escape = strings.NewReplacer(`\u2026`, "…", `\u2013`, "–", `\u2019`, "’", `\u201c`, "“", `\u201d`, "”", `\u00b1`, "±", `\u00b7`, "·", `\u2190`, "←", `\u2192`, "→", `\u2265`, "≥", `\'`, "'", `\n`, " ")
)

// scriptTexts adds the texts of a script. Values in templates are a dot.
func scriptTexts(src string, found map[string]bool) {
	for i := 0; i < len(src); i++ {
		switch c := src[i]; {
		case strings.HasPrefix(src[i:], "//"):
			i += strings.IndexByte(src[i:]+"\n", '\n')
		case c == '/' && expression.MatchString(src[max(0, i-3):i]):
			i = expressionEnd(src, i)
		case c == '\'' || c == '`' || c == '"':
			start := i
			var text strings.Builder
			for i++; i < len(src) && src[i] != c; i++ {
				switch {
				case src[i] == '\\':
					text.WriteString(src[i : i+2])
					i++
				case c == '`' && strings.HasPrefix(src[i:], "${"):
					end := closing(src, i+2)
					scriptTexts(src[i+2:end], found)
					text.WriteString("•")
					i = end
				default:
					text.WriteByte(src[i])
				}
			}
			plain := strings.TrimSpace(escape.Replace(text.String()))
			isImport := strings.HasPrefix(plain, "./") || strings.Contains(plain, "px ")
			before := src[max(0, start-60):start]
			isClass := styled.MatchString(plain) && strings.Contains(src[max(0, start-90):start], "class")
			before = before[strings.LastIndexByte(before, '\n')+1:]
			isText := words.MatchString(plain) && !isClass && !notText.MatchString(before)
			if !isImport && (isText || child.MatchString(before) && letter.MatchString(plain)) {
				found[plain] = true
			}
		}
	}
}

// expression is the text before a regular expression.
var expression = regexp.MustCompile(`[(,=:\[!&|?] ?$`)

// expressionEnd returns the index of the slash that ends a regular expression.
func expressionEnd(src string, i int) int {
	for i++; src[i] != '/'; i++ {
		switch src[i] {
		case '\\':
			i++
		case '[':
			for ; src[i] != ']'; i++ {
				if src[i] == '\\' {
					i++
				}
			}
		}
	}
	return i
}

// closing returns the index of the brace that ends a value of a template.
func closing(src string, i int) int {
	for depth := 1; i < len(src); i++ {
		switch src[i] {
		case '{':
			depth++
		case '}':
			if depth--; depth == 0 {
				return i
			}
		case '/':
			if expression.MatchString(src[max(0, i-3):i]) {
				i = expressionEnd(src, i)
			}
		case '\'', '`', '"':
			for quote := src[i]; ; {
				if i++; src[i] == quote {
					break
				} else if src[i] == '\\' {
					i++
				} else if quote == '`' && strings.HasPrefix(src[i:], "${") {
					i = closing(src, i+2)
				}
			}
		}
	}
	return i
}
