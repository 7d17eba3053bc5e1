// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package static

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// Browsers get the lines of scripts in their places, without comments and indentation.
func TestStripped(t *testing.T) {
	script := "// About it.\nconst a = 'http://a'; // Not a line of its own.\n\t// More.\n  const b = 1;\n\n"
	if got := string(stripped("a.js", []byte(script))); got != "\nconst a = 'http://a'; // Not a line of its own.\n\nconst b = 1;\n\n" {
		t.Errorf("of the script %q is left", got)
	}
	if got := string(stripped("a.css", []byte("/* About\nit */\na {\n  b: c  d;\n}\n/* b */ b { }\n"))); got != "\na {\nb: c  d;\n}\n b { }\n" {
		t.Errorf("of the style sheet %q is left", got)
	}
	names, err := filepath.Glob("*.js")
	if err != nil || len(names) == 0 {
		t.Fatal(names, err)
	}
	for _, name := range names {
		body, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		for i, line := range strings.Split(string(body), "\n") {
			if strings.Count(line, "`")%2 == 1 {
				t.Errorf("%s:%d: a text over several lines would lose its indentation, and lines that read like comments", name, i+1)
			}
		}
	}
}

// TestImports finds an import of what is not there, which a browser answers with an empty page.
func TestImports(t *testing.T) {
	scripts, err := filepath.Glob("*.js")
	if err != nil || len(scripts) == 0 {
		t.Fatalf("there are %d scripts, error %v", len(scripts), err)
	}
	for _, script := range scripts {
		text, err := os.ReadFile(script)
		if err != nil {
			t.Fatal(err)
		}
		var imports [][3]string // the names, what gives one another name, the script
		for _, m := range regexp.MustCompile(`import (?:{ (.*) } from )?'\./(.*)';`).FindAllStringSubmatch(string(text), -1) {
			imports = append(imports, [3]string{m[1], " as ", m[2]})
		}
		late := regexp.MustCompile(`\bimport\('\./([^']*)'\)\.then\(\({ ([^}]*) }\) =>`).FindAllStringSubmatch(string(text), -1)
		for _, m := range late {
			imports = append(imports, [3]string{m[2], ": ", m[1]})
		}
		if all := regexp.MustCompile(`\bimport\(`).FindAllIndex(text, -1); len(all) != len(late) {
			t.Errorf("%s: %d of %d calls of import are not as import('./a.js').then(({ a }) => …), whose names can be looked up", script, len(all)-len(late), len(all))
		}
		for _, m := range imports {
			from, err := os.ReadFile(m[2])
			if err != nil {
				t.Errorf("%s: %v", script, err)
				continue
			}
			for imported := range strings.SplitSeq(m[0], ", ") {
				exported, name, renamed := strings.Cut(imported, m[1])
				if !renamed {
					name = exported
				}
				if !regexp.MustCompile(`export (async )?(const|function|class) ` + exported + `\b`).Match(from) {
					t.Errorf("%s imports %s, which %s does not export", script, exported, m[2])
				}
				if len(regexp.MustCompile(`\b`+name+`\b`).FindAllIndex(text, 2)) < 2 {
					t.Errorf("%s imports %s and does not use it", script, name)
				}
			}
		}
	}
}
