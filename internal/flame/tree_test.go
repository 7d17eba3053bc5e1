// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package flame_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/google/pprof/profile"

	"github.com/spanprof/spanprof/internal/flame"
	"github.com/spanprof/spanprof/store"
)

// locations makes locations. Those with one function name share the function.
type locations struct {
	functions map[string]*profile.Function
}

// location returns a location of functions, the innermost inlined one first.
func (l *locations) location(names ...string) *profile.Location {
	if l.functions == nil {
		l.functions = map[string]*profile.Function{}
	}
	loc := &profile.Location{}
	for _, name := range names {
		fn, ok := l.functions[name]
		if !ok {
			fn = &profile.Function{Name: name, Filename: name + ".go"}
			l.functions[name] = fn
		}
		loc.Line = append(loc.Line, profile.Line{Function: fn, Line: 7})
	}
	return loc
}

func stack(value int64, leafFirst ...*profile.Location) store.StackValue {
	return store.StackValue{Stack: leafFirst, Value: value}
}

func summary(stacks []store.StackValue) *flame.Summary {
	return summaryOf(stacks, flame.NewFunctions(false))
}

func summaryOf(stacks []store.StackValue, functions *flame.Functions) *flame.Summary {
	s, err := flame.SummaryWithin(context.Background(), stacks, functions)
	if err != nil {
		panic(err)
	}
	return s
}

// drawn returns a graph as one line for each node, indented by its depth.
func drawn(g *flame.Graph) string {
	var b strings.Builder
	depths := make([]int, g.Len())
	for i := range g.Len() {
		if i > 0 {
			depths[i] = depths[g.Parent[i]] + 1
		}
		fmt.Fprintf(&b, "%s%s %d/%d", strings.Repeat(" ", depths[i]), g.Name(i), g.Self[i], g.Total[i])
		if g.LeftTotal != nil {
			fmt.Fprintf(&b, " left %d/%d", g.LeftSelf[i], g.LeftTotal[i])
		}
		if g.Type(i) != "" {
			fmt.Fprintf(&b, " %s", g.Type(i))
		}
		if slices.Contains(g.Inlined, int32(i)) {
			b.WriteString(" inlined")
		}
		b.WriteByte('\n')
	}
	return b.String()
}

func TestTreeInlining(t *testing.T) {
	var s locations
	unnamed := &profile.Location{Address: 0x42, Mapping: &profile.Mapping{File: "/lib/libc.so"}}
	stacks := []store.StackValue{
		stack(3, s.location("in", "mid", "out"), s.location("main")),
		stack(2, s.location("out"), s.location("main")),
		stack(1, unnamed),
		stack(1),
	}
	want := `total 1/7
 main 0/5
  out 2/5
   mid 0/3 inlined
    in 3/3 inlined
 libc.so 0x42 1/1
`
	if got := drawn(summary(stacks).Graph()); got != want {
		t.Errorf("got\n%swant\n%s", got, want)
	}
}

// A signal of the runtime interrupts a function: the time is the function's.
func TestPreemptionIsFolded(t *testing.T) {
	var s locations
	g := summary([]store.StackValue{
		stack(3, s.location("runtime.asyncPreempt"), s.location("f")),
		stack(2, s.location("runtime.asyncPreempt2", "runtime.asyncPreempt"), s.location("f")),
		stack(1, s.location("f")),
	}).Graph()
	if got, want := drawn(g), "total 0/6\n f 6/6\n"; got != want {
		t.Errorf("got\n%swant\n%s", got, want)
	}
	if len(g.Functions.Name) != 1 || g.Functions.Self[0] != 6 {
		t.Errorf("functions %+v, want f alone", g.Functions)
	}
}

// A stack counts once for a line, however often the line is on it.
func TestLines(t *testing.T) {
	fn := &profile.Function{Name: "f", Filename: "f.go", StartLine: 3}
	at := func(line int64) *profile.Location {
		return &profile.Location{Line: []profile.Line{{Function: fn, Line: line}}}
	}
	g := summary([]store.StackValue{stack(5, at(12), at(11), at(11)), stack(2, at(11))}).Graph()
	f := g.Functions
	if want := []int64{12, 5, 5, 11, 2, 7}; !slices.Equal(f.Lines[0], want) || f.Line[0] != 3 || f.Self[0] != 7 || f.Total[0] != 7 {
		t.Errorf("lines %v of %d/%d at %d, want %v of 7/7 at 3", f.Lines[0], f.Self[0], f.Total[0], f.Line[0], want)
	}
	if g.Texts[f.File[0]] != "f.go" {
		t.Errorf("file %q", g.Texts[f.File[0]])
	}
}

func TestRecursionCountsOnce(t *testing.T) {
	var s locations
	f, g := s.location("f"), s.location("g")
	list := summary([]store.StackValue{stack(10, f, g, f, f)}).Functions()
	for _, fn := range list {
		if fn.Total != 10 {
			t.Errorf("%s: total %d, want 10", fn.Name, fn.Total)
		}
	}
	if fn := list[0]; fn.Name != "f" || fn.Self != 10 {
		t.Errorf("first function is %+v", fn)
	}
}

// The narrowest nodes are counted. Their values stay in the totals of their parents. The choice
// does not depend on the order of the stacks.
func TestOmitted(t *testing.T) {
	var s locations
	main := s.location("main")
	stacks := []store.StackValue{stack(9, s.location("wide"), main)}
	for i := range flame.MaxNodes {
		stacks = append(stacks, stack(1, s.location(fmt.Sprint("f", i)), main))
	}
	want := fmt.Sprintf("total 0/%d\n main 0/%d\n  wide 9/9\n", flame.MaxNodes+9, flame.MaxNodes+9)
	for range 2 {
		g := summary(stacks).Graph()
		if got := drawn(g); got != want || g.Omitted != flame.MaxNodes {
			t.Errorf("%d omitted of\n%.200s", g.Omitted, got)
		}
		if n := len(g.Functions.Name); n != flame.MaxNodes+2 {
			t.Errorf("%d functions, want all %d", n, flame.MaxNodes+2)
		}
		slices.Reverse(stacks)
	}
}

// Sums of nodes, functions and lines agree in a large profile.
func TestSumsAgree(t *testing.T) {
	rnd := rand.New(rand.NewPCG(1, 2))
	var s locations
	var stacks []store.StackValue
	var want int64
	for range 1000 {
		var path []*profile.Location
		for range 20 + rnd.IntN(20) {
			path = append(path, s.location(fmt.Sprint("main.f", rnd.IntN(3))))
		}
		stacks = append(stacks, stack(rnd.Int64N(9), path...))
		want += stacks[len(stacks)-1].Value
	}
	g := summary(stacks).Graph()
	parts, lines := make([]int64, g.Len()), int64(0)
	for i := g.Len() - 1; i >= 0; i-- {
		if parts[i] += g.Self[i]; parts[i] != g.Total[i] {
			t.Fatalf("node %d has total %d, its parts %d", i, g.Total[i], parts[i])
		}
		if i > 0 {
			parts[g.Parent[i]] += parts[i]
		}
	}
	for i := range g.Functions.Name {
		for line := range slices.Chunk(g.Functions.Lines[i], 3) {
			lines += line[1]
		}
	}
	if g.Total[0] != want || lines != want {
		t.Errorf("total %d, lines %d, want %d", g.Total[0], lines, want)
	}
}
