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
// A stack without frames is "(unknown)".
func (s *Summary) Folded() string {
	names := make([]string, len(s.functions.list))
	for i, fn := range s.functions.list {
		// The separator is part of the names of some generic functions.
		names[i] = strings.ReplaceAll(termtext.OneLine(fn.name), ";", ":")
		if fn.typ == Kernel {
			names[i] += "_[k]" // by which flamegraph.pl colours kernel frames
		}
	}
	stacks := map[string]int64{}
	var path []string
	for i, n := range s.tree.nodes {
		if n.self == 0 {
			continue
		}
		path = path[:0]
		for at := int32(i); at != 0; at = s.tree.nodes[at].parent {
			path = append(path, names[s.tree.nodes[at].function])
		}
		if i == 0 {
			path = append(path, "(unknown)")
		}
		slices.Reverse(path)
		// Two names can fold to the same text.
		stacks[strings.Join(path, ";")] += n.self
	}
	var b strings.Builder
	for _, stack := range slices.Sorted(maps.Keys(stacks)) {
		fmt.Fprintf(&b, "%s %d\n", stack, stacks[stack])
	}
	return b.String()
}
