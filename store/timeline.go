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

	sums, names := f.nameSums(timeline.Buckets)
	totals := make([]int64, len(names))
	for _, sum := range sums {
		totals[sum.name] += sum.value
	}
	// places tell where in Names a name is, -1 for the others.
	places := make([]int, len(names))
	for name := range places {
		places[name] = -1
	}
	for i, name := range topNames(names, totals, n) {
		timeline.Names = append(timeline.Names, names[name])
		places[name] = i
	}
	for i := range timeline.Buckets {
		timeline.Buckets[i].Values = make([]int64, len(timeline.Names))
	}
	for _, sum := range sums {
		bucket := &timeline.Buckets[sum.bucket]
		if i := places[sum.name]; i >= 0 {
			bucket.Values[i] += sum.value
		} else {
			bucket.Rest += sum.value
		}
	}
	return timeline, nil
}

// nameSum is the value of samples of one bucket and name, which are places in the
// lists of both.
type nameSum struct {
	bucket, name uint32
	value        int64
}

// nameSums returns what is found, by window and labelling but for what is zero,
// and the names in it.
func (f *found) nameSums(buckets []TimelineBucket) (sums []nameSum, names []string) {
	byName := make(map[string]uint32)
	bySet := make(map[*labelSet]uint32)
	nameOf := func(set *labelSet) uint32 {
		i, ok := bySet[set]
		if ok {
			return i
		}
		name := set.get(spanNameLabel)
		i, ok = byName[name]
		if !ok {
			i = uint32(len(names))
			names = append(names, name)
			byName[name] = i
		}
		bySet[set] = i
		return i
	}
	var values []int64
	for i := range f.matches {
		m := &f.matches[i]
		w := m.window
		column := f.column(w, f.selected)
		if column < 0 {
			continue
		}
		bucket, _ := slices.BinarySearchFunc(buckets, w.start, func(b TimelineBucket, start time.Time) int { return b.Start.Compare(start) })
		values = m.appendSums(values[:0], column)
		for j, value := range values {
			if value != 0 {
				sums = append(sums, nameSum{uint32(bucket), nameOf(w.labellings[j].set), value})
			}
		}
	}
	return sums, names
}

// topNames returns the places of the n names with the greatest totals, the
// greatest first; samples without a name have no part in it.
func topNames(names []string, totals []int64, n int) []int {
	var top []int
	for i, name := range names {
		if name != "" && totals[i] != 0 {
			top = append(top, i)
		}
	}
	slices.SortFunc(top, func(a, b int) int {
		return cmp.Or(cmp.Compare(totals[b], totals[a]), cmp.Compare(names[a], names[b]))
	})
	return top[:min(max(n, 0), len(top))]
}
