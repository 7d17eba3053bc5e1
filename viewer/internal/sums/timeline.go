// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package sums

import (
	"cmp"
	"slices"
	"time"

	"github.com/spanprof/spanprof/internal/labelkey"
	"github.com/spanprof/spanprof/internal/sorting"
	"github.com/spanprof/spanprof/store"
)

// TimelineLabels are the labels of a query for NewTimeline, which has Steps.
var TimelineLabels = []string{labelkey.SpanName, "service_name"}

// Timeline is a value over time, by the name of its span.
type Timeline struct {
	Names   []string // by descending value
	Buckets []Bucket
}

// Bucket is one or more windows. Values are of Names, Rest is of all other samples.
type Bucket struct {
	Start      time.Time `json:"start"`
	DurationNs int64     `json:"durationNs"`
	Values     []int64   `json:"values"`
	Rest       int64     `json:"rest"`
}

// Total returns the value of all samples.
func (b *Bucket) Total() int64 {
	total := b.Rest
	for _, v := range b.Values {
		total += v
	}
	return total
}

// NewTimeline returns the values of a over time, of the n span_names with the most of it. The
// windows are of the kind and time of the query. Windows that begin at one moment are one
// bucket. Momentary values are of all services at that time.
func NewTimeline(a *store.Samples, windows []store.WindowInfo, n int) *Timeline {
	t := &Timeline{Names: topNames(a, n), Buckets: []Bucket{}}
	for _, w := range windows {
		t.Buckets = append(t.Buckets, Bucket{Start: w.Start, DurationNs: w.Duration.Nanoseconds()})
	}
	for i, s := range a.Sums { // of kept spans, or of a source without windows
		if i == 0 || !s.Start.Equal(a.Sums[i-1].Start) {
			t.Buckets = append(t.Buckets, Bucket{Start: s.Start, DurationNs: a.Step.Nanoseconds()})
		}
	}
	sorting.Func(t.Buckets, func(a, b Bucket) int {
		return cmp.Or(a.Start.Compare(b.Start), cmp.Compare(b.DurationNs, a.DurationNs))
	})
	t.Buckets = slices.CompactFunc(t.Buckets, func(a, b Bucket) bool { return a.Start.Equal(b.Start) })
	for i := range t.Buckets {
		t.Buckets[i].Values = make([]int64, len(t.Names))
	}
	place := func(at time.Time) int {
		i, _ := slices.BinarySearchFunc(t.Buckets, at, func(b Bucket, at time.Time) int { return b.Start.Compare(at) })
		return i
	}
	first := 0
	for i, s := range a.Sums {
		name := slices.Index(t.Names, s.Labels[0])
		if i == 0 || !s.Start.Equal(a.Sums[i-1].Start) {
			first = place(s.Start)
		}
		last := first + 1
		if a.Momentary {
			last = max(last, place(currentUntil(windows, s.Start, s.Labels[1])))
		}
		for b := first; b < last; b++ {
			if name >= 0 {
				t.Buckets[b].Values[name] += s.Value
			} else {
				t.Buckets[b].Rest += s.Value
			}
		}
	}
	return t
}

// topNames returns the n names with the most value.
func topNames(a *store.Samples, n int) []string {
	totals := make(map[string]int64)
	for _, s := range a.Sums {
		totals[s.Labels[0]] += s.Value
	}
	names := []string{}
	for name, total := range totals {
		if name != "" && total != 0 {
			names = append(names, name)
		}
	}
	sorting.Func(names, func(a, b string) int { return cmp.Or(cmp.Compare(totals[b], totals[a]), cmp.Compare(a, b)) })
	return names[:min(n, len(names))]
}

// currentUntil returns until when a momentary value holds: to the end of its window, or to
// the start of the service's next one.
func currentUntil(windows []store.WindowInfo, start time.Time, service string) (until time.Time) {
	for _, w := range windows {
		if w.Service != service {
			continue
		}
		if w.Start.Equal(start) && End(w).After(until) {
			until = End(w)
		} else if w.Start.After(start) {
			if w.Start.Before(until) {
				until = w.Start
			}
			break
		}
	}
	return until
}

// Merge merges neighbours so that there are at most n buckets. The last of several momentary
// values counts.
func (t *Timeline) Merge(n int, momentary bool) {
	merged := []Bucket{}
	for part := range slices.Chunk(t.Buckets, max(1, (len(t.Buckets)+n-1)/n)) {
		b := Bucket{Start: part[0].Start, Values: make([]int64, len(t.Names))}
		for i, w := range part {
			b.DurationNs = max(b.DurationNs, w.Start.Sub(b.Start).Nanoseconds()+w.DurationNs)
			if momentary && i < len(part)-1 {
				continue
			}
			b.Rest += w.Rest
			for i, v := range w.Values {
				b.Values[i] += v
			}
		}
		merged = append(merged, b)
	}
	t.Buckets = merged
}
