// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package pyroscopeview

import (
	"cmp"
	"encoding/hex"
	"errors"
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
	// maxNames bounds the names of the list of names.
	maxNames = 500
	// spanSteps is into how many steps the time of a list is cut: the server gives some
	// spans of each.
	spanSteps = 20
	// spanSeries bounds the names with spans from the server.
	spanSeries = 100
)

// Spans implements store.View.
func (v *view) Spans(q store.SpanQuery) (list store.SpanList, err error) {
	switch {
	case q.ID != "":
		list.Spans, err = v.byID(strings.ToLower(q.ID))
	case q.Names:
		list.Names, err = v.names()
	default:
		list.Spans, err = v.list(q)
	}
	return list, err
}

// cpuType returns the id of a service's type of CPU time, "" if there is none.
func (v *view) cpuType(service string) (string, error) {
	t, err := v.typeOf(service, exporter.KindCPU, "cpu")
	if errors.Is(err, store.ErrUnknownSampleType) {
		return "", nil
	}
	return t.ID, err
}

// names returns the CPU time by name. The number of spans is unknown.
func (v *view) names() ([]store.NameTotal, error) {
	cpu, err := v.cpuType("")
	if cpu == "" {
		return nil, err
	}
	s := querier.Selector{Type: cpu, Labels: "{}", From: v.from, Until: v.until}
	all, err := v.client.Sums(v.ctx, s, []string{serviceName, labelkey.SpanName}, maxNames)
	if err != nil {
		return nil, err
	}
	if len(all) >= maxNames {
		v.note(fmt.Sprintf("the list of names has the %d with most CPU time", maxNames))
	}
	var names []store.NameTotal
	for _, sum := range all {
		if name := sum.Labels[labelkey.SpanName]; name != "" {
			names = append(names, store.NameTotal{Service: sum.Labels[serviceName], Name: name, Label: name, CPU: time.Duration(sum.Value), CPUSamples: 1})
		}
	}
	slices.SortFunc(names, func(a, b store.NameTotal) int {
		return cmp.Or(cmp.Compare(b.CPU, a.CPU), cmp.Compare(a.Name, b.Name), cmp.Compare(a.Service, b.Service))
	})
	return names, nil
}

// list returns the spans that a query lists.
func (v *view) list(q store.SpanQuery) ([]store.Span, error) {
	if q.OnlyErrors || q.MinDuration > 0 || len(q.Attributes) > 0 || q.Below != "" {
		v.note("a Pyroscope server has no wall times, errors, attributes and parents of spans: no span meets these conditions")
		return nil, nil
	}
	from, until := v.times(q.From, q.Until)
	rows, err := v.page(q.Service, spanLabels(q), from, until)
	if err != nil {
		return nil, err
	}
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

// page returns the spans that the server lists for a selector of a service.
func (v *view) page(service, labels string, from, until time.Time) ([]store.Span, error) {
	cpu, err := v.cpuType(service)
	if cpu == "" {
		return nil, err
	}
	step := max(time.Second, (until.Sub(from) / spanSteps).Truncate(time.Second))
	all, total, err := v.client.Spans(v.ctx, querier.Selector{Type: cpu, Labels: labels, From: from, Until: until}, step, spanSeries)
	if querier.IsUnimplemented(err) {
		v.note("the server lists no spans, as its storage v2 does: ask for one by its id")
		return nil, nil
	}
	if total > int64(len(all)) {
		v.note(fmt.Sprintf("the server lists not all spans, but those with the greatest values of each time, of up to %d names: %d of %d, a span counting once for each of its profiles", spanSeries, len(all), total))
	}
	var rows []store.Span
	places := make(map[string]int)
	for _, s := range all { // a span may be in several profiles
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
	return rows, err
}

// byID returns the span with an id. A span is known if it has samples. The server does not
// return the labels of a span by its id. They are from the list of spans of the time, if that
// has the span.
func (v *view) byID(id string) ([]store.Span, error) {
	if found, ok := v.spans[id]; ok {
		return found, nil
	}
	if b, err := hex.DecodeString(id); err != nil || len(b) != 8 {
		return nil, nil
	}
	c, ok := v.seen[id]
	if !ok {
		c = conditions{labels: "{}", spans: []string{id}}
	}
	held, err := v.kindsOfSpans(store.Query{}, c)
	if err != nil {
		return nil, err
	}
	v.spans[id] = nil
	if len(held.Sums) == 0 {
		return nil, nil
	}
	s := store.Span{ProfileID: id, SummaryMissing: true, Complete: true, Start: v.from, Duration: v.until.Sub(v.from), SamplesHeld: 1}
	for _, sum := range held.Sums {
		if sum.Kind == exporter.KindWall {
			s.WallSamples = 1
		} else {
			s.CPU, s.CPUInclusive, s.CPUSamples = time.Duration(sum.Value), time.Duration(sum.Value), 1
		}
	}
	near, err := v.near(c, held.Sums[0].Kind)
	if err != nil {
		return nil, err
	}
	rows, err := v.page(c.service, c.labels, near.From, near.Until)
	if err != nil {
		return nil, err
	}
	if i := slices.IndexFunc(rows, func(row store.Span) bool { return row.ProfileID == id }); i >= 0 {
		row := &rows[i]
		s.TraceID, s.Name, s.Label, s.Service, s.Start = row.TraceID, row.Name, row.Label, row.Service, row.Start
	} else {
		v.note("the name of this span is unknown: the server's list of its minutes lacks it")
	}
	v.spans[id] = []store.Span{s}
	return v.spans[id], nil
}

// nearTime is about how long a time is in which the server lists spans to find one. Its list
// of a longer time is less likely to have it.
const nearTime = 4 * time.Minute

// near returns the selector of the samples of a span, in about the minutes of the first.
func (v *view) near(c conditions, kind exporter.Kind) (querier.Selector, error) {
	t, err := v.typeOf(c.service, kind, standard(kind))
	s := v.selectorOf(t, c, time.Time{}, time.Time{})
	for err == nil && s.Until.Sub(s.From) > nearTime {
		half := s
		half.Until = s.From.Add(s.Until.Sub(s.From) / 2)
		n := int64(0)
		if n, err = v.client.Total(v.ctx, half); n > 0 {
			s.Until = half.Until
		} else {
			s.From = half.Until
		}
	}
	return s, err
}
