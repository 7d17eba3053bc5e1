// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package viewer_test

import (
	"context"
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
	"github.com/spanprof/spanprof/viewer/internal/answer"
)

// wideStore returns a store with 4,000 functions below main.serve: Method i has 1 + i%7 samples.
func wideStore(t *testing.T) *store.Store {
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

// functionsOf returns the functions of a graph by name.
func functionsOf(g *flame.Graph) map[string]flame.Function {
	all := map[string]flame.Function{}
	f := g.Functions
	for i, name := range f.Name {
		all[g.Texts[name]] = flame.Function{Name: g.Texts[name], File: g.Texts[f.File[i]], Package: g.Texts[f.Package[i]], Line: f.Line[i], Self: f.Self[i], Total: f.Total[i], Lines: f.Lines[i]}
	}
	return all
}

// The answer has the whole graph.
func TestWholeGraph(t *testing.T) {
	var a answer.Profile
	getJSON(t, viewer.Handler(wideStore(t)), target("/", "query", ".cpu", "format", "json"), http.StatusOK, &a)
	g := a.Flame
	if g.Omitted != 0 || g.Len() != 8004 || g.Total[0] != a.Total {
		t.Fatalf("%d nodes, %d omitted, total %d of %d: want 8,004 nodes", g.Len(), g.Omitted, g.Total[0], a.Total)
	}
	all := functionsOf(g)
	if f := all["pkg.Method1999"]; f.Self != 0 || f.Total != 5e7 {
		t.Errorf("Method1999 has %d/%d, want 0/5e7", f.Self, f.Total)
	}
	if f := all["shared.work"]; f.Self != a.Total-500e7 || f.Total != f.Self {
		t.Errorf("shared.work has %d/%d, want %d", f.Self, f.Total, a.Total-500e7)
	}
}

// A request that has ended is not summed to its end.
func TestGraphEndsWithTheRequest(t *testing.T) {
	h := viewer.Handler(wideStore(t))
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	w := do(t, h, httptest.NewRequestWithContext(ctx, http.MethodGet, target("/", "query", ".cpu", "format", "json"), http.NoBody))
	if w.Code == http.StatusOK {
		t.Errorf("a request that has ended was answered: %s", w.Body)
	}
}

// An assembly function without a package in its name has the package of its file.
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
	var a answer.Profile
	getJSON(t, h, target("/", "query", ".cpu", "format", "json"), http.StatusOK, &a)
	for name, want := range map[string]string{"indexbytebody": "internal/bytealg", "bytes.Count": "", "memcpy": ""} {
		if got := functionsOf(a.Flame)[name].Package; got != want {
			t.Errorf("%s is of package %q, want %q", name, got, want)
		}
	}
}

// Stacks that the runtime cut have no root: the answer has their share.
func TestCutStacks(t *testing.T) {
	s, err := store.New()
	if err != nil {
		t.Fatal(err)
	}
	b := newProfileBuilder()
	b.add(3, nil, append([]string{"main.leaf"}, strings.Split(strings.Repeat("main.deep ", 63), " ")[:63]...)...)
	b.add(1, nil, append([]string{"main.leaf"}, strings.Split(strings.Repeat("main.deep ", 62), " ")[:62]...)...)
	export(t, s, nil, exporter.KindCPU, b.profile)
	var page answer.Profile
	getJSON(t, viewer.Handler(s), target("/", "query", ".cpu", "format", "json"), http.StatusOK, &page)
	if !strings.Contains(page.Note, "75.0% of this is in stacks of more than 64 frames") {
		t.Errorf("note %q", page.Note)
	}
}
