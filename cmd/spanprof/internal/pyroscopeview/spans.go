// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package pyroscopeview

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spanprof/spanprof/cmd/spanprof/internal/querier"
	"github.com/spanprof/spanprof/exporter"
	"github.com/spanprof/spanprof/internal/labelkey"
	"github.com/spanprof/spanprof/store"
)

const (
	// spanSteps is into how many steps the time of a list is cut: the server gives some
	// spans of each.
	spanSteps = 20
	// spanSeries bounds the names with spans from the server.
	spanSeries = 100
)

// spanPage is spans that the server gives.
type spanPage struct {
	spans []querier.Span
	total int64
	cut   bool
	// missing is set if the server cannot list spans of that time.
	missing bool
}

// page returns the spans that the server gives for a selector. What it does not have is
// an empty page.
func (v *view) page(s querier.Selector) (*spanPage, error) {
	if p, ok := v.listed[key(s)]; ok {
		return p, nil
	}
	step := max(time.Second, (s.Until.Sub(s.From) / spanSteps).Truncate(time.Second))
	p := &spanPage{}
	var err error
	p.spans, p.total, p.cut, err = v.client.Spans(v.ctx, s, step, spanSeries)
	switch {
	case querier.IsUnimplemented(err):
		p.missing = true
	case err != nil:
		return nil, err
	}
	v.listed[key(s)] = p
	return p, nil
}

// Spans implements store.View.
func (v *view) Spans(q store.SpanQuery) (list store.SpanList, err error) {
	switch {
	case q.ID != "":
		list.Spans, err = v.byID(q.ID)
	case q.Names:
		list.Names, err = v.nameTotals()
	default:
		list.Spans, err = v.list(q)
	}
	return list, err
}

// list returns the spans that a query lists.
func (v *view) list(q store.SpanQuery) ([]store.Span, error) {
	if q.OnlyErrors || q.MinDuration > 0 || q.MaxDuration > 0 || len(q.Attributes) > 0 || q.Below != "" {
		v.note("a Pyroscope server has no wall times, errors, attributes and parents of spans: no span meets these conditions")
		return nil, nil
	}
	from, until := v.times(q.From, q.Until)
	for _, found := range v.spans {
		if q.TraceID != "" && found.TraceID == q.TraceID {
			from, until = found.from, found.until // The rest of a trace is near.
		}
	}
	s := querier.Selector{Labels: spanLabels(q), From: from, Until: until}
	all := &spanPage{}
	types, err := v.standardTypes(exporter.KindCPU, q.Service)
	if err != nil {
		return nil, err
	}
	if len(types) > 0 {
		s.Type = types[0].ID
		if all, err = v.page(s); err != nil {
			return nil, err
		}
	}
	if all.missing {
		v.note("the server lists no spans of this time, as its storage v2 does: ask for one by its id, or for less time")
	}
	if all.total > int64(len(all.spans)) {
		v.note(fmt.Sprintf("the server lists not all spans, but those with the greatest values of each time and name: %d of %d, a span counting once for each of its profiles", len(all.spans), all.total))
	}
	if all.cut {
		v.note(fmt.Sprintf("of more than %d names, it lists no spans", spanSeries))
	}
	rows := spanRows(all.spans)
	rows = slices.DeleteFunc(rows, func(s store.Span) bool { return q.TraceID != "" && !strings.EqualFold(s.TraceID, q.TraceID) })
	slices.SortFunc(rows, func(a, b store.Span) int {
		byCPU := cmp.Or(cmp.Compare(b.CPU, a.CPU), b.Start.Compare(a.Start), cmp.Compare(a.ProfileID, b.ProfileID))
		if q.Order == store.Newest {
			return cmp.Or(b.Start.Compare(a.Start), byCPU)
		}
		return byCPU
	})
	if q.Limit > 0 {
		rows = rows[:min(q.Limit, len(rows))]
	}
	return rows, nil
}

// spanLabels returns the label selector of the spans that a query selects.
func spanLabels(q store.SpanQuery) string {
	var labels []string
	if q.Service != "" {
		labels = append(labels, serviceName+"="+strconv.Quote(q.Service))
	}
	if q.Name != "" {
		labels = append(labels, labelkey.SpanName+"="+strconv.Quote(q.Name))
	}
	if q.Contains != "" {
		labels = append(labels, labelkey.SpanName+"=~"+strconv.Quote("(?i).*"+regexp.QuoteMeta(q.Contains)+".*"))
	}
	return "{" + strings.Join(labels, ",") + "}"
}

// spanRows returns the spans of a list. A span may be in several profiles.
func spanRows(list []querier.Span) []store.Span {
	rows := make([]store.Span, 0, len(list))
	places := make(map[string]int)
	for _, s := range list {
		i, ok := places[s.ID]
		if !ok {
			i = len(rows)
			places[s.ID] = i
			rows = append(rows, store.Span{
				ProfileID: s.ID, TraceID: s.TraceID, Name: s.Labels[labelkey.SpanName], Label: s.Labels[labelkey.SpanName], Service: s.Labels[serviceName],
				Start: s.Time, SummaryMissing: true, SamplesHeld: 1, Complete: true,
			})
		}
		row := &rows[i]
		if s.Time.Before(row.Start) {
			row.Start = s.Time
		}
		row.CPU += time.Duration(s.Value)
		row.CPUInclusive, row.CPUSamples = row.CPU, 1
	}
	return rows
}
