// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

//go:build live

package examples

import (
	"encoding/json"
	"fmt"
	"go/ast"
	"go/doc/comment"
	"go/parser"
	"go/token"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/spanprof/spanprof/internal/livetest"
)

// snippetHead is the head of each file with a snippet.
const snippetHead = `package snippets

import (
	"context"
	"log"
	"net/http"
	"net/http/httptest"
	"runtime/pprof"
	"slices"
	"testing"
	"time"

	"go.opentelemetry.io/contrib/instrumentation/net/http/otelhttp"
	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	semconv "go.opentelemetry.io/otel/semconv/v1.37.0"
	"go.opentelemetry.io/otel/trace"

	"github.com/spanprof/spanprof"
	"github.com/spanprof/spanprof/ebpfbridge"
	"github.com/spanprof/spanprof/ebpfbridge/receiver"
	"github.com/spanprof/spanprof/exectrace"
	"github.com/spanprof/spanprof/exporter"
	"github.com/spanprof/spanprof/exporter/file"
	"github.com/spanprof/spanprof/exporter/meter"
	"github.com/spanprof/spanprof/exporter/otlp"
	"github.com/spanprof/spanprof/exporter/pyroscope"
	"github.com/spanprof/spanprof/inprocess"
	"github.com/spanprof/spanprof/pgo"
	"github.com/spanprof/spanprof/profhttp"
	"github.com/spanprof/spanprof/profiler"
	"github.com/spanprof/spanprof/spanproftest"
	"github.com/spanprof/spanprof/store"
	"github.com/spanprof/spanprof/viewer"
)
`

// around has what a reader has around a snippet.
const around = `
func _(ctx context.Context, mux *http.ServeMux, r *http.Request, report, handle http.HandlerFunc, tenant, id string,
	sdk trace.TracerProvider, tp *spanprof.TracerProvider, res *resource.Resource, p *inprocess.Profiling, s *store.Store,
	spanExporter sdktrace.SpanExporter, exp exporter.Exporter, profile *exporter.Profile, sources []pgo.Source, errs chan error, err error,
) error {
	{
%s
	}
	return nil
}
`

var (
	// fenced is Go in a document.
	fenced = regexp.MustCompile("(?s)```go\n(.*?)```")
	// ofPackage is a call of one of our packages.
	ofPackage = regexp.MustCompile(`\b(spanprof|ebpfbridge|receiver|exectrace|file|meter|otlp|pyroscope|inprocess|pgo|profhttp|profiler|spanproftest|store|viewer|view|s)\.[A-Z]\w*\(`)
	// incomplete are errors that a part of a function may have.
	incomplete = regexp.MustCompile(`^#|declared and not used|imported and not used|imported as \w+ and not used|too many errors`)
)

// The Go code in documents and package comments compiles.
func TestSnippets(t *testing.T) {
	overlay := struct{ Replace map[string]string }{map[string]string{}}
	dir, err := filepath.Abs("snippets")
	if err != nil {
		t.Fatal(err)
	}
	origin := map[string]string{}
	add := func(path, code string) {
		name := fmt.Sprintf("snippet%d.go", len(origin))
		origin[name] = path + ":\n" + code
		text := snippetHead
		switch {
		case strings.HasPrefix(code, "import "):
			text += code
		case strings.HasPrefix(code, "func "):
			text += "var checkout http.HandlerFunc\n" + code
		default:
			text += fmt.Sprintf(around, code)
		}
		kept := filepath.Join(t.TempDir(), name)
		if err := os.WriteFile(kept, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		overlay.Replace[filepath.Join(dir, name)] = kept
	}
	eachSource(t, add)
	if len(origin) < 20 {
		t.Errorf("only %d snippets were found", len(origin))
	}
	file := filepath.Join(t.TempDir(), "overlay.json")
	text, err := json.Marshal(overlay)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, text, 0o600); err != nil {
		t.Fatal(err)
	}
	out, _ := exec.CommandContext(livetest.Context(t, livetest.Most), "go", "build", "-overlay", file, "-gcflags=-e", "./snippets").CombinedOutput()
	for line := range strings.Lines(string(out)) {
		if !incomplete.MatchString(line) {
			name, _, _ := strings.Cut(filepath.Base(strings.Fields(line)[0]), ":")
			t.Errorf("%s%s", line, origin[name])
		}
	}
}

// eachSource calls add with the Go code of each document and package comment.
func eachSource(t *testing.T, add func(path, code string)) {
	t.Helper()
	list, err := exec.CommandContext(t.Context(), "git", "ls-files", "..").Output()
	if err != nil {
		t.Fatal(err)
	}
	for path := range strings.Lines(string(list)) {
		path = strings.TrimSpace(path)
		switch {
		case strings.HasSuffix(path, ".md"):
			text, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			for _, found := range fenced.FindAllStringSubmatch(string(text), -1) {
				add(path, found[1])
			}
		case strings.HasSuffix(path, ".go") && !strings.Contains(path, "/internal/"):
			f, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.PackageClauseOnly|parser.ParseComments)
			if err != nil {
				t.Fatal(err)
			}
			for _, code := range codeOf(f) {
				add(path, code)
			}
		}
	}
}

// codeOf returns the calls of our packages in a file's package comment.
func codeOf(f *ast.File) (all []string) {
	for _, block := range new(comment.Parser).Parse(f.Doc.Text()).Content {
		if code, ok := block.(*comment.Code); ok && ofPackage.MatchString(code.Text) {
			all = append(all, code.Text)
		}
	}
	return all
}
