// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package flame

import (
	"cmp"
	"encoding/json"
	"maps"
	"math"
	"slices"
	"strings"
)

// MaxNodes bounds a graph. A profile of a service has a few thousand nodes.
const MaxNodes = 50_000

// Graph is a flame graph in flat arrays. Node 0 is the root; each node follows its parent,
// in the order of a walk that visits the widest children first.
type Graph struct {
	// Texts is the table of the texts. Text 0 is "".
	Texts []string `json:"texts"`
	// Functions has one entry for each function.
	Functions FunctionTable `json:"functions"`
	// Function is the function of each node by its index in Functions. The root has -1.
	Function []int32 `json:"function"`
	// Parent is the parent of each node; the root has -1. In JSON it is the distance to the
	// parent.
	Parent Parents `json:"parent"`
	// Self and Total are the values of each node, without and with its callees.
	Self  []int64 `json:"self"`
	Total []int64 `json:"total"`
	// LeftSelf and LeftTotal are the values of the other side of a comparison.
	LeftSelf  []int64 `json:"leftSelf,omitempty"`
	LeftTotal []int64 `json:"leftTotal,omitempty"`
	// Inlined lists the nodes that were inlined into their parent in every sample.
	Inlined []int32 `json:"inlined,omitempty"`
	// Omitted is the number of nodes beyond MaxNodes. The totals of their parents have
	// their values.
	Omitted int `json:"omitted,omitempty"`

	index map[string]int32
}

// FunctionTable has the functions in flat arrays. Names, files, packages, types and sources
// are indices in Graph.Texts.
type FunctionTable struct {
	Name []int32 `json:"name"`
	File []int32 `json:"file"`
	// Package is set where the name of the function has none.
	Package []int32 `json:"package"`
	// Type is the FrameType; nil for profiles without types.
	Type []int32 `json:"type,omitempty"`
	// Source is a URL of the file, nil without SetSources. A page adds the line.
	Source []int32 `json:"source,omitempty"`
	// Line is the line where the function begins, 0 if unknown.
	Line []int64 `json:"line"`
	// Self and Total count each stack once.
	Self  []int64 `json:"self"`
	Total []int64 `json:"total"`
	// Lines has three numbers for each line of the function with samples: the line, its
	// self and its total.
	Lines [][]int64 `json:"lines"`
}

// Parents are nodes by their children. Their JSON has distances: node i has the parent
// i - distance. Most distances are 1, which halves the compressed bytes of a graph.
type Parents []int32

// MarshalJSON implements json.Marshaler.
func (p Parents) MarshalJSON() ([]byte, error) {
	distances := make([]int32, len(p))
	for i, parent := range p {
		distances[i] = int32(i) - parent
	}
	return json.Marshal(distances)
}

// Len returns the number of nodes.
func (g *Graph) Len() int { return len(g.Parent) }

// Name returns the name of a node.
func (g *Graph) Name(node int) string {
	if fn := g.Function[node]; fn >= 0 {
		return g.Texts[g.Functions.Name[fn]]
	}
	return "total"
}

// Type returns the type of a node's frame.
func (g *Graph) Type(node int) FrameType {
	if fn := g.Function[node]; fn >= 0 && g.Functions.Type != nil {
		return FrameType(g.Texts[g.Functions.Type[fn]])
	}
	return ""
}

// SetSources stores a URL for each function, by its package and its file.
func (g *Graph) SetSources(url func(pkg, file string) string) {
	g.Functions.Source = make([]int32, len(g.Functions.Name))
	for i, name := range g.Functions.Name {
		fn := function{functionKey: functionKey{name: g.Texts[name]}, file: g.Texts[g.Functions.File[i]]}
		g.Functions.Source[i] = g.text(url(fn.pkg(), fn.file))
	}
}

func (g *Graph) text(s string) int32 {
	i, ok := g.index[s]
	if !ok {
		i = int32(len(g.Texts))
		g.index[s] = i
		g.Texts = append(g.Texts, s)
	}
	return i
}

// Graph returns the flame graph.
func (s *Summary) Graph() *Graph { return s.GraphOf(MaxNodes) }

// GraphOf returns the graph of the widest nodes, at most maxNodes.
func (s *Summary) GraphOf(maxNodes int) *Graph { return s.tree.graph(nil, &s.top, maxNodes) }

// GraphAgainst returns the flame graph of both sides of a comparison: the nodes of either.
func (s *Summary) GraphAgainst(left *Summary) *Graph {
	both := &tree{functions: s.functions, nodes: slices.Clone(s.tree.nodes), children: maps.Clone(s.tree.children)}
	other := make([]treeNode, 0, len(both.nodes)) // the values of left by the nodes of both
	here := make([]int32, len(left.tree.nodes))
	for i, n := range left.tree.nodes {
		if i > 0 {
			here[i] = both.child(here[n.parent], frame{function: n.function, inlined: n.inlined})
		}
		for len(other) < len(both.nodes) {
			other = append(other, treeNode{})
		}
		other[here[i]].self, other[here[i]].total = n.self, n.total
	}
	return both.graph(other, &s.top, MaxNodes)
}

// graph returns the widest nodes. left has the values of the other side, nil if there is none.
func (t *tree) graph(left []treeNode, top *top, maxNodes int) *Graph {
	g := &Graph{Texts: []string{""}, index: map[string]int32{"": 0}}
	g.addFunctions(t.functions, top)
	width := func(i int32) int64 {
		if left != nil {
			return max(t.nodes[i].total, left[i].total)
		}
		return t.nodes[i].total
	}
	narrowest := t.narrowest(width, maxNodes)
	children := make([][]int32, len(t.nodes))
	for i := range t.nodes {
		if i > 0 && width(int32(i)) > narrowest {
			parent := t.nodes[i].parent
			children[parent] = append(children[parent], int32(i))
		}
	}
	type entry struct{ node, parent int32 }
	todo := []entry{{0, -1}}
	for len(todo) > 0 {
		e := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		n, at := &t.nodes[e.node], int32(g.Len())
		g.Function, g.Parent = append(g.Function, n.function), append(g.Parent, e.parent)
		g.Self, g.Total = append(g.Self, n.self), append(g.Total, n.total)
		if left != nil {
			g.LeftSelf, g.LeftTotal = append(g.LeftSelf, left[e.node].self), append(g.LeftTotal, left[e.node].total)
		}
		if n.inlined {
			g.Inlined = append(g.Inlined, at)
		}
		below := children[e.node]
		slices.SortFunc(below, func(a, b int32) int {
			x, y := &t.functions.list[t.nodes[a].function], &t.functions.list[t.nodes[b].function]
			return cmp.Or(cmp.Compare(t.nodes[b].total, t.nodes[a].total), cmp.Compare(width(b), width(a)),
				cmp.Compare(x.name, y.name), cmp.Compare(x.typ, y.typ))
		})
		for _, child := range slices.Backward(below) {
			todo = append(todo, entry{child, at})
		}
	}
	g.Omitted = len(t.nodes) - g.Len()
	return g
}

// narrowest returns the width at and below which nodes are omitted. Nodes of one width are
// omitted together: the result must not depend on the order of the stacks.
func (t *tree) narrowest(width func(int32) int64, maxNodes int) int64 {
	if len(t.nodes) <= maxNodes {
		return math.MinInt64
	}
	widths := make([]int64, len(t.nodes))
	for i := range t.nodes {
		widths[i] = width(int32(i))
	}
	slices.Sort(widths)
	return widths[len(widths)-maxNodes-1]
}

func (g *Graph) addFunctions(fns *Functions, top *top) {
	lines := top.linesOf(fns)
	f := &g.Functions
	for i := range fns.list {
		fn, sum := &fns.list[i], top.of(int32(i))
		f.Name, f.File, f.Line = append(f.Name, g.text(fn.name)), append(f.File, g.text(fn.file)), append(f.Line, fn.line)
		pkg := fn.pkg()
		if strings.HasPrefix(fn.name, pkg) {
			pkg = ""
		}
		f.Package = append(f.Package, g.text(pkg))
		if fns.typed {
			f.Type = append(f.Type, g.text(string(fn.typ)))
		}
		f.Self, f.Total = append(f.Self, sum.self), append(f.Total, sum.total)
		f.Lines = append(f.Lines, lines[i])
	}
}
