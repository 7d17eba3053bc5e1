// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package viewer

import (
	"cmp"
	"math"
	"slices"
)

const (
	// maxFlameNodes bounds an answer. A page of 1,400 pixels has no room for
	// more: of so many frames most are narrower than a pixel.
	maxFlameNodes = 1400
	// maxFlameDepth keeps the answer readable for encoding/json, which
	// refuses more than 10,000 levels of nesting, of which a frame takes two.
	maxFlameDepth = 2000
	// otherName names the sum of the frames that were cut.
	otherName = "(other)"
)

// flameNode is a frame of a flame graph with what it called.
type flameNode struct {
	Name  string `json:"name"`
	Self  int64  `json:"self,omitempty"`
	Total int64  `json:"total"`
	// Left is what the same frame takes in total on the left side of a
	// comparison.
	Left     int64        `json:"left,omitempty"`
	Inlined  bool         `json:"inlined,omitempty"`
	Children []*flameNode `json:"children,omitempty"`

	// depth is 0 for the root.
	depth int32
}

// flame returns the tree's widest frames, at most maxNodes and the "(other)"
// frames that hold the sums of those that were cut. Children are ordered by
// their total, the widest first.
func (t *tree) flame(maxNodes int) *flameNode {
	kept := t.widest(maxNodes)
	n := 0
	for _, k := range kept {
		if k {
			n++
		}
	}
	// Nodes are pointed to: the slice must not grow. at has the place in it of
	// each kept node.
	list, at := make([]flameNode, 0, n), make([]int32, len(t.nodes))
	others := map[int32]*flameNode{}
	for i, n := range t.nodes {
		if i > 0 && !kept[n.parent] {
			continue
		}
		node := flameNode{Self: n.self, Total: n.total, Inlined: n.inlined, depth: n.depth}
		if t.left != nil {
			node.Left = t.left[i]
		}
		if i == 0 {
			node.Name = "total"
			list = append(list, node)
			continue
		}
		parent := &list[at[n.parent]]
		if !kept[i] {
			other, ok := others[n.parent]
			if !ok {
				other = &flameNode{Name: otherName, depth: n.depth}
				others[n.parent] = other
				parent.Children = append(parent.Children, other)
			}
			other.Self += node.Total
			other.Total += node.Total
			other.Left += node.Left
			continue
		}
		node.Name = t.functions.list[n.function].name
		at[i] = int32(len(list))
		list = append(list, node)
		parent.Children = append(parent.Children, &list[at[i]])
	}
	for i := range list {
		slices.SortFunc(list[i].Children, func(a, b *flameNode) int {
			return cmp.Or(cmp.Compare(b.Total, a.Total), cmp.Compare(a.Name, b.Name))
		})
	}
	return &list[0]
}

// widest marks the nodes to keep. A node is kept only if its parent is. The order
// in which the stacks came makes no difference: a profile has one graph.
func (t *tree) widest(maxNodes int) []bool {
	// Of the nodes that are as wide as the narrowest one to keep, some have
	// room.
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
		kept[i] = i == 0 || kept[n.parent] && n.depth <= maxFlameDepth
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

// nearest returns n of the nodes with a total, those nearest to the root; of
// nodes that are as near, the first by the names on their paths.
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
			return cmp.Compare(t.functions.list[m.function].name, t.functions.list[n.function].name)
		}
		a, b = m.parent, n.parent
	}
	return 0
}
