// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package store

import (
	"cmp"
	"slices"
	"time"

	"github.com/spanprof/spanprof/store/internal/ident"
	"github.com/spanprof/spanprof/store/internal/spanlog"
)

// Attributed is implemented by the views of a source that knows attributes of spans, such
// as a Store. The answers agree with those of the [View].
type Attributed interface {
	// AttributeKeys returns the keys that spans with a record have, those of most
	// spans first.
	AttributeKeys() ([]AttributeKey, error)
	// AttributeTotals sums the spans with a record that have ended by the values of
	// one key, those with most CPU time first. A span counts for each of its values,
	// its CPU time also for a value that it has from a span above it (see Query), so
	// that CPU is what the Matcher for the value selects, as far as the profiles are
	// held.
	AttributeTotals(key string) ([]AttributeTotal, error)
	// KeptAttributes returns the keys of the attributes that are kept, in no order that
	// matters; nil if none are, as WithoutSpanAttributes says.
	KeptAttributes() []string
}

var _ Attributed = (*view)(nil)

// AttributeKey is a key of attributes.
type AttributeKey struct {
	Key string
	// Spans is the number of spans that have it.
	Spans int
}

// AttributeTotal is the sum of the spans with one value of an attribute.
type AttributeTotal struct {
	Value string
	// Spans is their number, Errors of those with the status Error, Duration the sum
	// of their wall clocks, MaxDuration the longest.
	Spans, Errors         int
	Duration, MaxDuration time.Duration
	CPU                   time.Duration
	// Shared says that one of the spans counts for other values too, or has the value
	// from a child without a record: its times are those of more than this value's
	// work.
	Shared bool
}

// spanNode is what conditions on attributes need to know of a record.
type spanNode struct {
	key, parent ident.Key
	name        *spanlog.Name
	// root says that the parent is no span of this process.
	root, ended, err bool
	attributes       *spanlog.Text
	duration, cpu    time.Duration
}

// spanNodes are all records of a view.
type spanNodes struct {
	spans  *spanlog.View
	list   []spanNode
	places map[ident.Key]int
}

func (v *view) nodes() *spanNodes {
	if v.spanNodes != nil {
		return v.spanNodes
	}
	n := &spanNodes{spans: v.spans, list: make([]spanNode, 0, v.spans.Totals.Held+v.spans.Totals.Running+v.spans.Totals.Restored)}
	v.spans.Each(func(*spanlog.Row) bool { return !v.ended() }, func(r *spanlog.Record) {
		n.list = append(n.list, spanNode{
			key: ident.NewKey(r.SpanID), parent: ident.NewKey(r.ParentID), name: r.Name,
			root: r.LocalRoot || !r.ParentID.IsValid(), ended: !r.Running(), err: r.Err,
			attributes: r.Attributes, duration: time.Duration(r.Duration), cpu: r.CPU,
		})
	})
	if v.spans.Totals.Inner > 0 {
		n.places = make(map[ident.Key]int, len(n.list))
		for i := range n.list {
			n.places[n.list[i].key] = i
		}
	}
	v.spanNodes = n
	return n
}

// attributeValues finds the values of one key.
type attributeValues struct {
	nodes *spanNodes
	key   string
	own   map[*spanlog.Text]ownValues
}

// ownValues are the values of one set of attributes. shared says that there are several,
// or that one is a child's.
type ownValues struct {
	list   []string
	shared bool
}

func (n *spanNodes) values(key string) attributeValues {
	return attributeValues{n, key, make(map[*spanlog.Text]ownValues)}
}

// ofSpan returns the values that a span has itself, each once.
func (a attributeValues) ofSpan(n *spanNode) ownValues {
	if n.attributes == nil {
		return ownValues{}
	}
	values, ok := a.own[n.attributes]
	if !ok {
		list, ofChild := valuesOf(a.nodes.spans.Attributes(&spanlog.Record{Attributes: n.attributes}), a.key)
		slices.Sort(list)
		list = slices.Compact(list)
		values = ownValues{list, ofChild || len(list) > 1}
		a.own[n.attributes] = values
	}
	return values
}

// of returns the values that a span has itself or, if it has none, those of the nearest
// span above it that has any.
func (a attributeValues) of(n *spanNode) (values ownValues) {
	a.nodes.upwards(n, func(n *spanNode) bool {
		values = a.ofSpan(n)
		return len(values.list) > 0
	})
	return values
}

// upwards shows a span and those above it in this process, the nearest first, until one is
// found.
func (n *spanNodes) upwards(span *spanNode, found func(*spanNode) bool) bool {
	for range maxDepth {
		if found(span) {
			return true
		}
		place, ok := n.places[span.parent]
		if span.root || !ok {
			return false
		}
		span = &n.list[place]
	}
	return false
}

// in reports whether a span, or one above it, has a name.
func (n *spanNodes) in(span *spanNode, name string) bool {
	return n.upwards(span, func(s *spanNode) bool { return s.name.Value == name })
}

// spansWith returns the spans that meet the matchers on spans, nil if there is no such
// matcher.
func (v *view) spansWith(matchers []Matcher) map[ident.Key]bool {
	var found map[ident.Key]bool
	for i := range matchers {
		if !matchers[i].OnSpan() {
			continue
		}
		key, _ := matchers[i].SpanAttribute()
		nodes := v.nodes()
		values := nodes.values(key)
		matched := make(map[ident.Key]bool)
		tried := v.tried(&matchers[i])
		for j := range nodes.list {
			if v.ended() {
				return found // The caller looks too.
			}
			n := &nodes.list[j]
			if n.key == 0 || found != nil && !found[n.key] {
				continue
			}
			meets := false
			if matchers[i].condition.InSpan() {
				meets = nodes.in(n, matchers[i].Value())
			} else {
				meets = tried.MatchesAll(&matchers[i].condition, values.of(n).list)
			}
			if meets {
				matched[n.key] = true
			}
		}
		found = matched
	}
	return found
}

func (v *view) KeptAttributes() []string { return v.spans.KeptAttributes() }

func (v *view) AttributeKeys() ([]AttributeKey, error) {
	if err := v.ctx.Err(); err != nil {
		return nil, err
	}
	spans := make(map[*spanlog.Text]int)
	v.spans.Each(func(*spanlog.Row) bool { return !v.ended() }, func(r *spanlog.Record) {
		if r.Attributes != nil {
			spans[r.Attributes]++
		}
	})
	if err := v.ctx.Err(); err != nil {
		return nil, err
	}
	counts := make(map[string]int)
	for text, n := range spans {
		if v.ended() {
			return nil, v.ctx.Err()
		}
		var seen []string
		for e := range v.spans.Attributes(&spanlog.Record{Attributes: text}) {
			if !e.More && !slices.Contains(seen, e.Key) {
				seen = append(seen, e.Key)
				counts[e.Key] += n
			}
		}
	}
	keys := make([]AttributeKey, 0, len(counts))
	for key, n := range counts {
		keys = append(keys, AttributeKey{key, n})
	}
	slices.SortFunc(keys, func(a, b AttributeKey) int {
		return cmp.Or(cmp.Compare(b.Spans, a.Spans), cmp.Compare(a.Key, b.Key))
	})
	return keys, nil
}

func (v *view) AttributeTotals(key string) ([]AttributeTotal, error) {
	if err := v.ctx.Err(); err != nil {
		return nil, err
	}
	nodes := v.nodes()
	values := nodes.values(key)
	totals := make(map[string]*AttributeTotal)
	total := func(value string) *AttributeTotal {
		t := totals[value]
		if t == nil {
			t = &AttributeTotal{Value: value}
			totals[value] = t
		}
		return t
	}
	for i := range nodes.list {
		if v.ended() {
			return nil, v.ctx.Err()
		}
		n := &nodes.list[i]
		if !n.ended {
			continue
		}
		own := values.ofSpan(n)
		for _, value := range own.list {
			t := total(value)
			t.Shared = t.Shared || own.shared
			t.Spans++
			t.Duration += n.duration
			t.MaxDuration = max(t.MaxDuration, n.duration)
			if n.err {
				t.Errors++
			}
		}
		if n.cpu > 0 {
			of := values.of(n)
			for _, value := range of.list {
				t := total(value)
				t.Shared = t.Shared || of.shared
				t.CPU += n.cpu
			}
		}
	}
	list := make([]AttributeTotal, 0, len(totals))
	for _, t := range totals {
		list = append(list, *t)
	}
	slices.SortFunc(list, func(a, b AttributeTotal) int {
		return cmp.Or(cmp.Compare(b.CPU, a.CPU), cmp.Compare(b.Duration, a.Duration), cmp.Compare(a.Value, b.Value))
	})
	return list, nil
}
