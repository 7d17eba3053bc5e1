// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package answer

import (
	"fmt"
	"strings"

	"github.com/spanprof/spanprof/internal/flame"
	"github.com/spanprof/spanprof/internal/termtext"
)

// GraphQuery asks for a part of a graph of the page.
type GraphQuery struct {
	// Zoom is the path of the frame to begin with, "" for the whole graph; Search is
	// looked for in the functions.
	Zoom, Search string
	// Function asks for the graph of its callers, or of its callees if Callees is set.
	Function string
	Callees  bool
}

// Graph is a part of a flame graph with a number of frames of its own, and exact sums: what
// is cut elsewhere counts too.
type Graph struct {
	Unit string `json:"unit"`
	// Total is that of the whole profile.
	Total int64 `json:"total"`
	// Flame begins with the frame that was asked for.
	Flame *flame.Node `json:"flame"`
	// Path has the frames that lead to Flame, from the root on.
	Path []*flame.Node `json:"path,omitempty"`
	Note string        `json:"note,omitempty"`
}

// Found is the functions that a search is about.
type Found struct {
	Unit  string `json:"unit"`
	Total int64  `json:"total"`
	functions
	Note string `json:"note,omitempty"`
}

// Graph answers a part of the graph of what q selects.
func (r *Reader) Graph(q Query, g GraphQuery) (*Graph, error) {
	q, sel, _ := r.found(q)
	s := r.summary(sel, flame.NewFunctions(r.ofHost(q)))
	part := flame.Part{MaxNodes: maxFlameNodes, Zoom: g.Zoom, Search: g.Search}
	answer := &Graph{Unit: sel.Unit, Total: sel.Total}
	switch {
	case g.Function == "":
		answer.Flame, answer.Path = s.Part(part)
	case g.Callees:
		answer.Flame, answer.Path = s.CalleesPart(g.Function, part)
	default:
		answer.Flame, answer.Path = s.CallersPart(g.Function, part)
	}
	return r.graph(answer)
}

// GraphAgainst answers a part of the graph of what right selects, with the totals of the
// same paths in left.
func (r *Reader) GraphAgainst(left, right Query, g GraphQuery) (*Graph, error) {
	fns := flame.NewFunctions(r.ofHost(right))
	_, before, _ := r.found(left)
	_, after, _ := r.found(right)
	answer := &Graph{Unit: after.Unit, Total: after.Total}
	answer.Flame, answer.Path = r.summary(after, fns).PartAgainst(r.summary(before, fns), flame.Part{MaxNodes: maxFlameNodes, Zoom: g.Zoom, Search: g.Search})
	return r.graph(answer)
}

func (r *Reader) graph(answer *Graph) (*Graph, error) {
	if r.err == nil && answer.Flame == nil {
		r.err = BadRequestf("zoom: no frame of this graph has that path: it may have had it before, or in another time")
	}
	answer.Note = r.notes()
	return answered(r, answer)
}

// Find answers the functions of what q selects that a search is about.
func (r *Reader) Find(q Query, search string) (*Found, error) {
	q, sel, _ := r.found(q)
	s := r.summary(sel, flame.NewFunctions(r.ofHost(q)))
	return answered(r, &Found{Unit: sel.Unit, Total: sel.Total, functions: newFunctions(s.Find(search)), Note: r.notes()})
}

// Text returns the part for a terminal.
func (g *Graph) Text() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s %s of %s", marked(g.Flame.Type, g.Flame.Name, termtext.Columns/2), termtext.Value(g.Flame.Total, g.Unit), termtext.Value(g.Total, g.Unit))
	if g.Flame.Match > 0 {
		fmt.Fprintf(&b, ", found %s (%s)", termtext.Value(g.Flame.Match, g.Unit), termtext.Percent(g.Flame.Match, g.Total))
	}
	b.WriteString("\n\n")
	writeFrames(&b, g.Flame, g.Total, textFrames)
	return b.String()
}

// Text returns the functions for a terminal.
func (f *Found) Text() string {
	var b strings.Builder
	writeFunctions(&b, f.Functions, f.omitted(), f.Total, f.Unit)
	return b.String()
}
