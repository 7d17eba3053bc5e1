// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package viewer

import (
	"cmp"
	"fmt"
	"net/url"
	"strconv"
	"strings"

	"github.com/spanprof/spanprof/store"
)

// defaultSpans is the length of the list where the request names none.
const defaultSpans = 200

// spanList is the answer to a request without a query.
type spanList struct {
	Service string      `json:"service"`
	Status  *statusJSON `json:"status,omitempty"`
	Stats   statsJSON   `json:"stats"`
	Spans   []spanJSON  `json:"spans"`
	// Groups sums all spans that the store holds by their name, the most
	// CPU time first. GroupsOmitted is the number of names that were left
	// out at its end.
	Groups        []groupJSON `json:"groups"`
	GroupsOmitted int         `json:"groupsOmitted,omitempty"`
}

// parseSpanQuery reads the parameters of the list.
func parseSpanQuery(params url.Values) (store.SpanQuery, error) {
	q := store.SpanQuery{Name: params.Get("name"), Limit: defaultSpans}
	switch order := params.Get("order"); order {
	case "", "newest":
		q.Order = store.Newest
	case "slowest":
		q.Order = store.Slowest
	case "cpu":
		q.Order = store.MostCPU
	default:
		return q, badRequestf("unknown order %q: known are newest, slowest and cpu", order)
	}
	if text := params.Get("limit"); text != "" {
		limit, err := strconv.Atoi(text)
		if err != nil || limit < 1 {
			return q, badRequestf("limit %q: expected a whole number above 0", text)
		}
		q.Limit = limit
	}
	return q, nil
}

func (h *handler) spanList(q store.SpanQuery) spanList {
	list := spanList{
		Status: h.statusJSON(),
		Stats:  newStatsJSON(h.store.Stats()),
		Spans:  []spanJSON{},
		Groups: []groupJSON{},
	}
	totals := h.store.NameTotals()
	if omitted := len(totals) - maxGroups; omitted > 0 {
		totals, list.GroupsOmitted = totals[:maxGroups], omitted
	}
	for _, t := range totals {
		list.Groups = append(list.Groups, newGroupJSON(t))
	}
	for _, s := range h.store.Spans(q) {
		list.Spans = append(list.Spans, newSpanJSON(s))
	}
	if len(list.Groups) > 0 {
		list.Service = list.Groups[0].Service
	}
	return list
}

// text is the list for a terminal.
func (l spanList) text() string {
	var b strings.Builder
	fmt.Fprintf(&b, "service %s: %d of %d spans, %d windows\n", cmp.Or(l.Service, "(none yet)"), len(l.Spans), l.Stats.Spans, l.Stats.Windows)
	if l.Status != nil && l.Status.Message != "" {
		fmt.Fprintln(&b, "note:", l.Status.Message)
	}
	if len(l.Spans) == 0 {
		b.WriteString("no spans\n")
		return b.String()
	}
	fmt.Fprintf(&b, "\n%-24s %10s %10s %8s  %s\n", "start", "wall", "cpu", "samples", "name, query")
	for _, s := range l.Spans {
		mark := ""
		if s.Err {
			mark = " [error]"
		}
		switch {
		case !s.Complete:
			mark += " [window open]"
		case s.CPUSamples == 0 && s.Coverage == store.CoverageEvicted.String():
			mark += " [profile evicted]"
		case s.CPUSamples == 0 && s.Coverage != store.CoverageWhole.String():
			mark += " [not profiled]"
		}
		fmt.Fprintf(&b, "%-24s %10s %10s %8d  %s%s  %s\n",
			s.Start.UTC().Format("2006-01-02T15:04:05.000Z"),
			s.wall(), formatValue(s.CPUNs, unitNanoseconds),
			s.CPUSamples, oneLine(cmp.Or(s.Name, s.ProfileID)), mark, s.Query)
	}
	return b.String()
}
