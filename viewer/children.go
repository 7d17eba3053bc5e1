// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package viewer

import (
	"strings"

	"github.com/spanprof/spanprof/exporter"
	"github.com/spanprof/spanprof/internal/labelkey"
	"github.com/spanprof/spanprof/store"
)

// maxListedBytes is the length of the ids that fit into a query.
const maxListedBytes = 15_000

// childrenJSON is the query for a span together with the spans below it in this
// process, where these have profiles of their own.
type childrenJSON struct {
	Query string `json:"query"`
	// Meaning says in words what the query selects.
	Meaning string `json:"meaning"`
	// Spans is how many spans that is.
	Spans int `json:"spans"`
}

// newChildren returns nil for a span that none below it has samples of the
// query's kind. trace has the spans of its trace.
func newChildren(q query, span store.Span, trace []store.Span) *childrenJSON {
	below := map[string][]store.Span{}
	for _, s := range trace {
		if s.ParentID != "" {
			below[s.ParentID] = append(below[s.ParentID], s)
		}
	}
	ids, todo, found := []string{}, []store.Span{span}, false
	for len(todo) > 0 {
		s := todo[0]
		// A span comes once, even where parents that somebody made up lead
		// round in a circle.
		todo = append(todo[1:], below[s.ProfileID]...)
		delete(below, s.ProfileID)
		switch {
		case len(ids) == 0:
			ids = append(ids, s.ProfileID)
		case s.SamplesHeld > 0 && s.ProfileID != span.ProfileID:
			ids = append(ids, s.ProfileID)
			found = found || sampled(s, q.typ.kind)
		}
	}
	if !found {
		return nil
	}
	all := q.without(labelkey.ProfileID, labelkey.SpanID)
	expression := strings.Join(ids, "|")
	if len(expression) > maxListedBytes {
		all = all.with(labelkey.TraceID, span.TraceID)
		return &childrenJSON{Query: all.String(), Meaning: "the whole trace, as these are too many for one query", Spans: len(ids)}
	}
	// The ids of spans are hexadecimal digits.
	m, err := store.NewMatcher(labelkey.ProfileID, store.MatchRegexp, expression)
	if err != nil {
		return nil
	}
	all.matchers = append(all.matchers, m)
	return &childrenJSON{Query: all.String(), Meaning: "this span with " + plural(len(ids)-1, "span") + " below it", Spans: len(ids)}
}

// sampled says whether a span that there are samples of may have some of a kind.
func sampled(s store.Span, kind exporter.Kind) bool {
	switch kind {
	case exporter.KindCPU:
		return s.CPUSamples > 0
	case exporter.KindWall:
		return s.WallSamples > 0
	}
	return true
}
