// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package flame

// tree is a flame tree. Its nodes are in one slice, a parent before its children:
// sums over the tree are loops, so that no stack is too deep.
type tree struct {
	functions *Functions
	nodes     []treeNode
	// more has the children that are not in their parent's list.
	more map[childKey]int32
}

// childKey is a function below a node.
type childKey struct{ parent, function int32 }

// maxListed bounds a node's list of children. Nearly all nodes have few, and walking
// a short list takes a third of the time of a map lookup. The map is for nodes with
// very many children.
const maxListed = 8

// treeNode is a function below a path of callers. nodes[0] is the root, which is not
// a function.
type treeNode struct {
	parent, function int32
	// first is the first child, next the next child of the same parent; 0 is
	// none.
	first, next int32
	// inlined is set if every sample had the function inlined here.
	inlined     bool
	self, total int64
}

func newTree(fns *Functions) *tree {
	return &tree{functions: fns, nodes: []treeNode{{function: -1}}, more: map[childKey]int32{}}
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
	child, last, full := t.find(at, f.function)
	if child == 0 {
		child = int32(len(t.nodes))
		t.nodes = append(t.nodes, treeNode{parent: at, function: f.function, inlined: f.inlined})
		switch {
		case full:
			t.more[childKey{at, f.function}] = child
		case last == 0:
			t.nodes[at].first = child
		default:
			t.nodes[last].next = child
		}
	}
	n := &t.nodes[child]
	n.inlined = n.inlined && f.inlined
	return child
}

// find returns the child of a node with a function. Without one it returns 0, the
// last child of the node's list, and whether the list is full.
func (t *tree) find(at, function int32) (child, last int32, full bool) {
	listed := 0
	for c := t.nodes[at].first; c != 0; c = t.nodes[c].next {
		if t.nodes[c].function == function {
			return c, 0, false
		}
		last = c
		listed++
	}
	if listed < maxListed {
		return 0, last, false
	}
	return t.more[childKey{at, function}], last, true
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
