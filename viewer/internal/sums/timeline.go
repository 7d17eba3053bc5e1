// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package sums

import (
	"cmp"
	"slices"
	"time"

	"github.com/spanprof/spanprof/exporter"
	"github.com/spanprof/spanprof/store"
)

// Timeline is a value over time, by the name of its span.
type Timeline struct {
	// Names are the values of span_name with the highest sums, highest first.
	Names []string `json:"names"`
	// Buckets are the windows; of very many, neighbours are merged.
	Buckets []Bucket `json:"buckets"`
}

// Bucket is one or more windows. Values are of Names, Rest is of all other samples.
type Bucket struct {
	Start      time.Time `json:"start"`
	DurationNs int64     `json:"durationNs"`
	Values     []int64   `json:"values"`
	Rest       int64     `json:"rest"`
}

// NewTimeline returns the values of a over time, of the n span_names with the most of it. The
// query of a has Steps and the label span_name. The windows are of its kind and time. Windows
// that begin at one moment are one bucket.
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
	slices.SortFunc(t.Buckets, func(a, b Bucket) int {
		return cmp.Or(a.Start.Compare(b.Start), cmp.Compare(b.DurationNs, a.DurationNs))
	})
	t.Buckets = slices.CompactFunc(t.Buckets, func(a, b Bucket) bool { return a.Start.Equal(b.Start) })
	for i := range t.Buckets {
		t.Buckets[i].Values = make([]int64, len(t.Names))
	}
	for _, s := range a.Sums {
		b, _ := slices.BinarySearchFunc(t.Buckets, s.Start, func(b Bucket, start time.Time) int { return b.Start.Compare(start) })
		if name := slices.Index(t.Names, s.Labels[0]); name >= 0 {
			t.Buckets[b].Values[name] += s.Value
		} else {
			t.Buckets[b].Rest += s.Value
		}
	}
	return t
}

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
	slices.SortFunc(names, func(a, b string) int { return cmp.Or(cmp.Compare(totals[b], totals[a]), cmp.Compare(a, b)) })
	return names[:min(n, len(names))]
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

// In returns the windows of a kind that overlap [from, until); zero times mean no bound.
func In(windows []store.WindowInfo, kind exporter.Kind, from, until time.Time) (list []store.WindowInfo) {
	for _, w := range windows {
		last := w.Start.Add(w.Duration)
		if w.Duration == 0 {
			last = last.Add(1) // a snapshot
		}
		if w.Kind == kind && (from.IsZero() || last.After(from)) && (until.IsZero() || w.Start.Before(until)) {
			list = append(list, w)
		}
	}
	return list
}
