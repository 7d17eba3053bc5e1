// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package store

import (
	"cmp"
	"slices"

	"github.com/spanprof/spanprof/store/internal/ident"
	"github.com/spanprof/spanprof/store/internal/spanlog"
)

// maxDepth bounds the way from a span to its local root.
const maxDepth = 100

// tree knows which spans are below which, for a query about that. A nil tree lists all.
type tree struct {
	below    ident.Key
	ofBelow  bool
	requests bool
	nodes    map[ident.Key]*node
}

// node is a span with a record.
type node struct {
	parent ident.Key
	// root says that parent is no span of this process, listed that the span
	// matches the query.
	root, listed bool
	// below is the number of spans below it.
	below int
	// record has the name, the start and the attributes.
	record spanlog.Record
}

// tree returns nil where a query is about no more than each span by itself.
func (m *moment) tree(f *spanFilter) *tree {
	q := f.query
	t := &tree{ofBelow: q.Below != "", below: ident.ParseKey(q.Below), requests: q.Requests}
	if !t.ofBelow && (!t.requests || m.spans.Totals.Inner == 0) {
		return nil
	}
	t.nodes = make(map[ident.Key]*node)
	all := func(*spanlog.Row) bool { return !f.ended() }
	m.spans.Each(all, func(r *spanlog.Record) {
		t.nodes[ident.NewKey(r.SpanID)] = &node{parent: ident.NewKey(r.ParentID), root: r.LocalRoot || !r.ParentID.IsValid(), listed: f.matches(r), record: spanlog.Record{Row: spanlog.Row{Start: r.Start}, Name: r.Name, Attributes: r.Attributes}}
	})
	for _, n := range t.nodes {
		if f.ended() {
			return t
		}
		t.above(n, func(_ ident.Key, a *node) bool {
			a.below++
			return true
		})
	}
	if t.ofBelow {
		// Those that are not below it hide nothing.
		for _, n := range t.nodes {
			if f.ended() {
				return t
			}
			n.listed = n.listed && t.isBelow(n)
		}
	}
	return t
}

// above shows the spans above one in this process, the nearest first.
func (t *tree) above(n *node, visit func(ident.Key, *node) bool) {
	for range maxDepth {
		if n.root {
			return
		}
		key := n.parent
		if n = t.nodes[key]; n == nil || !visit(key, n) {
			return
		}
	}
}

func (t *tree) isBelow(n *node) (below bool) {
	t.above(n, func(key ident.Key, _ *node) bool {
		below = below || key == t.below && key != 0
		return !below
	})
	return below
}

// lists reports whether a span that matches the query belongs into the list.
func (t *tree) lists(r *spanlog.Record) bool {
	if t == nil {
		return true
	}
	n := t.nodes[ident.NewKey(r.SpanID)]
	if n == nil || t.ofBelow && !n.listed {
		return false
	}
	if !t.requests {
		return true
	}
	hidden := false
	t.above(n, func(_ ident.Key, a *node) bool {
		hidden = a.listed
		return !hidden
	})
	return !hidden
}

// maxBelowAttributes bounds the attributes that a request shows of the spans below it.
const maxBelowAttributes = 16

// complete fills in what a list of requests says of the spans below each: their number,
// and their attributes.
func (t *tree) complete(spans []Span, m *moment) {
	if t == nil || !t.requests {
		return
	}
	type described struct {
		*node
		place int
	}
	places := make(map[*node]int)
	for i := range spans {
		if n := t.nodes[ident.ParseKey(spans[i].ProfileID)]; n != nil && !spans[i].Manual && n.below > 0 {
			spans[i].Below = n.below
			places[n] = i
		}
	}
	var all []described
	for _, n := range t.nodes {
		if n.record.Attributes == nil {
			continue
		}
		t.above(n, func(_ ident.Key, a *node) bool {
			place, ok := places[a]
			if ok {
				all = append(all, described{n, place})
			}
			return !ok
		})
	}
	slices.SortFunc(all, func(a, b described) int { return cmp.Compare(a.record.Start, b.record.Start) })
	for _, d := range all {
		s := &spans[d.place]
		own, omitted := m.attributes(&d.record)
		s.AttributesOmitted = s.AttributesOmitted || omitted
		for _, a := range own {
			a.Child = cmp.Or(a.Child, d.record.Name.Value, unnamedChild)
			switch {
			case slices.Contains(s.Attributes, a):
			case len(s.Attributes) >= maxBelowAttributes:
				s.AttributesOmitted = true
			default:
				s.Attributes = append(s.Attributes, a)
			}
		}
	}
}
