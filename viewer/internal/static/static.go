// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

// Package static has the page's files: HTML, CSS and JavaScript. They read the JSON of
// package answer, and load nothing from outside.
package static

import (
	"bytes"
	"crypto/sha256"
	"embed"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"html"
	"net/http"
	"path"
	"regexp"
	"strings"
	"time"
)

//go:embed *.html *.css *.js
var files embed.FS

// Page returns the HTML of the page. It is the same for every address: its script reads
// the address and fetches the data as JSON.
func Page() []byte { return []byte(read("index.html")) }

func read(name string) string {
	body, _ := files.ReadFile(name) // An embedded file is always there.
	return string(body)
}

// Asset returns a handler of a file that the page loads, nil if there is no such file.
func Asset(name string) http.HandlerFunc {
	body, err := files.ReadFile(name)
	if err != nil || name == "index.html" {
		return nil
	}
	sum := sha256.Sum256(body)
	return func(w http.ResponseWriter, r *http.Request) {
		// The names carry no version: a browser revalidates each time, and gets a 304.
		w.Header().Set("Cache-Control", "no-cache")
		w.Header().Set("ETag", `"`+hex.EncodeToString(sum[:8])+`"`)
		// Types must not depend on the machine's own table of types.
		w.Header().Set("Content-Type", "text/javascript; charset=utf-8")
		if path.Ext(name) == ".css" {
			w.Header().Set("Content-Type", "text/css; charset=utf-8")
		}
		http.ServeContent(w, r, name, time.Time{}, bytes.NewReader(body))
	}
}

// Frozen returns the page as one file, with its style, its scripts and the answers inline. answers
// is a JSON object with an answer by address. start is the address of the first
// page. The answers must have no "<", as encoding/json writes them.
func Frozen(start string, answers []byte) []byte {
	page := read("index.html")
	for _, link := range []string{`<link rel="stylesheet" href="style.css">`, `<script type="module" src="app.js"></script>`} {
		page = strings.Replace(page, link, "", 1)
	}
	style, script := read("style.css"), scripts()
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
		body := read(name + ".js")
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
