// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package flame_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/pprof/profile"

	"github.com/spanprof/spanprof/internal/flame"
	"github.com/spanprof/spanprof/store"
)

func TestFocus(t *testing.T) {
	var s locations
	main, f, g, h := s.location("main"), s.location("f"), s.location("g"), s.location("h")
	stacks := []store.StackValue{
		// f calls itself through g: the outer call counts.
		stack(4, f, g, f, main),
		stack(2, h, f, g),
		stack(1, h, main),
	}
	all := summary(stacks)
	got := all.Focus("f", 1000)
	want := &flame.Focus{
		Function: flame.Function{Name: "f", File: "f.go", Line: 7, Self: 4, Total: 6},
		Callers: &flame.Node{Name: "f", Total: 6, Children: []*flame.Node{
			{Name: "main", Self: 4, Total: 4},
			{Name: "g", Self: 2, Total: 2},
		}},
		Callees: &flame.Node{Name: "f", Total: 6, Children: []*flame.Node{
			{Name: "g", Total: 4, Children: []*flame.Node{{Name: "f", Self: 4, Total: 4}}},
			{Name: "h", Self: 2, Total: 2},
		}},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if none := all.Focus("nobody", 1000); none.Function.Total != 0 || none.Callers.Total != 0 || none.Callees.Total != 0 {
		t.Errorf("of a function that is on no stack: %+v", none)
	}
}

func TestExecutables(t *testing.T) {
	main := &profile.Mapping{File: "/bin/app", BuildID: "b1"}
	again := &profile.Mapping{File: "/bin/app", BuildID: "b1", Start: 0x1000}
	libc := &profile.Mapping{File: "/lib/libc.so", BuildID: "c7"}
	at := func(m *profile.Mapping) *profile.Location { return &profile.Location{Address: 1, Mapping: m} }
	x := summary([]store.StackValue{
		stack(5, at(libc), at(main), at(again)),
		stack(3, at(main)),
		stack(1, at(nil), at(main)),
	})
	want := []flame.Executable{
		{File: "/lib/libc.so", BuildID: "c7", Self: 5, Total: 5},
		{File: "/bin/app", BuildID: "b1", Self: 3, Total: 9},
		{Self: 1, Total: 1},
	}
	if diff := cmp.Diff(want, x.Executables()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestFolded(t *testing.T) {
	var s locations
	f, generic := s.location("main.f"), s.location("main.g[struct { a int; b int }]")
	stacks := []store.StackValue{
		stack(3, generic, f),
		stack(2, f),
		stack(1),
	}
	left := summary(stacks)
	want := "(unknown) 1\nmain.f 2\nmain.f;main.g[struct { a int: b int }] 3\n"
	if got := left.Folded(); got != want {
		t.Errorf("got\n%swant\n%s", got, want)
	}
	right := summary([]store.StackValue{stack(7, f)})
	want = "(unknown) 1 0\nmain.f 2 7\nmain.f;main.g[struct { a int: b int }] 3 0\n"
	if got := flame.FoldedDiff(left, right); got != want {
		t.Errorf("got\n%swant\n%s", got, want)
	}
}

// The right graph of a comparison has the left side's values by path.
func TestFlameAgainst(t *testing.T) {
	var s locations
	main, f, g := s.location("main"), s.location("f"), s.location("g")
	fns := flame.NewFunctions(false)
	left := summaryOf([]store.StackValue{
		stack(6, f, main),
		stack(2, f, g, main),
		stack(1, f),
	}, fns)
	right := summaryOf([]store.StackValue{
		stack(1, f, main),
		stack(1, g, main),
		stack(1, g, f, main),
	}, fns)
	var got []string
	var walk func(*flame.Node)
	walk = func(n *flame.Node) {
		for _, child := range n.Children {
			got = append(got, fmt.Sprint(child.Name, " ", child.Left, " ", child.Total))
			walk(child)
		}
	}
	walk(right.FlameAgainst(left, maxNodes))
	if want := "main 8 3 f 6 2 g 0 1 g 2 1"; strings.Join(got, " ") != want {
		t.Errorf("got %s, want %s", strings.Join(got, " "), want)
	}
}
