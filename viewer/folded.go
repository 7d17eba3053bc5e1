// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package viewer

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// folded answers with the stacks that q selects.
func (h *handler) folded(ctx context.Context, q query) (response, error) {
	sel, err := h.selection(ctx, q)
	if err != nil {
		return response{}, err
	}
	return textResponse(newBreakdown(sel, newFunctions()).tree.folded()), nil
}

// folded writes the stacks as flamegraph.pl, speedscope and inferno read them:
// "root;caller;leaf value", one line each, in order.
func (t *tree) folded() string {
	stacks := t.stacks()
	var b strings.Builder
	for _, stack := range slices.Sorted(maps.Keys(stacks)) {
		fmt.Fprintf(&b, "%s %d\n", stack, stacks[stack])
	}
	return b.String()
}

// foldedDiff writes two trees as difffolded.pl does: "root;caller;leaf left
// right".
func foldedDiff(left, right *tree) string {
	l, r := left.stacks(), right.stacks()
	both := maps.Clone(l)
	maps.Copy(both, r)
	var b strings.Builder
	for _, stack := range slices.Sorted(maps.Keys(both)) {
		fmt.Fprintf(&b, "%s %d %d\n", stack, l[stack], r[stack])
	}
	return b.String()
}

// stacks returns the value of each path that ends a stack. Stacks without a
// frame have the path "(unknown)".
func (t *tree) stacks() map[string]int64 {
	names := make([]string, len(t.functions.list))
	for i, fn := range t.functions.list {
		names[i] = foldedName(fn.name)
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

// foldedName replaces what separates names in the folded form. Names of
// instances of generic functions may hold it.
func foldedName(name string) string {
	return strings.ReplaceAll(oneLine(name), ";", ":")
}
