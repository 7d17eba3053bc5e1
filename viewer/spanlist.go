// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package viewer

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/spanprof/spanprof/store"
)

// spanList is the answer to a request without a query.
type spanList struct {
	// Generation names what the store held when it was asked. Given as since,
	// the answer is short if that is unchanged.
	Generation string `json:"generation"`
	Service    string `json:"service"`
	// Services are all that there are profiles of, if that is more than one;
	// Service then is the one of the first of Groups.
	Services []string    `json:"services,omitempty"`
	Status   *statusJSON `json:"status,omitempty"`
	Stats    statsJSON   `json:"stats"`
	Spans    []spanJSON  `json:"spans"`
	// Groups sums all spans that the store holds by their name, the most
	// CPU time first. GroupsOmitted is the number of names that were left
	// out at its end.
	Groups        []groupJSON `json:"groups"`
	GroupsOmitted int         `json:"groupsOmitted,omitempty"`
	// Unnamed is the number of spans without a name, which are in no group:
	// no query by name selects them alone.
	Unnamed int `json:"unnamed,omitempty"`
	// Process has the queries for the profiles of the whole process.
	Process []kindJSON `json:"process"`
}

// unchanged is the list of spans for a client that has it.
type unchanged struct {
	Generation string      `json:"generation"`
	Unchanged  bool        `json:"unchanged"`
	Status     *statusJSON `json:"status,omitempty"`
}

// generation names what the store holds. Another process, or a store of another
// viewer, has other names.
func (h *handler) generation() string {
	return h.instance + "-" + strconv.FormatUint(h.store.Generation(), 36)
}

// unchangedSince says whether the list of spans is as it was at a generation: no
// span ended and no profile came or went, and none is running, whose length is
// "so far".
func (h *handler) unchangedSince(generation string) bool {
	return generation == h.generation() && h.store.Stats().SpansRunning == 0
}

func (h *handler) spanList(q store.SpanQuery) spanList {
	held := h.services()
	list := spanList{
		Generation: h.generation(),
		Status:     h.statusJSON(),
		Stats:      newStatsJSON(h.store.Stats()),
		Spans:      []spanJSON{},
		Groups:     []groupJSON{},
		Process:    h.process(held),
	}
	if held.several() {
		list.Services = held
	}
	totals := h.store.NameTotals()
	labels := newLabelNames(totals)
	for i, t := range totals {
		if i == 0 {
			list.Service = t.Service
		}
		switch {
		case t.Name == "":
			list.Unnamed += t.Spans
		case len(list.Groups) == maxGroups:
			list.GroupsOmitted++
		default:
			list.Groups = append(list.Groups, newGroupJSON(t, held, labels))
		}
	}
	for _, s := range h.spans(q) {
		list.Spans = append(list.Spans, newSpanJSON(s))
	}
	return list
}

// process lists the profiles of the whole process, or of each one where there are
// several. Without any sample there is none.
func (h *handler) process(held services) []kindJSON {
	list := []kindJSON{}
	if held.several() {
		for _, service := range held {
			for _, k := range h.kinds(h.resolve(query{flameQL: held.query(service)})) {
				k.Service = service
				list = append(list, k)
			}
		}
	} else {
		list = h.kinds(query{flameQL: flameQL{typ: profileTypes[0]}})
	}
	return slices.DeleteFunc(list, func(k kindJSON) bool { return k.Samples == 0 })
}

// spans returns the spans that q selects. A name that holds U+FFFD also selects
// the names that are shown as it: JSON has one for each byte that is no UTF-8.
func (h *handler) spans(q store.SpanQuery) []store.Span {
	if !strings.ContainsRune(q.Name, utf8.RuneError) {
		return h.store.Spans(q)
	}
	var spans []store.Span
	anyName := q
	anyName.Name, anyName.Limit = "", 0
	for _, s := range h.store.Spans(anyName) {
		if s.Name != q.Name && string([]rune(s.Name)) != q.Name {
			continue
		}
		if spans = append(spans, s); len(spans) == q.Limit {
			break
		}
	}
	return spans
}

// text is the list for a terminal.
func (l spanList) text() string {
	var b strings.Builder
	service := "service " + cmp.Or(oneLine(l.Service), "(none yet)")
	if len(l.Services) > 1 {
		service = fmt.Sprintf("%d services", len(l.Services))
	}
	fmt.Fprintf(&b, "%s: %d listed; %s and %s held\n", clip(service, 40), len(l.Spans), plural(l.Stats.Spans, "span"), plural(l.Stats.Windows, "window"))
	if l.Status != nil && l.Status.Message != "" {
		for _, part := range wrap("note: "+oneLine(l.Status.Message), textColumns) {
			fmt.Fprintln(&b, part)
		}
	}
	for i, p := range l.Process {
		lead := ""
		if i == 0 {
			lead = "whole process:"
		}
		fmt.Fprintf(&b, "%-14s %-14s  %s\n", lead, p.Measure, p.Query)
	}
	if len(l.Spans) == 0 {
		b.WriteString("no spans\n")
		return b.String()
	}
	starts := make([]time.Time, len(l.Spans))
	for i, s := range l.Spans {
		starts[i] = s.Start
	}
	when := newTimeColumn(starts)
	fmt.Fprintf(&b, "a span's profile: ?format=text&query=.cpu{profile_id=\"ID\"}\n\n%-*s %8s %8s %8s  %-16s  %s\n", when.width(), when.title, "wall", "cpu", "samples", "ID", "name")
	for _, s := range l.Spans {
		mark := ""
		if s.Err {
			mark = " [error]"
		}
		switch {
		case s.Running:
			mark += " [running]"
		case !s.Complete:
			mark += " [window open]"
		case s.CPUSamples > 0 && s.SamplesHeld == 0:
			mark += " [profile evicted]"
		case s.CPUSamples == 0 && s.Coverage == store.CoverageEvicted.String():
			mark += " [profile evicted]"
		case s.CPUSamples == 0 && s.Coverage != store.CoverageWhole.String():
			mark += " [not profiled]"
		}
		id := oneLine(s.ProfileID)
		room := textColumns - when.width() - 31 - max(16, utf8.RuneCountInString(id)) - len(mark)
		fmt.Fprintf(&b, "%s %8s %8s %8d  %-16s  %s%s\n", when.format(s.Start), s.wall(), formatValue(s.CPUNs, unitNanoseconds), s.CPUSamples, id, clip(oneLine(s.name()), max(room, 8)), mark)
	}
	return b.String()
}
