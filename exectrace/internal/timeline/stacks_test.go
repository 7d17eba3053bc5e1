// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package timeline

import (
	"slices"
	"testing"

	exptrace "golang.org/x/exp/trace"
)

// Equal stacks have one copy. It has no frames of markers.
func TestStacks(t *testing.T) {
	s := newStacks()
	const marker = "github.com/spanprof/spanprof/internal/marker."
	var raw []exptrace.StackFrame
	for i, name := range []string{"lock", marker + "l3", marker + "h0", "handler"} {
		raw = append(raw, exptrace.StackFrame{PC: uint64(i + 1), Func: name, File: "f.go", Line: uint64(i)})
	}
	id := s.add(exptrace.MakeStack(raw))
	want := []Frame{{"lock", "f.go", 0}, {"handler", "f.go", 3}}
	if got := s.frames(id); !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
	if again := s.add(exptrace.MakeStack(raw)); again != id {
		t.Errorf("an equal stack has the id %d, want %d", again, id)
	}
	if s.add(exptrace.MakeStack(raw[1:3])) != 0 {
		t.Error("a stack of markers alone has an id, want none")
	}
}
