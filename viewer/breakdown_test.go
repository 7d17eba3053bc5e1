// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package viewer

import (
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/pprof/profile"

	"github.com/spanprof/spanprof/store"
)

func TestFocus(t *testing.T) {
	var s testStacks
	main, f, g, h := s.location("main"), s.location("f"), s.location("g"), s.location("h")
	sel := selection(
		// f calls itself through g: the outer call is the one that counts.
		store.StackValue{Stack: &store.Stack{Locations: []*store.Location{f, g, f, main}}, Value: 4},
		store.StackValue{Stack: &store.Stack{Locations: []*store.Location{h, f, g}}, Value: 2},
		store.StackValue{Stack: &store.Stack{Locations: []*store.Location{h, main}}, Value: 1},
	)
	b := newBreakdown(sel, newFunctions())
	got := newFocus(sel, "f", b)
	want := &focus{
		Function: functionJSON{Name: "f", File: "f.go", Line: 7, Self: 4, Total: 6},
		Callers: &flameNode{Name: "f", Total: 6, Children: []*flameNode{
			{Name: "main", Self: 4, Total: 4},
			{Name: "g", Self: 2, Total: 2},
		}},
		Callees: &flameNode{Name: "f", Total: 6, Children: []*flameNode{
			{Name: "g", Total: 4, Children: []*flameNode{{Name: "f", Self: 4, Total: 4}}},
			{Name: "h", Self: 2, Total: 2},
		}},
	}
	ignoreDepth := cmp.FilterPath(func(p cmp.Path) bool { return p.Last().String() == ".depth" }, cmp.Ignore())
	if diff := cmp.Diff(want, got, cmp.AllowUnexported(flameNode{}), ignoreDepth); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if none := newFocus(sel, "nobody", b); none.Function.Total != 0 || none.Callers.Total != 0 || none.Callees.Total != 0 {
		t.Errorf("of a function that is on no stack: %+v", none)
	}
}

func TestExecutables(t *testing.T) {
	main := &store.Mapping{File: "/bin/app", BuildID: "b1"}
	again := &store.Mapping{File: "/bin/app", BuildID: "b1", Start: 0x1000}
	libc := &store.Mapping{File: "/lib/libc.so", BuildID: "c7"}
	at := func(m *store.Mapping) *store.Location { return &store.Location{Address: 1, Mapping: m} }
	var x executables
	x.add(&store.Stack{Locations: []*store.Location{at(libc), at(main), at(again)}}, 5)
	x.add(&store.Stack{Locations: []*store.Location{at(main)}}, 3)
	x.add(&store.Stack{Locations: []*store.Location{at(nil), at(main)}}, 1)
	want := []executableJSON{
		{File: "/lib/libc.so", BuildID: "c7", Self: 5, Total: 5},
		{File: "/bin/app", BuildID: "b1", Self: 3, Total: 9},
		{Self: 1, Total: 1},
	}
	if diff := cmp.Diff(want, x.json()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestFolded(t *testing.T) {
	var s testStacks
	f, generic := s.location("main.f"), s.location("main.g[struct { a int; b int }]")
	sel := selection(
		store.StackValue{Stack: &store.Stack{Locations: []*store.Location{generic, f}}, Value: 3},
		store.StackValue{Stack: &store.Stack{Locations: []*store.Location{f}}, Value: 2},
		store.StackValue{Stack: &store.Stack{}, Value: 1},
	)
	left := newBreakdown(sel, newFunctions()).tree
	want := "(unknown) 1\nmain.f 2\nmain.f;main.g[struct { a int: b int }] 3\n"
	if got := left.folded(); got != want {
		t.Errorf("got\n%swant\n%s", got, want)
	}
	right := newBreakdown(selection(store.StackValue{Stack: &store.Stack{Locations: []*store.Location{f}}, Value: 7}), newFunctions()).tree
	want = "(unknown) 1 0\nmain.f 2 7\nmain.f;main.g[struct { a int: b int }] 3 0\n"
	if got := foldedDiff(left, right); got != want {
		t.Errorf("got\n%swant\n%s", got, want)
	}
}

// The right graph of a comparison has the left side's values by path.
func TestHold(t *testing.T) {
	var s testStacks
	main, f, g := s.location("main"), s.location("f"), s.location("g")
	fns := newFunctions()
	left := newBreakdown(selection(
		store.StackValue{Stack: &store.Stack{Locations: []*store.Location{f, main}}, Value: 6},
		store.StackValue{Stack: &store.Stack{Locations: []*store.Location{f, g, main}}, Value: 2},
		store.StackValue{Stack: &store.Stack{Locations: []*store.Location{f}}, Value: 1},
	), fns)
	right := newBreakdown(selection(
		store.StackValue{Stack: &store.Stack{Locations: []*store.Location{f, main}}, Value: 1},
		store.StackValue{Stack: &store.Stack{Locations: []*store.Location{g, main}}, Value: 1},
		store.StackValue{Stack: &store.Stack{Locations: []*store.Location{g, f, main}}, Value: 1},
	), fns)
	right.tree.hold(left.tree)
	var got []string
	for _, l := range frameLines(right.tree.flame(maxFlameNodes)) {
		got = append(got, l.first.Name, formatValue(l.first.Left, unitCount), formatValue(l.first.Total, unitCount))
	}
	if want := "main 8 3 f 6 2 g 0 1 g 2 1"; strings.Join(got, " ") != want {
		t.Errorf("got %s, want %s", strings.Join(got, " "), want)
	}
}

func TestFormatsOfEveryView(t *testing.T) {
	s := newTestStore(t)
	h := Handler(s)
	left, right := `.cpu{span_name="GET /search"}`, byID(slowID)
	folded := get(t, h, target("/", "query", right, "format", "folded")).Body.String()
	want := "main.serve;json.Marshal 50000000\nmain.serve;main.search;regexp.doExecute;regexp.tryBacktrack 400000000\nmain.serve;main.search;regexp.doExecute;regexp.tryBacktrack;regexp.step 100000000\n"
	if folded != want {
		t.Errorf("folded\n%s", folded)
	}
	diff := get(t, h, target("/comparison-diff", "leftQuery", left, "rightQuery", right, "format", "folded")).Body.String()
	if !strings.HasPrefix(diff, "main.serve;json.Marshal 110000000 50000000\n") {
		t.Errorf("folded comparison\n%s", diff)
	}

	// The list as a profile is that of the spans in it.
	for address, total := range map[string]int64{
		"/?format=pprof": 73e7,
		target("/", "format", "pprof", "name", "GET /search"):        63e7,
		target("/", "format", "pprof", "order", "cpu", "limit", "1"): 55e7,
		target("/", "format", "pprof", "name", "nobody"):             0,
		target("/timeline", "format", "pprof"):                       77e7,
		// 550 ms of the span, less as much of the baseline.
		target("/comparison", "leftQuery", left, "rightQuery", right, "format", "pprof"): 0,
	} {
		w := get(t, h, address)
		p, err := profile.ParseData(w.Body.Bytes())
		if err != nil || w.Code != http.StatusOK {
			t.Errorf("GET %s: status %d, %v", address, w.Code, err)
			continue
		}
		sum := int64(0)
		for _, s := range p.Sample {
			sum += s.Value[1]
		}
		// Scaling rounds every sample.
		if sum < total-10 || sum > total+10 {
			t.Errorf("GET %s: %d ns, want %d", address, sum, total)
		}
	}
	if w := get(t, h, target("/", "format", "folded", "name", "nobody")); w.Code != http.StatusOK || w.Body.Len() > 0 {
		t.Errorf("folded list of no spans: status %d, %q", w.Code, w.Body)
	}
	if body := get(t, h, target("/timeline", "format", "folded", "query", right)).Body.String(); body != folded {
		t.Errorf("folded time line\n%s", body)
	}
}

func TestFocusOfAnAnswer(t *testing.T) {
	h := Handler(newTestStore(t))
	address := target("/", "query", byID(slowID), "function", "regexp.tryBacktrack", "format", "json")
	var a answer
	getJSON(t, h, address, http.StatusOK, &a)
	if f := a.Focus; f == nil || f.Function.Total != 5e8 || f.Callers.Children[0].Name != "regexp.doExecute" || f.Callees.Children[0].Name != "regexp.step" {
		t.Errorf("focus %+v", a.Focus)
	}
	golden(t, "function.txt", get(t, h, strings.Replace(address, "format=json", "format=text", 1)).Body.String())
	text := get(t, h, target("/", "query", byID(slowID), "function", "nobody", "format", "text")).Body.String()
	if !strings.Contains(text, "function nobody\n         is on no stack") {
		t.Errorf("of a function that is on no stack:\n%s", text)
	}
}
