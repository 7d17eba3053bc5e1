// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

//go:build live

package viewer_test

import (
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"testing"
	"time"

	"github.com/spanprof/spanprof/internal/flame"
	"github.com/spanprof/spanprof/viewer"
)

// The sums are those of go tool pprof on the same profile.
func TestSumsOfPprof(t *testing.T) {
	h := viewer.Handler(newTestStore(t))
	query := `.cpu{span_name="GET /search"}`
	file := filepath.Join(t.TempDir(), "profile.pb.gz")
	if err := os.WriteFile(file, get(t, h, target("/profile", "query", query)).Body.Bytes(), 0o644); err != nil {
		t.Fatal(err)
	}
	out, err := exec.CommandContext(t.Context(), "go", "tool", "pprof", "-top", "-unit=ms", "-nodefraction=0", "-nodecount=1000", "-symbolize=none", file).Output()
	if err != nil {
		t.Fatal(err)
	}
	rows := regexp.MustCompile(`(?m)^ *([0-9.]+)(?:ms)? +[0-9.]+% +[0-9.]+% +([0-9.]+)(?:ms)? +[0-9.]+%  (\S+)$`).FindAllSubmatch(out, -1)
	var page struct{ Functions []flame.Function }
	getJSON(t, h, target("/", "query", query, "format", "json"), http.StatusOK, &page)
	if len(rows) != len(page.Functions) || len(rows) < 5 {
		t.Fatalf("%d functions on the page and %d by go tool pprof:\n%s", len(page.Functions), len(rows), out)
	}
	milliseconds := func(text []byte) int64 {
		ms, err := strconv.ParseFloat(string(text), 64)
		if err != nil {
			t.Fatal(err)
		}
		return int64(ms * float64(time.Millisecond))
	}
	for _, row := range rows {
		name := string(row[3])
		var of flame.Function
		for _, f := range page.Functions {
			if f.Name == name {
				of = f
			}
		}
		var found graphAnswer
		getJSON(t, h, target("/graph", "query", query, "search", name), http.StatusOK, &found)
		if self, total := milliseconds(row[1]), milliseconds(row[2]); of.Self != self || of.Total != total || found.Flame.Match != total {
			t.Errorf("%s: self %d, total %d, found %d; go tool pprof has %d and %d", name, of.Self, of.Total, found.Flame.Match, self, total)
		}
	}
}
