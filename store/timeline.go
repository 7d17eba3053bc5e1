// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package store

import (
	"cmp"
	"slices"
	"time"
)

// Timeline is a value over time, by the name of the span that it belongs to.
type Timeline struct {
	// SampleType and Unit say what Values measure.
	SampleType, Unit string
	// Names are the values of the label span_name that have most of it, the
	// first one the most.
	Names []string
	// Buckets are in the order of time.
	Buckets []TimelineBucket
}

// TimelineBucket is the windows that began at one moment.
type TimelineBucket struct {
	// Start is that moment, Duration that of the longest window.
	Start    time.Time
	Duration time.Duration
	// Values has the value of each of Names, Rest that of all other samples:
	// of other names, and without a name.
	Values []int64
	Rest   int64
}

// Timeline returns the value that q selects by window and by span_name: of the n
// names with most of it each by itself, of the others together. The error is as
// in Select. Windows without a sample that matches are in it, with the value 0.
func (s *Store) Timeline(q Query, n int) (*Timeline, error) {
	f, err := s.find(q)
	if err != nil {
		return nil, err
	}
	timeline := &Timeline{SampleType: f.selected.name, Unit: f.selected.unit}
	for _, w := range f.windows {
		timeline.Buckets = append(timeline.Buckets, TimelineBucket{Start: w.start, Duration: w.end.Sub(w.start)})
	}
	slices.SortFunc(timeline.Buckets, func(a, b TimelineBucket) int {
		return cmp.Or(a.Start.Compare(b.Start), cmp.Compare(b.Duration, a.Duration))
	})
	timeline.Buckets = slices.CompactFunc(timeline.Buckets, func(a, b TimelineBucket) bool { return a.Start.Equal(b.Start) })

	type cell struct {
		bucket int
		name   string
	}
	cells := make(map[cell]int64)
	sums := make(map[string]int64)
	for _, g := range f.groups {
		w := g.window
		column := f.column(w, f.selected)
		if column < 0 {
			continue
		}
		bucket, _ := slices.BinarySearchFunc(timeline.Buckets, w.start, func(b TimelineBucket, start time.Time) int { return b.Start.Compare(start) })
		name := g.labels().get(spanNameLabel)
		first, last := g.bounds()
		for i := first; i < last; i++ {
			cells[cell{bucket, name}] += w.value(i, column)
			sums[name] += w.value(i, column)
		}
	}
	timeline.Names = topNames(sums, n)
	for i := range timeline.Buckets {
		timeline.Buckets[i].Values = make([]int64, len(timeline.Names))
	}
	for c, value := range cells {
		bucket := &timeline.Buckets[c.bucket]
		if i := slices.Index(timeline.Names, c.name); i >= 0 {
			bucket.Values[i] = value
		} else {
			bucket.Rest += value
		}
	}
	return timeline, nil
}

// topNames returns the n names with the greatest sums, the greatest first.
func topNames(sums map[string]int64, n int) []string {
	var names []string
	for name, sum := range sums {
		if name != "" && sum != 0 {
			names = append(names, name)
		}
	}
	slices.SortFunc(names, func(a, b string) int { return cmp.Or(cmp.Compare(sums[b], sums[a]), cmp.Compare(a, b)) })
	return names[:min(max(n, 0), len(names))]
}
