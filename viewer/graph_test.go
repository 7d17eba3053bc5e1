// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package viewer_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/spanprof/spanprof/exporter"
	"github.com/spanprof/spanprof/internal/flame"
	"github.com/spanprof/spanprof/store"
	"github.com/spanprof/spanprof/viewer"
	"github.com/spanprof/spanprof/viewer/internal/answer"
)

// function is a row of a table of functions.
type function struct {
	File, Package string
	Self, Total   int64
	Lines         []int64
}

// functionsOf returns the functions of a graph by name.
func functionsOf(g *flame.Graph) map[string]function {
	all := map[string]function{}
	f := g.Functions
	for i, name := range f.Name {
		all[g.Texts[name]] = function{g.Texts[f.File[i]], g.Texts[f.Package[i]], f.Self[i], f.Total[i], f.Lines[i]}
	}
	return all
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
