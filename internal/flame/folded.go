// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package flame

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/spanprof/spanprof/internal/termtext"
)

// Folded returns the stacks in the form that flamegraph.pl, speedscope and inferno
// read: lines of "root;caller;leaf value", sorted.
func (s *Summary) Folded() string {
	stacks := s.tree.stacks()
	var b strings.Builder
	for _, stack := range slices.Sorted(maps.Keys(stacks)) {
		fmt.Fprintf(&b, "%s %d\n", stack, stacks[stack])
	}
	return b.String()
}

// stacks returns the value of each path at which a stack ends. A stack without
// frames has the path "(unknown)".
func (t *tree) stacks() map[string]int64 {
	names := make([]string, len(t.functions.list))
	for i, fn := range t.functions.list {
		names[i] = foldedName(fn.name)
		if fn.typ == Kernel {
			names[i] += "_[k]" // by which flamegraph.pl colours kernel frames
		}
	}
	stacks := map[string]int64{}
	var path []string
	for i, n := range t.nodes {
		if n.self == 0 {
			continue
		}
		path = path[:0]
		for at := int32(i); at != 0; at = t.nodes[at].parent {
			path = append(path, names[t.nodes[at].function])
		}
		if i == 0 {
			path = append(path, "(unknown)")
		}
		slices.Reverse(path)
		// Two names can fold to the same text.
		stacks[strings.Join(path, ";")] += n.self
	}
	return stacks
}

// foldedName replaces the separator of the folded form, which is part of the names of
// some generic functions.
func foldedName(name string) string {
	return strings.ReplaceAll(termtext.OneLine(name), ";", ":")
}
