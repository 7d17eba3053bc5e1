// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package static

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"html"
	"io/fs"
	"regexp"
	"strings"
)

// Frozen returns the page as one file, with its style, its scripts and the answers inline. answers
// is a JSON object with an answer by address. start is the address of the first
// page. The answers must have no "<", as encoding/json writes them.
func Frozen(start string, answers []byte) []byte {
	page := string(Page())
	for _, link := range []string{`<link rel="stylesheet" href="style.css">`, `<script type="module" src="app.js"></script>`} {
		page = strings.Replace(page, link, "", 1)
	}
	style, script := styles(), scripts()
	policy := fmt.Sprintf("default-src 'none'; script-src '%s'; style-src '%s'; img-src data:; base-uri 'none'; form-action 'none'", hash(script), hash(style))
	page = strings.Replace(page, `<meta charset="utf-8">`, `<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="`+policy+`">
<style>`+style+`</style>`, 1)
	return []byte(strings.Replace(page, "</body>", `<script type="application/json" id="frozen" data-page="`+html.EscapeString(start)+`">`+string(answers)+`</script>
<script type="module">`+script+`</script>
</body>`, 1))
}

func hash(text string) string {
	sum := sha256.Sum256([]byte(text))
	return "sha256-" + base64.StdEncoding.EncodeToString(sum[:])
}

func read(name string) []byte {
	body, _ := files.ReadFile(name) // An embedded file is always there.
	return body
}

func styles() string {
	var all bytes.Buffer
	names, _ := fs.Glob(files, "*.css") // The pattern is valid.
	for _, name := range names {
		all.Write(read(name))
	}
	return all.String()
}

var (
	importPattern = regexp.MustCompile(`(?m)^import (\{[^}]*\}) from '\./(\w+)\.js';`)
	exportPattern = regexp.MustCompile(`(?m)^export ((?:async )?(?:const|function|class) (\w+))`)
)

// scripts returns app.js and all that it imports as one script. Each module becomes a function
// that returns its exports, behind the modules that it imports.
func scripts() string {
	var all strings.Builder
	added := map[string]bool{}
	var add func(name string)
	add = func(name string) {
		if added[name] {
			return
		}
		added[name] = true
		body := string(read(name + ".js"))
		for _, m := range importPattern.FindAllStringSubmatch(body, -1) {
			add(m[2])
		}
		var exported []string
		for _, m := range exportPattern.FindAllStringSubmatch(body, -1) {
			exported = append(exported, m[2])
		}
		body = importPattern.ReplaceAllStringFunc(body, func(line string) string {
			m := importPattern.FindStringSubmatch(line)
			return "const " + strings.ReplaceAll(m[1], " as ", ": ") + " = module_" + m[2] + ";"
		})
		body = exportPattern.ReplaceAllString(body, "$1")
		fmt.Fprintf(&all, "const module_%s = (() => {\n%s\nreturn { %s };\n})();\n", name, body, strings.Join(exported, ", "))
	}
	add("app")
	return all.String()
}
