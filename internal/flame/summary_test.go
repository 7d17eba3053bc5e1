// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package flame_test

import (
	"testing"

	"github.com/spanprof/spanprof/internal/flame"
	"github.com/spanprof/spanprof/store"
)

func TestFolded(t *testing.T) {
	var s locations
	f, generic := s.location("main.f"), s.location("main.g[struct { a int; b int }]")
	stacks := []store.StackValue{
		stack(3, generic, f),
		stack(2, f),
		stack(1),
	}
	want := "(unknown) 1\nmain.f 2\nmain.f;main.g[struct { a int: b int }] 3\n"
	if got := summary(stacks).Folded(); got != want {
		t.Errorf("got\n%swant\n%s", got, want)
	}
}

// The graph of a comparison has the nodes of both sides.
func TestGraphAgainst(t *testing.T) {
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
	want := `total 0/3 left 0/9
 main 0/3 left 0/8
  f 1/2 left 6/6
   g 1/1 left 0/0
  g 1/1 left 0/2
   f 0/0 left 2/2
 f 0/0 left 1/1
`
	if got := drawn(right.GraphAgainst(left)); got != want {
		t.Errorf("got\n%swant\n%s", got, want)
	}
}
