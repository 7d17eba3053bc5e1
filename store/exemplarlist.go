// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package store

import (
	"slices"
	"weak"
)

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
func (m *moment) knownOf(list []exemplar) map[spanKey]bool {
	var keys []spanKey
	for i := range list {
		if key := list[i].key; key != 0 && !list[i].named {
			keys = append(keys, key)
		}
	}
	return m.store.spans.known(m.snapshot, keys)
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
	byKey := make(map[spanKey]uint32, max(0, loose-texts))
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
			list[at].label = orElse(g.labels().get(spanNameLabel), list[at].label)
		}
	}
	// Those that are a span's are none.
	for _, w := range windows {
		w.eachSpanID(byKey, byText, func(i uint32) { list[i].named = true })
	}
	return list
}

// eachSpanID shows the exemplars that a span_id of the window names.
func (w *window) eachSpanID(byKey map[spanKey]uint32, byText map[string]uint32, visit func(uint32)) {
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
		} else if x, ok := byKey[parseSpanKey(t.id)]; ok {
			visit(x)
		}
	}
}
