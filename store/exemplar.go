// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package store

import (
	"slices"
	"strings"
	"time"
)

// exemplar is an id that may name work without a span, and what the profiles
// tell about it; the newest has the last word.
type exemplar struct {
	id     string
	groups int
	// named says that it is a span's, by a span_id or by its record.
	named                   bool
	service, traceID, label string
	from, until             time.Time
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
	if x.groups == 0 || w.start.Before(x.from) {
		x.from = w.start
	}
	if x.groups == 0 || w.end.After(x.until) {
		x.until = w.end
	}
	x.groups++
	x.service = w.service
	x.traceID = orElse(g.traceID(), x.traceID)
	cpu, n := g.cpu()
	held := g.count()
	x.cpu += cpu
	x.cpuCount += n
	if g.spanID() == "" {
		x.lone.cpu += cpu
		x.lone.cpuCount += n
	}
	x.held += held
	if w.wall() {
		x.wallCount += held
	}
}

func (x *exemplar) span() Span {
	return Span{
		ProfileID:    x.id,
		TraceID:      x.traceID,
		Name:         x.label,
		Service:      x.service,
		Start:        x.from,
		Duration:     x.until.Sub(x.from),
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
func (s *Store) exemplarOf(id string, key spanKey) (*exemplar, bool) {
	var groups []group
	kept, windows := s.snapshot()
	for _, w := range slices.Concat(kept, windows) {
		groups = w.appendGroups(groups, id, key)
	}
	x := &exemplar{id: id}
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

// exemplarRows returns the manual exemplars that a filter lets through.
func (s *Store) exemplarRows(filter *spanFilter) []spanRow {
	var rows []spanRow
	for _, x := range s.exemplars(slices.Concat(s.snapshot())) {
		if x.named {
			continue
		}
		span := x.span()
		span.Manual = true
		if !filter.matchesExemplar(&span) {
			continue
		}
		rows = append(rows, spanRow{
			exemplar: &span,
			value:    filter.query.Order.valueOfExemplar(x),
		})
	}
	return rows
}

// exemplars returns what windows have of ids that were no known span's when the
// windows came, by id: the manual exemplars, and what is named by now.
func (s *Store) exemplars(windows []*window) []*exemplar {
	found := make(map[string]*exemplar)
	for _, w := range windows {
		for _, i := range w.loose {
			g := group{w, int(i)}
			id := g.profileID()
			x := found[id]
			if x == nil {
				x = &exemplar{id: id}
				found[id] = x
			}
			x.add(g)
			x.label = orElse(g.labels().get(spanNameLabel), x.label)
		}
	}
	if len(found) == 0 {
		return nil
	}

	// Those that are a span's are none.
	byKey := make(map[spanKey]*exemplar)
	var keys []spanKey
	for id, x := range found {
		if key := parseSpanKey(id); key != 0 {
			byKey[key] = x
			keys = append(keys, key)
		}
	}
	for key := range s.spans.known(keys) {
		byKey[key].named = true
	}
	for _, w := range windows {
		w.eachSpanID(byKey, found)
	}
	list := make([]*exemplar, 0, len(found))
	for _, x := range found {
		list = append(list, x)
	}
	slices.SortFunc(list, func(a, b *exemplar) int { return strings.Compare(a.id, b.id) })
	return list
}

// eachSpanID marks the exemplars that a span_id of the window names.
func (w *window) eachSpanID(byKey map[spanKey]*exemplar, byText map[string]*exemplar) {
	if len(byKey) > 0 {
		for i := range w.groups {
			row := &w.groups[i]
			if row.span == 0 || (group{w, i}).labelling().form == profileIDOnly {
				continue
			}
			if x := byKey[row.span]; x != nil {
				x.named = true
			}
		}
	}
	for _, t := range w.texts {
		if x := byText[t.id]; x != nil && (group{w, int(t.group)}).spanID() == t.id {
			x.named = true
		}
	}
}
