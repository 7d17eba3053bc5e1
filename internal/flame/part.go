// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package flame

import (
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// Part says what of a graph is asked for.
type Part struct {
	// MaxNodes bounds the frames.
	MaxNodes int
	// Zoom is the path id of the frame to begin with, in 16 hexadecimal digits; "" is
	// the whole graph.
	Zoom string
	// Search is looked for in the functions: see Functions.matcher. "" marks none.
	Search string
}

// part returns the widest frames of a part and the frames that lead to it, from the root on
// and without their other callees; nil if the tree has no frame to zoom to. The sums are
// those of the whole tree, whatever is cut. left is as in flame.
func (t *tree) part(p Part, left []int64) (root *Node, path []*Node) {
	if p.Zoom != "" {
		var from []int32
		all := t
		if t, from = t.below(p.Zoom); t == nil {
			return nil, nil
		}
		path = all.path(from[0], left, all.matches(p.Search))
		if left != nil {
			kept := make([]int64, len(from))
			for i, j := range from {
				kept[i] = left[j]
			}
			left = kept
		}
	}
	root = t.flame(p.MaxNodes, left, t.matches(p.Search))
	if fn := t.nodes[0].function; fn >= 0 {
		root.Name, root.Type = t.functions.list[fn].name, t.functions.list[fn].typ
	}
	return root, path
}

// path returns the nodes above a node, from the root on.
func (t *tree) path(to int32, left, found []int64) []*Node {
	var path []*Node
	for at := to; at != 0; {
		at = t.nodes[at].parent
		n := &Node{Name: rootName, Self: t.nodes[at].self, Total: t.nodes[at].total, Inlined: t.nodes[at].inlined}
		if fn := t.nodes[at].function; fn >= 0 {
			n.Name, n.Type = t.functions.list[fn].name, t.functions.list[fn].typ
		}
		if left != nil {
			n.Left = left[at]
		}
		if found != nil {
			n.Match = found[at]
		}
		path = append(path, n)
	}
	slices.Reverse(path)
	return path
}

// below returns the tree from the node with a path id on, and the index in t of each of its
// nodes; nil without such a node.
func (t *tree) below(id string) (*tree, []int32) {
	wanted, err := strconv.ParseUint(id, 16, 64)
	if err != nil {
		return nil, nil
	}
	root := slices.Index(t.pathIDs(), wanted)
	if root < 1 {
		return nil, nil
	}
	sub := &tree{functions: t.functions, nodes: []treeNode{t.nodes[root]}}
	sub.nodes[0].parent, sub.nodes[0].depth = 0, 0
	from := []int32{int32(root)}
	// here has the index in sub of each node of t, -1 for those elsewhere.
	here := make([]int32, len(t.nodes))
	for i := range here {
		here[i] = -1
	}
	here[root] = 0
	for i := root + 1; i < len(t.nodes); i++ {
		n := t.nodes[i]
		if n.parent = here[n.parent]; n.parent < 0 {
			continue
		}
		n.depth = sub.nodes[n.parent].depth + 1
		here[i] = int32(len(sub.nodes))
		sub.nodes, from = append(sub.nodes, n), append(from, int32(i))
	}
	return sub, from
}

// The path id of a node is two FNV-1a sums, of 32 bits so that the page's script can make
// them too: of the bytes of each function's name from the root on, a zero, the bytes of its
// type and a zero. They begin at different values.
const (
	fnvPrime  = 16777619
	fnvFirst  = 2166136261
	fnvSecond = fnvFirst ^ 0x9e3779b9
)

// pathIDs returns the path id of each node.
func (t *tree) pathIDs() []uint64 {
	ids := make([]uint64, len(t.nodes))
	ids[0] = fnvFirst<<32 | fnvSecond
	for i, n := range t.nodes[1:] {
		first, second := uint32(ids[n.parent]>>32), uint32(ids[n.parent])
		fn := &t.functions.list[n.function]
		for _, text := range []string{jsonText(fn.name), string(fn.typ)} {
			for j := range len(text) {
				first = (first ^ uint32(text[j])) * fnvPrime
				second = (second ^ uint32(text[j])) * fnvPrime
			}
			first *= fnvPrime
			second *= fnvPrime
		}
		ids[i+1] = uint64(first)<<32 | uint64(second)
	}
	return ids
}

// jsonText returns a text as JSON has it, with U+FFFD for each byte that is not UTF-8.
func jsonText(text string) string {
	if utf8.ValidString(text) {
		return text
	}
	return string([]rune(text))
}

// matches returns for each node how much of its total is in functions that a search is
// about, each sample once; nil without a search.
func (t *tree) matches(search string) []int64 {
	match := t.functions.matcher(search)
	if match == nil {
		return nil
	}
	found := make([]int64, len(t.nodes))
	for i := len(t.nodes) - 1; i >= 0; i-- {
		n := &t.nodes[i]
		if n.function >= 0 && match(n.function) {
			found[i] = n.total
		}
		if i == 0 {
			continue
		}
		// All of a caller that matches is found already.
		if caller := t.nodes[n.parent].function; caller < 0 || !match(caller) {
			found[n.parent] += found[i]
		}
	}
	return found
}

// matcher returns which functions a search is about, nil for none: those whose names, with
// the package that an assembly function's file is in, contain the text in any case; or those
// of a type, by its mark in brackets.
func (f *Functions) matcher(search string) func(function int32) bool {
	text := strings.ToLower(strings.TrimSpace(search))
	if text == "" {
		return nil
	}
	typ, byType := typeOfMark(text)
	hits := make([]bool, len(f.list))
	for i, fn := range f.list {
		if byType && f.typed {
			hits[i] = fn.typ == typ
		} else {
			hits[i] = strings.Contains(strings.ToLower(fn.qualified()), text)
		}
	}
	return func(function int32) bool { return hits[function] }
}

func typeOfMark(text string) (FrameType, bool) {
	for mark, typ := range map[string]FrameType{"[k]": Kernel, "[n]": Native, "[go]": Go, "[other]": OtherLanguage} {
		if text == mark {
			return typ, true
		}
	}
	return "", false
}
