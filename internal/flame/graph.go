// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package flame

import (
	"cmp"
	"math"
	"slices"
)

const (
	// MaxDepth bounds the depth of a graph: encoding/json reads at most 10,000
	// levels of nesting, and a frame takes two of them.
	MaxDepth = 2000
	// Other is the name of the frames that hold the sums of those that were
	// cut.
	Other = "(other)"
	// rootName is the name of the frame that holds all others.
	rootName = "total"
)

// Node is a frame of a flame graph with its callees.
type Node struct {
	Name  string `json:"name"`
	Self  int64  `json:"self,omitempty"`
	Total int64  `json:"total"`
	// Left is the total of the same path in the profile that this one is
	// compared with.
	Left int64 `json:"left,omitempty"`
	// Match is how much of Total is in functions that a search is about, each sample
	// once.
	Match int64 `json:"match,omitempty"`
	// Frames is the number of frames that a frame called Other stands for.
	Frames   int       `json:"frames,omitempty"`
	Inlined  bool      `json:"inlined,omitempty"`
	Type     FrameType `json:"type,omitempty"`
	Children []*Node   `json:"children,omitempty"`
}

// flame returns the widest frames. left has the totals of the other side for the
// nodes, nil if there is no other side; found what a search found in them, nil without one.
func (t *tree) flame(maxNodes int, left, found []int64) *Node {
	kept := t.widest(maxNodes)
	n := 0
	for _, k := range kept {
		if k {
			n++
		}
	}
	// The slice must not grow, for there are pointers to its nodes. at has the
	// index of each node that is kept.
	list, at := make([]Node, 0, n), make([]int32, len(t.nodes))
	others := map[int32]*Node{}
	sizes := t.sizes()
	for i, n := range t.nodes {
		if i > 0 && !kept[n.parent] {
			continue
		}
		node := Node{Self: n.self, Total: n.total, Inlined: n.inlined}
		if left != nil {
			node.Left = left[i]
		}
		if found != nil {
			node.Match = found[i]
		}
		if i == 0 {
			node.Name = rootName
			list = append(list, node)
			continue
		}
		parent := &list[at[n.parent]]
		if !kept[i] {
			other, ok := others[n.parent]
			if !ok {
				other = &Node{Name: Other}
				others[n.parent] = other
				parent.Children = append(parent.Children, other)
			}
			other.Self += node.Total
			other.Total += node.Total
			other.Left += node.Left
			other.Match += node.Match
			other.Frames += sizes[i]
			continue
		}
		fn := &t.functions.list[n.function]
		node.Name, node.Type = fn.name, fn.typ
		at[i] = int32(len(list))
		list = append(list, node)
		parent.Children = append(parent.Children, &list[at[i]])
	}
	for i := range list {
		slices.SortFunc(list[i].Children, func(a, b *Node) int {
			return cmp.Or(cmp.Compare(b.Total, a.Total), cmp.Compare(a.Name, b.Name), cmp.Compare(a.Type, b.Type))
		})
	}
	return &list[0]
}

// sizes returns the number of nodes from each node on.
func (t *tree) sizes() []int {
	sizes := make([]int, len(t.nodes))
	for i := len(t.nodes) - 1; i >= 0; i-- {
		sizes[i]++
		if i > 0 {
			sizes[t.nodes[i].parent] += sizes[i]
		}
	}
	return sizes
}

// widest marks the nodes to keep. A node is kept only if its parent is. The result
// does not depend on the order of the stacks.
func (t *tree) widest(maxNodes int) []bool {
	// All nodes wider than narrowest are kept, and room of those as wide as it.
	narrowest, room := int64(math.MinInt64), 0
	if len(t.nodes) > maxNodes {
		totals := make([]int64, len(t.nodes))
		for i, n := range t.nodes {
			totals[i] = n.total
		}
		slices.Sort(totals)
		wide := totals[len(totals)-max(1, maxNodes):]
		narrowest = wide[0]
		for _, total := range wide {
			if total == narrowest {
				room++
			}
		}
	}
	kept := make([]bool, len(t.nodes))
	kept[0] = true
	keep := func(i int) {
		n := &t.nodes[i]
		kept[i] = i == 0 || kept[n.parent] && n.depth <= MaxDepth
	}
	for i := range t.nodes {
		if t.nodes[i].total > narrowest {
			keep(i)
		}
	}
	for _, i := range t.nearest(narrowest, room) {
		keep(int(i))
	}
	return kept
}

// nearest returns n of the nodes with a total: those nearest to the root, and of one
// depth the first by the names on their paths.
func (t *tree) nearest(total int64, n int) []int32 {
	if n == 0 {
		return nil
	}
	var byDepth [][]int32
	for i := range t.nodes {
		if t.nodes[i].total != total {
			continue
		}
		depth := int(t.nodes[i].depth)
		for len(byDepth) <= depth {
			byDepth = append(byDepth, nil)
		}
		byDepth[depth] = append(byDepth[depth], int32(i))
	}
	var nearest []int32
	for _, nodes := range byDepth {
		if room := n - len(nearest); len(nodes) > room {
			slices.SortFunc(nodes, t.comparePaths)
			return append(nearest, nodes[:room]...)
		}
		nearest = append(nearest, nodes...)
	}
	return nearest
}

// comparePaths orders nodes of one depth by the names of their functions, then by
// those of their callers.
func (t *tree) comparePaths(a, b int32) int {
	for a != b {
		m, n := &t.nodes[a], &t.nodes[b]
		if m.function != n.function {
			return t.functions.list[m.function].compare(t.functions.list[n.function].functionKey)
		}
		a, b = m.parent, n.parent
	}
	return 0
}
