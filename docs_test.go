// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package spanprof_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

var (
	links    = regexp.MustCompile(`\]\(([^)\s]+)\)`)
	headings = regexp.MustCompile(`(?m)^#+ (.*)$`)
	marks    = regexp.MustCompile(`[^a-z0-9 _-]`)
)

// anchors returns the fragments of a document's headings, as GitHub makes them.
func anchors(text string) map[string]bool {
	found := map[string]bool{"": true}
	for _, h := range headings.FindAllStringSubmatch(text, -1) {
		found[strings.ReplaceAll(marks.ReplaceAllString(strings.ToLower(h[1]), ""), " ", "-")] = true
	}
	return found
}

// packages are the directories of the packages that documents name.
var packages = map[string]string{
	"spanprof": ".", "inprocess": "inprocess", "profiler": "profiler", "profhttp": "profhttp", "store": "store", "viewer": "viewer",
	"exporter": "exporter", "pyroscope": "exporter/pyroscope", "otlp": "exporter/otlp", "otlpgrpc": "exporter/otlp/otlpgrpc",
	"meter": "exporter/meter", "exectrace": "exectrace", "receiver": "ebpfbridge/receiver", "spanproftest": "spanproftest",
}

var qualified = regexp.MustCompile(`\b([a-z]+)\.([A-Z]\w*)`)

// Each name of a package that a document has in code exists.
func TestNamesInDocuments(t *testing.T) {
	names := make(map[string]string)
	for name, dir := range packages {
		names[name] = strings.Join(publicNames(t, dir), "\n")
	}
	checked := 0
	eachDocument(t, func(path, text string) {
		for _, q := range qualified.FindAllStringSubmatch(text, -1) {
			known, ok := names[q[1]]
			if !ok {
				continue
			}
			checked++
			if !regexp.MustCompile(`\b` + q[2] + `\b`).MatchString(known) {
				t.Errorf("%s: %s does not exist", path, q[0])
			}
		}
	})
	if checked < 50 {
		t.Errorf("only %d names were found", checked)
	}
}

// README's quick start is the code of examples/http, comments left out.
func TestQuickStart(t *testing.T) {
	code := func(text string) string {
		text = regexp.MustCompile(`(?m)\s*//.*$`).ReplaceAllString(text, "")
		return regexp.MustCompile(`(?m)^\s+`).ReplaceAllString(text, "")
	}
	var snippet, program string
	eachDocument(t, func(path, text string) {
		if path == "README.md" {
			_, text, _ = strings.Cut(text, "```go\n")
			snippet, _, _ = strings.Cut(text, "```")
		}
	})
	text, err := os.ReadFile("examples/http/main.go")
	if err != nil {
		t.Fatal(err)
	}
	snippet, program = code(snippet), code(string(text))
	if n := strings.Count(snippet, "\n"); n < 5 || n > 20 || !strings.Contains(program, snippet) {
		t.Errorf("examples/http/main.go does not have these %d lines:\n%s", n, snippet)
	}
}

// Each example has a row in the README of examples, a test and at most 80 lines; the quickstart 160.
func TestExamples(t *testing.T) {
	read := func(patterns ...string) (all string) {
		for _, pattern := range patterns {
			files, err := filepath.Glob(pattern)
			if err != nil || len(files) == 0 {
				t.Fatalf("%s: %d files, %v", pattern, len(files), err)
			}
			for _, file := range files {
				text, err := os.ReadFile(file)
				if err != nil {
					t.Fatal(err)
				}
				all += string(text)
			}
		}
		return all
	}
	rows, tests := read("examples/README.md"), read("examples/*_test.go", "internal/integration/*_test.go")
	programs, err := filepath.Glob("examples/*/*.go")
	if err != nil || len(programs) < 17 {
		t.Fatalf("%d programs, %v", len(programs), err)
	}
	for _, program := range programs {
		name := filepath.Base(filepath.Dir(program))
		if !strings.Contains(rows, "| ["+name+"](") {
			t.Errorf("examples/README.md has no row for %s", name)
		}
		if !strings.Contains(tests, `"`+name+`"`) && !strings.Contains(tests, `"./`+name+`"`) {
			t.Errorf("no test runs %s", name)
		}
		if n := strings.Count(read(program), "\n"); n > 80 && (name != "quickstart" || n > 160) {
			t.Errorf("%s has %d lines", program, n)
		}
	}
}

// Each link of a document to a file, and to a heading in it, leads somewhere.
func TestDocuments(t *testing.T) {
	checked := 0
	eachDocument(t, func(path, text string) {
		for _, link := range links.FindAllStringSubmatch(text, -1) {
			if strings.Contains(link[1], "://") {
				continue
			}
			checked++
			file, fragment, _ := strings.Cut(link[1], "#")
			target := path
			if file != "" {
				target = filepath.Join(filepath.Dir(path), file)
			}
			if info, err := os.Stat(target); err == nil && info.IsDir() {
				continue
			}
			content, err := os.ReadFile(target)
			if err != nil {
				t.Errorf("%s: %s: %v", path, link[1], err)
			} else if fragment != "" && !anchors(string(content))[fragment] {
				t.Errorf("%s: %s: no heading has this fragment", path, link[1])
			}
		}
	})
	if checked < 40 {
		t.Errorf("only %d links were found", checked)
	}
}

// eachDocument calls f with each Markdown file.
func eachDocument(t *testing.T, f func(path, text string)) {
	t.Helper()
	err := filepath.WalkDir(".", func(path string, entry fs.DirEntry, err error) error {
		if err == nil && entry.IsDir() && (entry.Name() == "node_modules" || entry.Name() == ".git") {
			return fs.SkipDir
		}
		if err != nil || !strings.HasSuffix(path, ".md") {
			return err
		}
		text, err := os.ReadFile(path)
		f(path, string(text))
		return err
	})
	if err != nil {
		t.Error(err)
	}
}
