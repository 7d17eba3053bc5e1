// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

// Package flametest makes up programs whose profiles tests and benchmarks sum.
package flametest

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"

	"github.com/spanprof/spanprof/store"
)

// Locations makes locations. Those with one function name share the function.
type Locations struct {
	functions map[string]*store.Function
}

// Location returns a location of functions, the innermost inlined one first.
func (l *Locations) Location(names ...string) *store.Location {
	if l.functions == nil {
		l.functions = map[string]*store.Function{}
	}
	loc := &store.Location{}
	for _, name := range names {
		fn, ok := l.functions[name]
		if !ok {
			fn = &store.Function{Name: name, File: name + ".go"}
			l.functions[name] = fn
		}
		loc.Lines = append(loc.Lines, store.Line{Function: fn, Line: 7})
	}
	return loc
}

// Random returns the stacks of a made-up program, the same for the same arguments, of
// samples of 10 ms. Every function calls up to three others, the first of them most of
// the time.
func Random(samples, depth, functions int) []store.StackValue {
	rnd := rand.New(rand.NewPCG(1, 2))
	var l Locations
	locations := make([]*store.Location, functions)
	for i := range locations {
		locations[i] = l.Location(fmt.Sprintf("example.com/some/module/package%d.(*Type%d).Method%d", i%20, i%50, i))
	}
	values := map[string]*store.StackValue{}
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
	}
	var stacks []store.StackValue
	for _, v := range values {
		stacks = append(stacks, *v)
	}
	return stacks
}
