// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package flame_test

import (
	"context"
	"encoding/json"
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

// maxNodes is the number of frames in a page.
const maxNodes = 1400

func TestTreeInlining(t *testing.T) {
	var s locations
	unnamed := &profile.Location{Address: 0x42, Mapping: &profile.Mapping{File: "/lib/libc.so"}}
	stacks := []store.StackValue{
		stack(3, s.location("in", "mid", "out"), s.location("main")),
		stack(2, s.location("out"), s.location("main")),
		stack(1, unnamed),
		stack(1),
	}
	got, err := json.Marshal(summary(stacks).Flame(maxNodes))
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

// Nothing is lost by cutting: the totals of children and self add up.
func TestPruning(t *testing.T) {
	all := summary(randomStacks(10_000, 40, 500))
	for _, maxNodes := range []int{1, 2, 100, 1000, maxNodes} {
		root := all.Flame(maxNodes)
		if want := int64(10_000 * 1e7); root.Total != want || all.Total() != want {
			t.Fatalf("%d nodes: total %d, want %d", maxNodes, root.Total, want)
		}
		named := 0
		todo := []*flame.Node{root}
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
			if n.Name != flame.Other {
				named++
			}
		}
		if named > maxNodes {
			t.Errorf("%d nodes were kept of at most %d", named, maxNodes)
		}
	}
}

func TestDeepStack(t *testing.T) {
	var s locations
	var deep []*profile.Location
	for i := range 10_000 {
		deep = append(deep, s.location(fmt.Sprintf("f%d", i)))
	}
	root := summary([]store.StackValue{{Stack: deep, Value: 9}}).Flame(10_000)
	b, err := json.Marshal(root)
	if err != nil {
		t.Fatal(err)
	}
	var back flame.Node
	if err := json.Unmarshal(b, &back); err != nil {
		t.Fatal(err)
	}
	n := &back
	depth := 0
	for len(n.Children) > 0 {
		n = n.Children[0]
		depth++
	}
	if n.Name != flame.Other || n.Total != 9 || depth != flame.MaxDepth+1 {
		t.Errorf("the graph ends with %s of %d at depth %d", n.Name, n.Total, depth)
	}
}

// Which frames are cut must not depend on the order of the stacks.
func TestPruningDoesNotDependOnOrder(t *testing.T) {
	var s locations
	elsewhere := &profile.Location{Line: []profile.Line{{Function: &profile.Function{Name: "f7", Filename: "a.go"}, Line: 3}}}
	stacks := []store.StackValue{stack(1, elsewhere, s.location("main"))}
	for i := range 3000 {
		// Twins have the same function, and differ in what called it.
		leaf, caller := s.location(fmt.Sprint("f", i/2)), s.location(fmt.Sprint("g", i%7, i%2))
		stacks = append(stacks, stack(1, leaf, caller, s.location("main")))
	}
	rnd := rand.New(rand.NewPCG(1, 2))
	for _, maxNodes := range []int{1, 5, 1000, maxNodes} {
		first := ""
		for range 5 {
			rnd.Shuffle(len(stacks), func(i, j int) { stacks[i], stacks[j] = stacks[j], stacks[i] })
			all := summary(stacks)
			got, err := json.Marshal([]any{all.Functions(), all.Flame(maxNodes)})
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
		for todo := []*flame.Node{summary(stacks).Flame(maxNodes)}; len(todo) > 0; todo = todo[1:] {
			todo = append(todo, todo[0].Children...)
			if todo[0].Name != flame.Other {
				named++
			}
		}
		if named != maxNodes {
			t.Errorf("%d nodes: %d have room", maxNodes, named)
		}
	}
}

// randomStacks returns the stacks of a made-up program with samples of 10 ms. Every
// function calls up to three others, the first of them most of the time.
func randomStacks(samples, depth, functions int) []store.StackValue {
	rnd := rand.New(rand.NewPCG(1, 2))
	var l locations
	all := make([]*profile.Location, functions)
	for i := range all {
		all[i] = l.location(fmt.Sprintf("example.com/some/module/package%d.(*Type%d).Method%d", i%20, i%50, i))
	}
	values := map[string]*store.StackValue{}
	for range samples {
		var stack []*profile.Location
		var path strings.Builder
		at := 0
		for range depth/2 + rnd.IntN(depth/2) {
			stack = append(stack, all[at])
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
			v = &store.StackValue{Stack: stack}
			values[key] = v
		}
		v.Value += 1e7
	}
	var stacks []store.StackValue
	for _, v := range values {
		stacks = append(stacks, *v)
	}
	return stacks
}
