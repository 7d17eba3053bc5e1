// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package viewer_test

import (
	"net/http"
	"os"
	"path/filepath"
	"runtime/debug"
	"testing"

	"github.com/spanprof/spanprof/viewer"
	"github.com/spanprof/spanprof/viewer/internal/answer"
)

func TestWithSourceCode(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "main.search.go"), []byte("package main\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	build := &debug.BuildInfo{Path: "example.com/shop", Main: debug.Module{Path: "example.com/shop", Version: "v1.2.3"}}
	h := viewer.Handler(newTestStore(t), viewer.WithSourceCode(viewer.SourceCode{Build: build, URL: "https://git.example/{path}@{version}#{line}", Directory: dir}))
	a := profileOf(t, h, ".cpu")
	sources := map[string]string{}
	for i, name := range a.Flame.Functions.Name {
		sources[a.Flame.Texts[name]] = a.Flame.Texts[a.Flame.Functions.Source[i]]
	}
	if got, want := sources["main.search"], "https://git.example/main.search.go@v1.2.3#{line}"; got != want || !a.SourceText {
		t.Errorf("the URL is %q, want %q; text %t", got, want, a.SourceText)
	}
	var text answer.SourceText
	getJSON(t, h, target("/source", "package", "main", "file", "/src/main.search.go", "line", "1"), http.StatusOK, &text)
	if len(text.Lines) != 1 || text.Lines[0] != "package main" {
		t.Errorf("text %+v", text)
	}
	if w := get(t, h, target("/source", "package", "main", "file", "/src/main.search.go", "line", "0")); w.Code != http.StatusBadRequest {
		t.Errorf("line 0: status %d: %s", w.Code, w.Body)
	}
}
