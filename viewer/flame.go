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

// widest marks the nodes to keep. A node is kept only if its parent is.
func (t *tree) widest(maxNodes int) []bool {
	// Of the nodes that are as wide as the narrowest one to keep, the first
	// ones have room: parents come before their children.
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
	for i, n := range t.nodes {
		if n.total < narrowest || n.depth > maxFlameDepth || !kept[n.parent] && i > 0 {
			continue
		}
		if n.total == narrowest && len(t.nodes) > maxNodes {
			if room == 0 {
				continue
			}
			room--
		}
		kept[i] = true
	}
	kept[0] = true
	return kept
}
