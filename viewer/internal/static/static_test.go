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
