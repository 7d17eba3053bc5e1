// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"maps"
	"slices"
	"time"

	"github.com/spanprof/spanprof/store"
)

// top is how many spans of a name are searched for by duration, and as many by CPU.
const top = 3

// truth is what a store should show of a week.
type truth struct {
	slowest, mostCPU map[string][]*span
	// errors has the last span of each type of error.
	errors map[string]*span
}

func newTruth() truth {
	return truth{slowest: make(map[string][]*span), mostCPU: make(map[string][]*span), errors: make(map[string]*span)}
}

// ended enters a span that has samples; of others there is nothing to show.
func (t *truth) ended(s *span) {
	if s.samples == 0 || !s.reported {
		return
	}
	enter(t.slowest, s, func(s *span) int64 { return int64(s.end.Sub(s.start)) })
	enter(t.mostCPU, s, func(s *span) int64 { return int64(s.samples) })
	if s.errorType != "" {
		t.errors[s.errorType] = s
	}
}

// enter keeps the spans with the greatest values; of equal ones the first.
func enter(spans map[string][]*span, s *span, value func(*span) int64) {
	list := slices.Concat(spans[s.name], []*span{s})
	slices.SortStableFunc(list, func(a, b *span) int { return cmp.Compare(value(b), value(a)) })
	spans[s.name] = list[:min(top, len(list))]
}

// report is the part of the truth that a store shows.
type report struct {
	stats   store.Stats
	lists   [3]list
	missing []string
	refused int64
	last    error
}

type list struct {
	title string
	// wanted are all spans. with have samples, whole all of their samples.
	wanted, with, whole int
}

func (t *truth) compare(s *store.Store) (*report, error) {
	view, err := s.View(context.Background(), time.Time{}, time.Time{})
	if err != nil {
		return nil, err
	}
	defer view.Close()
	r := &report{stats: s.Stats(), lists: [3]list{{title: "slowest"}, {title: "most CPU"}, {title: "last errors"}}}
	for _, name := range slices.Sorted(maps.Keys(t.slowest)) {
		for _, span := range t.slowest[name] {
			err = cmp.Or(err, r.look(view, &r.lists[0], span))
		}
		for _, span := range t.mostCPU[name] {
			err = cmp.Or(err, r.look(view, &r.lists[1], span))
		}
	}
	for _, errorOf := range slices.Sorted(maps.Keys(t.errors)) {
		err = cmp.Or(err, r.look(view, &r.lists[2], t.errors[errorOf]))
	}
	return r, err
}

// look searches the store for a span and its samples.
func (r *report) look(view store.View, l *list, want *span) error {
	l.wanted++
	list, err := view.Spans(store.SpanQuery{ID: want.id.String()})
	if err != nil {
		return err
	}
	why, got := "", store.Span{}
	if len(list.Spans) > 0 {
		got = list.Spans[0]
	}
	switch {
	case len(list.Spans) == 0:
		why = "no record and no samples are held"
	case got.SummaryMissing:
		why = "its record is gone"
	case got.SamplesHeld == 0:
		why = fmt.Sprintf("its %d samples are gone, coverage %s", got.CPUSamples, got.Coverage)
	}
	if why == "" {
		l.with++
		if got.SamplesHeld == int64(want.samples) {
			l.whole++
		}
		return nil
	}
	text := fmt.Sprintf("%s: %s after %.1f h, %s, %d samples: %s", l.title, want.name, want.start.Sub(epoch).Hours(),
		want.end.Sub(want.start).Round(time.Millisecond), want.samples, why)
	if want.errorType != "" {
		text += "; " + want.errorType
	}
	r.missing = append(r.missing, text)
	return nil
}

// share is the part of what is wanted that has samples.
func (r *report) share() float64 {
	wanted, with := 0, 0
	for _, l := range r.lists {
		wanted += l.wanted
		with += l.with
	}
	return float64(with) / float64(max(1, wanted))
}

func (r *report) print(out io.Writer) {
	for _, l := range r.lists {
		fmt.Fprintf(out, "%-12s %3d wanted, %3d with samples (%.0f %%), %3d with all of them\n", l.title, l.wanted, l.with, 100*float64(l.with)/float64(max(1, l.wanted)), l.whole)
	}
	fmt.Fprintf(out, "%-12s %.1f %%\n", "in all", 100*r.share())
	fmt.Fprintf(out, "%-12s %d of %d (%.0f %%), %d windows, %d of %d spans\n", "bytes", r.stats.Bytes, r.stats.MaxBytes,
		100*float64(r.stats.Bytes)/float64(r.stats.MaxBytes), r.stats.Windows, r.stats.Spans, r.stats.SpansEnded)
	if r.refused > 0 {
		fmt.Fprintf(out, "%-12s %d profiles, the last: %v\n", "refused", r.refused, r.last)
	}
	for _, text := range r.missing {
		fmt.Fprintln(out, "missing     ", text)
	}
}
