// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package viewer

import "github.com/spanprof/spanprof/store"

// tree is a flame tree. Its nodes lie in one slice, where a parent comes
// before its children, so that sums over the tree are loops and a stack of any
// depth is safe.
type tree struct {
	functions *functions
	nodes     []treeNode
}

// treeNode is a function below a path of callers. nodes[0] is the root, which
// is no function.
type treeNode struct {
	parent, depth, function int32
	// inlined says that every sample had the function inlined here.
	inlined     bool
	self, total int64
}

// newTree sums a selection into a tree.
func newTree(sel *store.Selection) *tree {
	t := &tree{functions: newFunctions(), nodes: []treeNode{{function: -1}}}
	children := map[int64]int32{}
	for _, sv := range sel.Stacks {
		at := int32(0)
		t.functions.frames(sv.Stack, func(fn int32, inlined bool) {
			key := int64(at)<<32 | int64(fn)
			child, ok := children[key]
			if !ok {
				child = int32(len(t.nodes))
				t.nodes = append(t.nodes, treeNode{parent: at, depth: t.nodes[at].depth + 1, function: fn, inlined: inlined})
				children[key] = child
			}
			at = child
			t.nodes[at].inlined = t.nodes[at].inlined && inlined
		})
		t.nodes[at].self += sv.Value
	}
	for i := len(t.nodes) - 1; i >= 0; i-- {
		n := &t.nodes[i]
		n.total += n.self
		if i > 0 {
			t.nodes[n.parent].total += n.total
		}
	}
	return t
}
