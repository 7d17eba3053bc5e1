// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package store

import (
	"cmp"
	"slices"
	"time"
)

// exemplar is an id that may name work without a span, and what the profiles
// tell about it; the newest has the last word. There may be hundreds of thousands,
// so what is written out of one waits for span.
type exemplar struct {
	// key is the id, or if that is not a span's, text is.
	key    spanKey
	text   string
	groups int
	// named says that it is a span's, by a span_id or by its record.
	named bool
	label string
	// newest is the group that came last, traced the last one with a trace, and
	// first and last are the windows that bound them all.
	newest, traced group
	first, last    *window
	spanSamples
	// lone is the CPU of samples without a span_id, which nothing else counts.
	lone struct {
		cpu      time.Duration
		cpuCount int64
	}
}

// add adds a group that has the id.
func (x *exemplar) add(g group) {
	w := g.window
	if x.groups == 0 || w.start.Before(x.first.start) {
		x.first = w
	}
	if x.groups == 0 || w.end.After(x.last.end) {
		x.last = w
	}
	x.groups++
	x.newest = g
	if g.traced() {
		x.traced = g
	}
	cpu, n := g.cpu()
	held := g.count()
	x.cpu += cpu
	x.cpuCount += n
	if _, span := g.spans(); span == 0 && g.spanID() == "" {
		x.lone.cpu += cpu
		x.lone.cpuCount += n
	}
	x.held += held
	if w.wall() {
		x.wallCount += held
	}
}

func (x *exemplar) service() string { return x.newest.window.service }

func (x *exemplar) traceID() string {
	if x.traced.window == nil {
		return ""
	}
	return x.traced.traceID()
}

func (x *exemplar) duration() time.Duration { return x.last.end.Sub(x.first.start) }

func (x *exemplar) span() Span {
	return Span{
		ProfileID:    cmp.Or(x.text, x.key.String()),
		TraceID:      x.traceID(),
		Name:         x.label,
		Service:      x.service(),
		Start:        x.first.start,
		Duration:     x.duration(),
		CPU:          x.cpu,
		CPUSamples:   x.cpuCount,
		CPUInclusive: x.cpu,
		WallSamples:  x.wallCount,
		SamplesHeld:  x.held,
		Label:        x.label,
	}
}

func orElse(s, other string) string {
	if s != "" {
		return s
	}
	return other
}

// exemplarOf returns what the profiles know of an id.
func (m *moment) exemplarOf(id string, key spanKey) (*exemplar, bool) {
	var groups []group
	for _, w := range slices.Concat(m.kept, m.windows) {
		groups = w.appendGroups(groups, id, key)
	}
	x := &exemplar{text: id}
	own := false
	for _, g := range groups {
		x.add(g)
		named := g.spanID() == id
		// The span's own samples know its name best.
		if label := g.labels().get(spanNameLabel); label != "" && (named || !own) {
			x.label = label
			own = named
		}
		x.named = x.named || named || !g.window.isLoose(g.index)
	}
	return x, len(groups) > 0
}

// exemplarRows returns the manual exemplars that a filter lets through, as many as
// its query asks for.
func (m *moment) exemplarRows(filter *spanFilter) []spanRow {
	q := filter.query
	top := topRows{order: q.Order, limit: q.Limit}
	list := m.store.exemplars(m.windows)
	known := m.knownOf(list)
	// The newest first: of these most others are not wanted.
	for i := range slices.Backward(list) {
		x := &list[i]
		value := q.Order.valueOfExemplar(x)
		if x.named || !top.wants(value) || known[x.key] || !filter.matchesExemplar(x) {
			continue
		}
		span := x.span()
		span.Manual = true
		top.add(spanRow{exemplar: &span, value: value})
	}
	return top.sorted()
}
