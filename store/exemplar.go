// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package store

import (
	"cmp"
	"slices"
	"time"
	"weak"

	"github.com/spanprof/spanprof/store/internal/ident"
	"github.com/spanprof/spanprof/store/internal/spanlog"
)

// exemplar is an id that may name work without a span, and what the profiles
// tell about it; the newest has the last word. There may be hundreds of thousands,
// so what is written out of one waits for span.
type exemplar struct {
	// key is the id, or if that is not a span's, text is.
	key    ident.Key
	text   string
	groups int
	// named says that it is a span's, by a span_id or by its record.
	named bool
	label string
	// newest is the group that came last, traced the last one with a trace, and
	// first and last are the windows that bound them all.
	newest, traced group
	first, last    *window
	spanlog.Samples
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
	x.CPU += cpu
	x.CPUCount += n
	if _, span := g.spans(); span == 0 && g.spanID() == "" {
		x.lone.cpu += cpu
		x.lone.cpuCount += n
	}
	x.Held += held
	if w.wall() {
		x.WallCount += held
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
		CPU:          x.CPU,
		CPUSamples:   x.CPUCount,
		CPUInclusive: x.CPU,
		WallSamples:  x.WallCount,
		SamplesHeld:  x.Held,
		Label:        x.label,
	}
}

// exemplarOf returns what the profiles know of an id.
func (m *moment) exemplarOf(id string, key ident.Key) (*exemplar, bool) {
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

// exemplarList is what windows have of ids that were no known span's when the
// windows came.
type exemplarList struct {
	windows   []*window
	exemplars []exemplar
}

// exemplars returns what windows have of ids that were no known span's when the
// windows came, in the order in which these came: the manual exemplars, and what is
// named by now. Nobody may change it.
//
// Of hundreds of thousands it takes a tenth of a second and 50 MB, and a page that
// lists spans needs it twice. So the last one is there until the next collection of
// garbage, which it is.
func (s *Store) exemplars(windows []*window) []exemplar {
	s.exemplarsMu.Lock()
	defer s.exemplarsMu.Unlock()
	if last := s.lastExemplars.Value(); last != nil && slices.Equal(last.windows, windows) {
		return last.exemplars
	}
	list := &exemplarList{windows: windows, exemplars: newExemplars(windows)}
	s.lastExemplars = weak.Make(list)
	return list.exemplars
}

// knownOf returns the exemplars that are spans by now: the log has a record.
func (m *moment) knownOf(list []exemplar) map[ident.Key]bool {
	var keys []ident.Key
	for i := range list {
		if key := list[i].key; key != 0 && !list[i].named {
			keys = append(keys, key)
		}
	}
	return m.spans.Known(keys)
}

func newExemplars(windows []*window) []exemplar {
	loose, texts := 0, 0
	for _, w := range windows {
		loose += len(w.loose)
		texts += len(w.texts)
	}
	if loose == 0 {
		return nil
	}
	list := make([]exemplar, 0, loose)
	byKey := make(map[ident.Key]uint32, max(0, loose-texts))
	byText := make(map[string]uint32, min(loose, texts))
	for _, w := range windows {
		for _, i := range w.loose {
			g := group{w, int(i)}
			x := exemplar{}
			var (
				at    uint32
				known bool
			)
			if x.key, _ = g.spans(); x.key != 0 {
				if at, known = byKey[x.key]; !known {
					at = uint32(len(list))
					byKey[x.key] = at
				}
			} else {
				x.text = g.profileID()
				if at, known = byText[x.text]; !known {
					at = uint32(len(list))
					byText[x.text] = at
				}
			}
			if !known {
				list = append(list, x)
			}
			list[at].add(g)
			list[at].label = cmp.Or(g.labels().get(spanNameLabel), list[at].label)
		}
	}
	// Those that are a span's are none.
	for _, w := range windows {
		w.eachSpanID(byKey, byText, func(i uint32) { list[i].named = true })
	}
	return list
}

// eachSpanID shows the exemplars that a span_id of the window names.
func (w *window) eachSpanID(byKey map[ident.Key]uint32, byText map[string]uint32, visit func(uint32)) {
	if len(byKey) > 0 {
		for i := range w.groups {
			row := &w.groups[i]
			if row.span == 0 || (group{w, i}).labelling().form == profileIDOnly {
				continue
			}
			if x, ok := byKey[row.span]; ok {
				visit(x)
			}
		}
	}
	for _, t := range w.texts {
		if (group{w, int(t.group)}).spanID() != t.id {
			continue
		}
		if x, ok := byText[t.id]; ok {
			visit(x)
		} else if x, ok := byKey[ident.ParseKey(t.id)]; ok {
			visit(x)
		}
	}
}
