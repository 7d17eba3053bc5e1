// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package viewer

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/spanprof/spanprof/store"
)

// testStacks makes stacks of named functions, leaf first.
type testStacks struct {
	functions map[string]*store.Function
}

func (s *testStacks) location(inlinedFirst ...string) *store.Location {
	loc := &store.Location{}
	for _, name := range inlinedFirst {
		fn, ok := s.functions[name]
		if !ok {
			fn = &store.Function{Name: name, File: name + ".go"}
			if s.functions == nil {
				s.functions = map[string]*store.Function{}
			}
			s.functions[name] = fn
		}
		loc.Lines = append(loc.Lines, store.Line{Function: fn, Line: 7})
	}
	return loc
}

func selection(stacks ...store.StackValue) *store.Selection {
	sel := &store.Selection{Stacks: stacks, Unit: unitNanoseconds}
	for _, s := range stacks {
		sel.Total += s.Value
	}
	return sel
}

func flameOf(sel *store.Selection, maxNodes int) *flameNode {
	return newBreakdown(sel, newFunctions()).tree.flame(maxNodes)
}

func TestTreeInlining(t *testing.T) {
	var s testStacks
	unnamed := &store.Location{Address: 0x42, Mapping: &store.Mapping{File: "/lib/libc.so"}}
	sel := selection(
		store.StackValue{Stack: &store.Stack{Locations: []*store.Location{s.location("in", "mid", "out"), s.location("main")}}, Value: 3},
		store.StackValue{Stack: &store.Stack{Locations: []*store.Location{s.location("out"), s.location("main")}}, Value: 2},
		store.StackValue{Stack: &store.Stack{Locations: []*store.Location{unnamed}}, Value: 1},
		store.StackValue{Stack: &store.Stack{}, Value: 1},
	)
	got, err := json.Marshal(flameOf(sel, maxFlameNodes))
	if err != nil {
		t.Fatal(err)
	}
	want := `{"name":"total","self":1,"total":7,"children":[` +
		`{"name":"main","total":5,"children":[` +
		`{"name":"out","self":2,"total":5,"children":[` +
		`{"name":"mid","total":3,"inlined":true,"children":[` +
		`{"name":"in","self":3,"total":3,"inlined":true}]}]}]},` +
		`{"name":"libc.so 0x42","self":1,"total":1}]}`
	if string(got) != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

func TestRecursionCountsOnce(t *testing.T) {
	var s testStacks
	f, g := s.location("f"), s.location("g")
	sel := selection(store.StackValue{Stack: &store.Stack{Locations: []*store.Location{f, g, f, f}}, Value: 10})
	list := newBreakdown(sel, newFunctions()).totals.list()
	for _, fn := range list {
		if fn.Total != 10 {
			t.Errorf("%s: total %d, want 10", fn.Name, fn.Total)
		}
	}
	if fn := list[0]; fn.Name != "f" || fn.Self != 10 {
		t.Errorf("first function is %+v", fn)
	}
}

// Nothing is lost by cutting: the totals of children and self add up.
func TestPruning(t *testing.T) {
	sel := randomSelection(10_000, 40, 500)
	for _, maxNodes := range []int{1, 2, 100, 1000, maxFlameNodes} {
		root := flameOf(sel, maxNodes)
		if root.Total != sel.Total {
			t.Fatalf("%d nodes: total %d, want %d", maxNodes, root.Total, sel.Total)
		}
		named := 0
		todo := []*flameNode{root}
		for len(todo) > 0 {
			n := todo[len(todo)-1]
			todo = append(todo[:len(todo)-1], n.Children...)
			sum := n.Self
			for i, c := range n.Children {
				sum += c.Total
				if i > 0 && n.Children[i-1].Total < c.Total {
					t.Fatalf("%d nodes: children of %s are not in order", maxNodes, n.Name)
				}
			}
			if sum != n.Total {
				t.Fatalf("%d nodes: %s has total %d, its parts %d", maxNodes, n.Name, n.Total, sum)
			}
			if n.Name != otherName {
				named++
			}
		}
		if named > maxNodes {
			t.Errorf("%d nodes were kept of at most %d", named, maxNodes)
		}
	}
}

func TestDeepStack(t *testing.T) {
	var s testStacks
	deep := &store.Stack{}
	for i := range 10_000 {
		deep.Locations = append(deep.Locations, s.location(fmt.Sprintf("f%d", i)))
	}
	root := flameOf(selection(store.StackValue{Stack: deep, Value: 9}), 10_000)
	b, err := json.Marshal(root)
	if err != nil {
		t.Fatal(err)
	}
	var back flameNode
	if err := json.Unmarshal(b, &back); err != nil {
		t.Fatal(err)
	}
	n := &back
	depth := 0
	for len(n.Children) > 0 {
		n = n.Children[0]
		depth++
	}
	if n.Name != otherName || n.Total != 9 || depth != maxFlameDepth+1 {
		t.Errorf("the graph ends with %s of %d at depth %d", n.Name, n.Total, depth)
	}
	if lines := frameLines(root); len(lines) != 1 {
		t.Errorf("a run of single calls takes %d lines, want 1", len(lines))
	}
}

// randomSelection returns stacks of a made-up program, in which every function
// calls up to three others, the first of them most of the time.
func randomSelection(samples, depth, functions int) *store.Selection {
	rnd := rand.New(rand.NewPCG(1, 2))
	var s testStacks
	locations := make([]*store.Location, functions)
	for i := range locations {
		locations[i] = s.location(fmt.Sprintf("example.com/some/module/package%d.(*Type%d).Method%d", i%20, i%50, i))
	}
	values := map[string]*store.StackValue{}
	sel := &store.Selection{Unit: unitNanoseconds, SampleType: "cpu", Samples: int64(samples)}
	for range samples {
		var stack []*store.Location
		var path strings.Builder
		at := 0
		for range depth/2 + rnd.IntN(depth/2) {
			stack = append(stack, locations[at])
			fmt.Fprint(&path, at, ",")
			callee := 0
			for callee < 2 && rnd.IntN(24) == 0 {
				callee++
			}
			at = (at*3 + callee + 1) % functions
		}
		slices.Reverse(stack)
		key := path.String()
		v, ok := values[key]
		if !ok {
			v = &store.StackValue{Stack: &store.Stack{Locations: stack}}
			values[key] = v
		}
		v.Value += 1e7
		sel.Total += 1e7
	}
	for _, v := range values {
		sel.Stacks = append(sel.Stacks, *v)
	}
	return sel
}

// The store gives stacks in no order: what has no room must not depend on it.
func TestPruningDoesNotDependOnOrder(t *testing.T) {
	var s testStacks
	elsewhere := &store.Location{Lines: []store.Line{{Function: &store.Function{Name: "f7", File: "a.go"}, Line: 3}}}
	sel := selection(store.StackValue{Stack: &store.Stack{Locations: []*store.Location{elsewhere, s.location("main")}}, Value: 1})
	for i := range 3000 {
		// Twins have the same function, and differ in what called it.
		leaf, caller := s.location(fmt.Sprint("f", i/2)), s.location(fmt.Sprint("g", i%7, i%2))
		sel.Stacks = append(sel.Stacks, store.StackValue{Stack: &store.Stack{Locations: []*store.Location{leaf, caller, s.location("main")}}, Value: 1})
	}
	rnd := rand.New(rand.NewPCG(1, 2))
	for _, maxNodes := range []int{1, 5, 1000, maxFlameNodes} {
		first := ""
		for range 5 {
			rnd.Shuffle(len(sel.Stacks), func(i, j int) { sel.Stacks[i], sel.Stacks[j] = sel.Stacks[j], sel.Stacks[i] })
			b := newBreakdown(sel, newFunctions())
			flame := b.tree.flame(maxNodes)
			got, err := json.Marshal([]any{b.totals.list(), flame})
			if err != nil {
				t.Fatal(err)
			}
			if first == "" {
				first = string(got)
			}
			if string(got) != first {
				t.Fatalf("%d nodes: two graphs of one profile", maxNodes)
			}
		}
		named := 0
		for todo := []*flameNode{flameOf(sel, maxNodes)}; len(todo) > 0; todo = todo[1:] {
			todo = append(todo, todo[0].Children...)
			if todo[0].Name != otherName {
				named++
			}
		}
		if named != maxNodes {
			t.Errorf("%d nodes: %d have room", maxNodes, named)
		}
	}
}
