// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package segment

import (
	"cmp"
	"context"
	"slices"

	"go.opentelemetry.io/otel/trace"

	"github.com/spanprof/spanprof/store/internal/attributes"
	"github.com/spanprof/spanprof/store/internal/ident"
)

// maxDepth bounds the way from a span to its local root.
const maxDepth = 100

// place is a record with its segment.
type place struct {
	*record
	in *Segment
}

// records returns all records by id. It is built once.
func (v *View) records() map[ident.Key]place {
	v.byID.Do(func() {
		n := 0
		for _, s := range v.whole {
			n += len(s.spans.list)
		}
		v.places = make(map[ident.Key]place, n)
		for _, s := range v.whole {
			for i := range s.spans.list {
				r := &s.spans.list[i]
				v.places[r.id] = place{r, s}
			}
		}
	})
	return v.places
}

// Nested reports whether spans with a profile are below others in this process.
func (v *View) Nested() bool {
	return slices.ContainsFunc(v.whole, func(s *Segment) bool { return s.spans.nested })
}

// Above calls visit for the spans above one in this process until it returns false. The
// nearest is first.
func (v *View) Above(id ident.Key, visit func(id ident.Key) bool) {
	of := v.records()
	r, ok := of[id]
	for depth := 0; ok && !r.localRoot && depth < maxDepth; depth++ {
		parent := r.parent
		if r, ok = of[parent]; !ok || !visit(parent) {
			return
		}
	}
}

// ownerOf returns the nearest span with a profile above a child, 0 if there is none.
func (v *View) ownerOf(child ident.Key) (owner ident.Key) {
	v.Above(child, func(id ident.Key) bool {
		if !v.places[id].child {
			owner = id
		}
		return owner == 0
	})
	return owner
}

// Inclusive returns the CPU time of the spans below each span in this process, by id.
func (v *View) Inclusive() map[ident.Key]int64 {
	v.summed.Do(func() {
		v.below = make(map[ident.Key]int64)
		if !v.Nested() {
			return
		}
		add := func(id ident.Key, cpu int64) {
			v.Above(id, func(above ident.Key) bool {
				v.below[above] += cpu
				return true
			})
		}
		for id, r := range v.records() {
			if !r.child && !r.localRoot {
				sums, _ := v.sumsOf(r.record)
				add(id, sums.CPU)
			}
		}
		for _, s := range v.whole {
			for _, e := range s.index.extras { // rows of a span with the profile_id of one above count once
				_, span := s.idsIn(e.group)
				v.Above(span, func(above ident.Key) bool {
					if above == e.id && !v.places[span].child {
						v.below[e.id] -= e.CPU
						add(e.id, -e.CPU)
					}
					return above != e.id
				})
			}
		}
	})
	return v.below
}

// Children returns the children without a profile of their own of some spans, in the order
// of their start.
func (v *View) Children(spans []Span) map[ident.Key][]Ended {
	traces, wanted := make(map[trace.TraceID]bool), make(map[ident.Key]bool)
	for i := range spans {
		traces[spans[i].Trace], wanted[spans[i].ID] = true, true
	}
	children := make(map[ident.Key][]Ended)
	for _, s := range v.whole {
		for i := range s.spans.list {
			if s.spans.listed == len(s.spans.list) {
				break // it has no children
			}
			if r := &s.spans.list[i]; r.child && traces[r.trace] {
				if owner := v.ownerOf(r.id); wanted[owner] {
					children[owner] = append(children[owner], s.spans.ended(r))
				}
			}
		}
	}
	for _, list := range children {
		slices.SortFunc(list, func(a, b Ended) int { return cmp.Compare(a.Start, b.Start) })
	}
	return children
}

// eachSet calls visit for the spans with a profile, with the attributes of each and of its
// children. It ends early if the context ends.
func (v *View) eachSet(ctx context.Context, visit func(of place, sets []string)) {
	children := make(map[ident.Key][]string)
	for _, s := range v.whole {
		for i := range s.spans.list {
			if r := &s.spans.list[i]; r.child && r.attributes != 0 {
				owner := v.ownerOf(r.id)
				children[owner] = append(children[owner], s.spans.texts.list[r.attributes])
			}
		}
	}
	for _, s := range v.whole {
		for i := range s.spans.list {
			if ctx.Err() != nil {
				return
			}
			if r := &s.spans.list[i]; !r.child {
				visit(place{r, s}, append(children[r.id], s.spans.texts.list[r.attributes]))
			}
		}
	}
}

// remember returns a function that evaluates another once for each text.
func remember[V any](of func(string) V) func(string) V {
	known := make(map[string]V)
	return func(text string) V {
		v, ok := known[text]
		if !ok {
			v = of(text)
			known[text] = v
		}
		return v
	}
}

// Containing returns the spans with a name, a status or an attribute for which a function
// returns true. Attributes of children count too.
func (v *View) Containing(ctx context.Context, contains func(string) bool) map[ident.Key]bool {
	ids, is := make(map[ident.Key]bool), remember(contains)
	within := remember(func(set string) bool {
		return slices.ContainsFunc(v.Attributes(set), func(e attributes.Entry) bool { return !e.More && contains(e.Value) })
	})
	v.eachSet(ctx, func(of place, sets []string) {
		if texts := of.in.spans.texts.list; is(texts[of.name]) || is(texts[of.status]) || slices.ContainsFunc(sets, within) {
			ids[of.id] = true
		}
	})
	return ids
}

// SpansOf returns the spans with a record that meet a condition on spans. It returns some of
// them if the context ends first.
func (v *View) SpansOf(ctx context.Context, m *Matcher) map[ident.Key]bool {
	ids, key := make(map[ident.Key]bool), m.label[len(attributePrefix):]
	values := remember(func(set string) (values []string) {
		for _, e := range v.Attributes(set) {
			if e.Key == key {
				values = append(values, e.Value)
			}
		}
		return values
	})
	v.eachSet(ctx, func(of place, sets []string) {
		var all []string
		for _, set := range sets {
			all = append(all, values(set)...)
		}
		if m.matchesAny(all) {
			ids[of.id] = true
		}
	})
	return ids
}

// Attributes returns the entries of a set.
func (v *View) Attributes(set string) []attributes.Entry { return slices.Collect(v.keys.All(set)) }
