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

	sums := f.nameSums()
	totals := make(map[string]int64)
	for _, sum := range sums {
		totals[sum.name] += sum.value
	}
	timeline.Names = topNames(totals, n)
	for i := range timeline.Buckets {
		timeline.Buckets[i].Values = make([]int64, len(timeline.Names))
	}
	for _, sum := range sums {
		at, _ := slices.BinarySearchFunc(timeline.Buckets, sum.start, func(b TimelineBucket, start time.Time) int { return b.Start.Compare(start) })
		bucket := &timeline.Buckets[at]
		if i := slices.Index(timeline.Names, sum.name); i >= 0 {
			bucket.Values[i] += sum.value
		} else {
			bucket.Rest += sum.value
		}
	}
	return timeline, nil
}

// nameSum is the value of samples that began at one moment, by their span_name.
type nameSum struct {
	start time.Time
	name  string
	value int64
}

// nameSums returns what is found, by window and labelling, but what is zero.
func (f *found) nameSums() []nameSum {
	var sums []nameSum
	names := make(map[*labelSet]string)
	var values []int64
	for i := range f.matches {
		m := &f.matches[i]
		column := f.column(m.window, f.selected)
		if column < 0 {
			continue
		}
		values = m.appendSums(values[:0], column)
		for j, value := range values {
			if value == 0 {
				continue
			}
			set := m.window.labellings[j].set
			name, ok := names[set]
			if !ok {
				name = set.get(spanNameLabel)
				names[set] = name
			}
			sums = append(sums, nameSum{m.window.start, name, value})
		}
	}
	return sums
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
