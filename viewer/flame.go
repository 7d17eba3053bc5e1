// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package viewer

import (
	"cmp"
	"slices"
)

const (
	// maxFlameNodes bounds an answer. A page of 1,300 pixels has no room for
	// more: the 5,000th widest frame is far below a pixel.
	maxFlameNodes = 5000
	// maxFlameDepth keeps the answer readable for encoding/json, which
	// refuses more than 10,000 levels of nesting, of which a frame takes two.
	maxFlameDepth = 2000
	// otherName names the sum of the frames that were cut.
	otherName = "(other)"
)

// flameNode is a frame of a flame graph with what it called.
type flameNode struct {
	Name     string       `json:"name"`
	File     string       `json:"file,omitempty"`
	Line     int64        `json:"line,omitempty"`
	Self     int64        `json:"self"`
	Total    int64        `json:"total"`
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
	all := make([]flameNode, len(t.nodes))
	others := map[int32]*flameNode{}
	for i, n := range t.nodes {
		if i == 0 {
			all[0] = flameNode{Name: "total", Self: n.self, Total: n.total}
			continue
		}
		if !kept[n.parent] {
			continue
		}
		parent := &all[n.parent]
		if !kept[i] {
			other, ok := others[n.parent]
			if !ok {
				other = &flameNode{Name: otherName, depth: n.depth}
				others[n.parent] = other
				parent.Children = append(parent.Children, other)
			}
			other.Self += n.total
			other.Total += n.total
			continue
		}
		fn := t.functions.list[n.function]
		all[i] = flameNode{Name: fn.name, File: fn.file, Line: fn.line, Self: n.self, Total: n.total, Inlined: n.inlined, depth: n.depth}
		parent.Children = append(parent.Children, &all[i])
	}
	for i := range all {
		slices.SortFunc(all[i].Children, func(a, b *flameNode) int {
			return cmp.Or(cmp.Compare(b.Total, a.Total), cmp.Compare(a.Name, b.Name))
		})
	}
	return &all[0]
}

// widest marks the nodes to keep. A node is kept only if its parent is.
func (t *tree) widest(maxNodes int) []bool {
	kept := make([]bool, len(t.nodes))
	order := make([]int32, len(t.nodes))
	for i := range order {
		order[i] = int32(i)
	}
	if len(order) > maxNodes {
		slices.SortFunc(order, func(a, b int32) int {
			return cmp.Or(cmp.Compare(t.nodes[b].total, t.nodes[a].total), cmp.Compare(a, b))
		})
		order = order[:max(1, maxNodes)]
	}
	for _, i := range order {
		kept[i] = t.nodes[i].depth <= maxFlameDepth
	}
	kept[0] = true
	for i, n := range t.nodes {
		kept[i] = kept[i] && kept[n.parent]
	}
	return kept
}
