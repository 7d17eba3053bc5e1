// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package viewer_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/sdk/resource"

	"github.com/spanprof/spanprof/exporter"
	"github.com/spanprof/spanprof/internal/flame"
	"github.com/spanprof/spanprof/store"
	"github.com/spanprof/spanprof/viewer"
)

// newWideStore returns a store with a profile of more frames and functions than any graph
// or list has room for: below main.serve, Method0 to Method3999 call shared.work, Method i
// for 1 + i%7 samples.
func newWideStore(t *testing.T) *store.Store {
	t.Helper()
	s, err := store.New()
	if err != nil {
		t.Fatal(err)
	}
	b := newProfileBuilder()
	for i := range 4000 {
		b.add(int64(1+i%7), nil, "shared.work", "pkg.Method"+strconv.Itoa(i), "main.serve", "main.main")
	}
	b.add(500, nil, "main.idle", "main.main")
	export(t, s, resource.NewSchemaless(attribute.String("service.name", "wide")), exporter.KindCPU, b.profile)
	return s
}

// Sample counts of newWideStore.
func wideTotals() (total, work, method1999 int64) {
	for i := range 4000 {
		work += int64(1 + i%7)
	}
	return (work + 500) * 1e7, work * 1e7, (1 + 1999%7) * 1e7
}

type graphAnswer struct {
	Total int64
	Flame *flame.Node
	Note  string
}

// Search and zoom count what the graph has no room for.
func TestGraphPart(t *testing.T) {
	h := viewer.Handler(newWideStore(t))
	total, work, method := wideTotals()
	hidden := func(n *flame.Node) (frames int) {
		for _, c := range n.Children {
			if c.Name == flame.Other {
				frames += c.Frames
			}
		}
		return frames
	}

	var found graphAnswer
	getJSON(t, h, target("/graph", "query", ".cpu", "search", "METHOD1999"), http.StatusOK, &found)
	if found.Total != total || found.Flame.Total != total || found.Flame.Match != method {
		t.Errorf("of %d, %d match, want %d of %d", found.Flame.Total, found.Flame.Match, method, total)
	}
	serve := found.Flame.Children[0]
	for serve.Name != "main.serve" {
		serve = serve.Children[0]
	}
	if serve.Match != method {
		t.Errorf("%d of main.serve match, want %d", serve.Match, method)
	}
	// 1,400 frames are kept, and the root is one of them; each of the others is a method
	// or what it called.
	if n := hidden(serve); n == 0 || n > 8000 {
		t.Errorf("(other) stands for %d frames", n)
	}

	// A function that is on each stack twice counts once.
	getJSON(t, h, target("/graph", "query", ".cpu", "search", "e"), http.StatusOK, &found)
	if found.Flame.Match != total {
		t.Errorf("%d match what all match, want %d", found.Flame.Match, total)
	}

	var zoomed graphAnswer
	getJSON(t, h, target("/graph", "query", ".cpu", "zoom", pathID("main.main", "main.serve", "pkg.Method1999"), "search", "shared."), http.StatusOK, &zoomed)
	if n := zoomed.Flame; n.Name != "pkg.Method1999" || n.Total != method || n.Match != method || len(n.Children) != 1 || n.Children[0].Name != "shared.work" {
		t.Errorf("a frame that was cut is %+v", n)
	}
	for _, zoom := range []string{"main.nobody", "", "\xff"} {
		var failed struct{ Error string }
		getJSON(t, h, target("/graph", "query", ".cpu", "zoom", pathID(zoom)+"0"), http.StatusBadRequest, &failed)
		if !strings.Contains(failed.Error, "no frame of this graph") {
			t.Errorf("%q: error %q", zoom, failed.Error)
		}
	}

	var callers graphAnswer
	getJSON(t, h, target("/graph", "query", ".cpu", "function", "shared.work", "of", "callers", "search", "Method1999"), http.StatusOK, &callers)
	if callers.Flame.Total != work || callers.Flame.Match != method {
		t.Errorf("callers: %d of %d match, want %d of %d", callers.Flame.Match, callers.Flame.Total, method, work)
	}

	var right graphAnswer
	getJSON(t, h, target("/graph", "of", "right", "leftQuery", ".cpu", "rightQuery", ".cpu", "zoom", pathID("main.main", "main.serve")), http.StatusOK, &right)
	if n := right.Flame; n.Name != "main.serve" || n.Total != work || n.Left != work {
		t.Errorf("the right side is %s with %d, left %d, want %d", n.Name, n.Total, n.Left, work)
	}
	if body := get(t, h, target("/graph", "query", ".cpu", "format", "text", "search", "Method1999")).Body.String(); !strings.Contains(body, "found 50.0 ms") {
		t.Errorf("the text is %s", body)
	}
	for _, bad := range []string{target("/graph", "query", ".cpu", "of", "left"), target("/graph", "query", ".cpu", "format", "pprof"), target("/graph")} {
		if w := get(t, h, bad); w.Code != http.StatusBadRequest {
			t.Errorf("%s: status %d", bad, w.Code)
		}
	}
}

// pathID makes the path of a frame as the page's script does.
func pathID(names ...string) string {
	var sums [2]uint32
	sums[0] = 2166136261
	sums[1] = sums[0] ^ 0x9e3779b9
	for i := range sums {
		for _, c := range []byte(strings.Join(names, "\x00\x00") + "\x00\x00") {
			sums[i] = (sums[i] ^ uint32(c)) * 16777619
		}
	}
	return fmt.Sprintf("%08x%08x", sums[0], sums[1])
}

// The list of functions says what it leaves out, and a search finds that too.
func TestFunctionsOmitted(t *testing.T) {
	h := viewer.Handler(newWideStore(t))
	total, work, method := wideTotals()
	type list struct {
		Functions        []flame.Function
		FunctionsOmitted struct {
			Count          int
			Self, MaxTotal int64
		}
	}
	var all list
	getJSON(t, h, target("/", "query", ".cpu", "format", "json"), http.StatusOK, &all)
	var self int64
	serves := false
	for _, f := range all.Functions {
		self += f.Self
		serves = serves || f.Name == "main.serve" && f.Total == work
	}
	if n := len(all.Functions) + all.FunctionsOmitted.Count; n != 4004 || self+all.FunctionsOmitted.Self != total {
		t.Errorf("%d functions take %d, want 4004 and %d", n, self+all.FunctionsOmitted.Self, total)
	}
	if !serves || all.FunctionsOmitted.MaxTotal == 0 || all.FunctionsOmitted.MaxTotal > 3e7 {
		t.Errorf("main.serve is listed: %t; the biggest total left out is %d", serves, all.FunctionsOmitted.MaxTotal)
	}
	var found list
	getJSON(t, h, target("/graph", "query", ".cpu", "of", "functions", "search", "method1999"), http.StatusOK, &found)
	if len(found.Functions) != 1 || found.Functions[0].Total != method {
		t.Errorf("found %+v", found.Functions)
	}
}

// What nobody waits for any more is not summed to its end.
func TestGraphEndsWithTheRequest(t *testing.T) {
	h := viewer.Handler(newWideStore(t))
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	w := do(t, h, httptest.NewRequestWithContext(ctx, http.MethodGet, target("/graph", "query", ".cpu"), http.NoBody))
	if w.Code == http.StatusOK {
		t.Errorf("a request that has ended was answered: %s", w.Body)
	}
}

// An assembly function whose name has no package is of the package of its file.
func TestPackageOfAssembly(t *testing.T) {
	s, err := store.New()
	if err != nil {
		t.Fatal(err)
	}
	b := newProfileBuilder()
	b.add(41, nil, "indexbytebody", "bytes.IndexByte", "main.main")
	b.add(9, nil, "bytes.Count", "main.main")
	b.add(1, nil, "memcpy", "main.main")
	for _, fn := range b.profile.Function {
		switch fn.Name {
		case "indexbytebody":
			fn.Filename = "/usr/local/go/src/internal/bytealg/indexbyte_amd64.s"
		case "memcpy":
			fn.Filename = "memcpy.c"
		}
	}
	export(t, s, nil, exporter.KindCPU, b.profile)
	h := viewer.Handler(s)
	var page struct {
		Packages  []flame.Package
		Functions []flame.Function
	}
	getJSON(t, h, target("/", "query", ".cpu", "format", "json"), http.StatusOK, &page)
	got, err := json.Marshal(page.Packages)
	if want := `[{"name":"internal/bytealg","self":410000000},{"name":"bytes","self":90000000},{"name":"","self":10000000}]`; err != nil || string(got) != want {
		t.Errorf("the packages are %s, error %v, want %s", got, err, want)
	}
	if f := page.Functions[0]; f.Name != "indexbytebody" || f.Package != "internal/bytealg" {
		t.Errorf("the first function is %+v", f)
	}
	var found graphAnswer
	getJSON(t, h, target("/graph", "query", ".cpu", "search", "internal/bytealg."), http.StatusOK, &found)
	if found.Flame.Match != 41e7 {
		t.Errorf("%d are found by the package", found.Flame.Match)
	}
}

// Stacks that the runtime cut have no root: the answer says how much is in them.
func TestCutStacks(t *testing.T) {
	s, err := store.New()
	if err != nil {
		t.Fatal(err)
	}
	b := newProfileBuilder()
	b.add(3, nil, append([]string{"main.leaf"}, strings.Split(strings.Repeat("main.deep ", 63), " ")[:63]...)...)
	b.add(1, nil, append([]string{"main.leaf"}, strings.Split(strings.Repeat("main.deep ", 62), " ")[:62]...)...)
	export(t, s, nil, exporter.KindCPU, b.profile)
	var page struct {
		CutAt    int
		CutTotal int64
		Note     string
	}
	getJSON(t, viewer.Handler(s), target("/", "query", ".cpu", "format", "json"), http.StatusOK, &page)
	if page.CutAt != 64 || page.CutTotal != 3e7 || !strings.Contains(page.Note, "75.0% of this is in stacks of more than 64 frames") {
		t.Errorf("cut at %d: %d, note %q", page.CutAt, page.CutTotal, page.Note)
	}
}

// A parameter that is misspelt is named.
func TestUnknownParameters(t *testing.T) {
	h := viewer.Handler(newTestStore(t))
	for _, page := range []string{target("/", "format", "json", "odrer", "cpu"), target("/", "query", ".cpu", "format", "json", "odrer", "1"), target("/log", "format", "json", "odrer", ""), target("/comparison", "leftQuery", ".cpu", "rightQuery", ".cpu", "format", "json", "odrer", "1"), target("/graph", "query", ".cpu", "odrer", "1"), target("/timeline", "format", "json", "odrer", "1")} {
		var answer struct{ Note string }
		getJSON(t, h, page, http.StatusOK, &answer)
		if !strings.Contains(answer.Note, `the address has a parameter that is not known and does nothing: "odrer"`) {
			t.Errorf("%s: the note is %q", page, answer.Note)
		}
	}
	many := get(t, h, target("/", "format", "text", "a", "", "b", "", "c", "", "d", "")).Body.String()
	if !strings.Contains(many, `"a", "b", "c", 1 more`) {
		t.Errorf("the text is %s", many)
	}
	if known := get(t, h, target("/", "format", "text", "order", "cpu", "by", "x", "from", "now-1h")).Body; bytes.Contains(known.Bytes(), []byte("not known and")) {
		t.Errorf("known parameters are in a note: %s", known)
	}
}
