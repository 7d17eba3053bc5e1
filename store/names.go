// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package store

import (
	"cmp"
	"iter"
	"slices"
	"time"
	"weak"

	"github.com/spanprof/spanprof/store/internal/ident"
	"github.com/spanprof/spanprof/store/internal/samples"
	"github.com/spanprof/spanprof/store/internal/spanlog"
)

// NameTotal is the sum of the spans of one name in one service.
type NameTotal struct {
	Service, Name string
	// Label is the span_name label that samples of these spans carry: the
	// name, as a rule, but it may be cut, "other", or an earlier name of
	// the span. It is empty where there are no samples.
	Label string
	// Spans is their number, Errors of those with the status Error, Duration
	// the sum of their wall clocks, MaxDuration the longest. Manual exemplars
	// have no wall clock.
	Spans, Errors         int
	Duration, MaxDuration time.Duration
	// CPU and CPUSamples are the sums of those of the spans.
	CPU        time.Duration
	CPUSamples int64
}

func (v *view) NameTotals() ([]NameTotal, error) {
	if err := v.ctx.Err(); err != nil {
		return nil, err
	}
	totals := make(map[spanlog.NameKey]*spanlog.Count)
	total := func(key spanlog.NameKey) *spanlog.Count {
		t := totals[key]
		if t == nil {
			t = &spanlog.Count{Texts: spanlog.Texts{NameKey: key}}
			totals[key] = t
		}
		return t
	}
	for _, w := range v.windows {
		for i := range w.names {
			if v.ended() {
				return nil, v.ctx.Err()
			}
			total(w.names[i].texts.NameKey).Add(w.names[i].count())
		}
	}
	for i := range v.spans.Counts {
		total(v.spans.Counts[i].NameKey).Add(v.spans.Counts[i])
	}
	exemplars, known, err := v.exemplars()
	if err != nil {
		return nil, err
	}
	for i := range exemplars {
		if v.ended() {
			return nil, v.ctx.Err()
		}
		x := &exemplars[i]
		if x.Label == "" {
			continue
		}
		t := total(spanlog.NameKey{Service: x.Service(), Value: x.Label})
		t.Label = cmp.Or(t.Label, x.Label)
		if x.Named || known[x.Key] {
			// Samples of a span that the log did not know yet.
			t.CPU += x.LoneCPU
			t.CPUCount += x.LoneCount
			continue
		}
		t.Spans++
		t.CPU += x.CPU
		t.CPUCount += x.CPUCount
	}

	list := make([]NameTotal, 0, len(totals))
	for _, t := range totals {
		// An id that is a span's by now may leave nothing to count.
		if t.Spans > 0 || t.CPUCount > 0 {
			list = append(list, NameTotal{
				Service:     t.Service,
				Name:        t.Value,
				Label:       t.Label,
				Spans:       int(t.Spans),
				Errors:      int(t.Errors),
				Duration:    t.Duration,
				MaxDuration: t.MaxDuration,
				CPU:         t.CPU,
				CPUSamples:  t.CPUCount,
			})
		}
	}
	slices.SortFunc(list, func(a, b NameTotal) int {
		return cmp.Or(cmp.Compare(b.CPU, a.CPU), cmp.Compare(b.Duration, a.Duration), cmp.Compare(a.Name, b.Name), cmp.Compare(a.Service, b.Service))
	})
	return list, nil
}

func newExemplarSpan(x *samples.Exemplar) Span {
	start, end := x.Bounds()
	return Span{
		ProfileID:    x.ID(),
		TraceID:      x.TraceID(),
		Name:         x.Label,
		Service:      x.Service(),
		Start:        start,
		Duration:     end.Sub(start),
		CPU:          x.CPU,
		CPUSamples:   x.CPUCount,
		CPUInclusive: x.CPU,
		WallSamples:  x.WallCount,
		SamplesHeld:  x.Held,
		Label:        x.Label,
	}
}

// exemplarRows returns the manual exemplars that a filter lets through, as many as
// its query asks for.
func (v *view) exemplarRows(filter *spanFilter) ([]spanRow, error) {
	q := filter.query
	top := topRows{order: q.Order, limit: q.Limit}
	list, known, err := v.exemplars()
	if err != nil {
		return nil, err
	}
	// The newest first: of these most others are not wanted.
	for i := range slices.Backward(list) {
		x := &list[i]
		value := q.Order.valueOfExemplar(x)
		if x.Named || !top.wants(value) || known[x.Key] || !filter.matchesExemplar(x) {
			continue
		}
		span := newExemplarSpan(x)
		span.Manual = true
		top.add(spanRow{exemplar: &span, value: value})
	}
	return top.sorted(), nil
}

// exemplarList is what windows have of ids that were no known span's when the
// windows came.
type exemplarList struct {
	windows   []*window
	exemplars []samples.Exemplar
}

// exemplars returns what the windows have of ids that were no known span's when the
// windows came: the manual exemplars, and spans that the log knows by now, which known
// tells. The list must not be changed. The error is the context's.
//
// Of hundreds of thousands it takes a tenth of a second and 50 MB, and a page that
// lists spans needs it twice. So the last one is kept until the next garbage
// collection.
func (v *view) exemplars() (list []samples.Exemplar, known map[ident.Key]bool, err error) {
	all, err := v.exemplarList()
	if err != nil {
		return nil, nil, err
	}
	var keys []ident.Key
	for i := range all.exemplars {
		if key := all.exemplars[i].Key; key != 0 && !all.exemplars[i].Named {
			keys = append(keys, key)
		}
	}
	known = v.spans.Known(keys, v.ended)
	return all.exemplars, known, v.ctx.Err()
}

func (v *view) exemplarList() (*exemplarList, error) {
	s := v.store
	select {
	case s.exemplars <- struct{}{}:
		defer func() { <-s.exemplars }()
	case <-v.ctx.Done():
		return nil, v.ctx.Err()
	}
	if last := s.lastExemplars.Value(); last != nil && slices.Equal(last.windows, v.windows) {
		return last, nil
	}
	list := &exemplarList{v.windows, samples.Exemplars(samplesOf(v.windows), v.ended)}
	if err := v.ctx.Err(); err != nil {
		return nil, err
	}
	s.lastExemplars = weak.Make(list)
	return list, nil
}

func samplesOf(windows []*window) iter.Seq[*samples.Window] {
	return func(yield func(*samples.Window) bool) {
		for _, w := range windows {
			if !yield(&w.Window) {
				return
			}
		}
	}
}
