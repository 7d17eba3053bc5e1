// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package flame

// tree is a flame tree. Its nodes are in one slice, a parent before its children:
// sums over the tree are loops, so that no stack is too deep.
type tree struct {
	functions *Functions
	nodes     []treeNode
	children  map[childKey]int32
}

// childKey is a function below a node.
type childKey struct{ parent, function int32 }

// treeNode is a function below a path of callers. nodes[0] is the root, which is not
// a function.
type treeNode struct {
	parent, function int32
	// inlined is set if every sample had the function inlined here.
	inlined     bool
	self, total int64
}

func newTree(fns *Functions) *tree {
	return &tree{functions: fns, nodes: []treeNode{{function: -1}}, children: map[childKey]int32{}}
}

// add adds a value to the end of a path from the root. sum updates the totals.
func (t *tree) add(path []frame, value int64) {
	at := int32(0)
	for _, f := range path {
		at = t.child(at, f)
	}
	t.nodes[at].self += value
}

// child returns the node for a function below another node.
func (t *tree) child(at int32, f frame) int32 {
	key := childKey{at, f.function}
	child, ok := t.children[key]
	if !ok {
		child = int32(len(t.nodes))
		t.nodes = append(t.nodes, treeNode{parent: at, function: f.function, inlined: f.inlined})
		t.children[key] = child
	}
	n := &t.nodes[child]
	n.inlined = n.inlined && f.inlined
	return child
}

// sum sets the totals.
func (t *tree) sum() {
	for i := len(t.nodes) - 1; i >= 0; i-- {
		n := &t.nodes[i]
		n.total += n.self
		if i > 0 {
			t.nodes[n.parent].total += n.total
		}
	}
}
