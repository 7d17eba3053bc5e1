// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package store

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/spanprof/spanprof/store/internal/samples"
)

// Timeline is a value over time, by the name of the span that it belongs to.
type Timeline struct {
	// SampleType and Unit say what Values measure.
	SampleType, Unit string
	// Momentary says that a value describes the end of its window, as
	// inuse_space and goroutine do: to add those of several buckets makes no
	// sense.
	Momentary bool
	// Names are the values of the label span_name that have most of it, the
	// first one the most.
	Names []string
	// Buckets are in the order of time.
	Buckets []TimelineBucket
}

// TimelineBucket is the windows that began at one moment. Of values that describe a
// moment it has those of all services at that time, which have windows of their own.
type TimelineBucket struct {
	// Start is that moment, Duration that of the longest window.
	Start    time.Time
	Duration time.Duration
	// Values has the value of each of Names, Rest that of all other samples:
	// of other names, and without a name.
	Values []int64
	Rest   int64
}

func (v *view) Timeline(q Query, n int) (*Timeline, error) {
	f, err := v.find(q)
	if err != nil {
		return nil, err
	}
	timeline := &Timeline{SampleType: f.selected.Name, Unit: f.selected.Unit, Momentary: f.selected.Momentary()}
	for _, w := range f.windows {
		timeline.Buckets = append(timeline.Buckets, TimelineBucket{Start: w.Start, Duration: w.End.Sub(w.Start)})
	}
	slices.SortFunc(timeline.Buckets, func(a, b TimelineBucket) int {
		return cmp.Or(a.Start.Compare(b.Start), cmp.Compare(b.Duration, a.Duration))
	})
	timeline.Buckets = slices.CompactFunc(timeline.Buckets, func(a, b TimelineBucket) bool { return a.Start.Equal(b.Start) })

	sums, names := f.nameSums(timeline.Buckets, v.ended)
	if err := v.ctx.Err(); err != nil {
		return nil, err
	}
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

// nameSums returns what is found, by bucket, window and name but for what is zero,
// and the names in it.
func (f *found) nameSums(buckets []TimelineBucket, ended func() bool) (sums []nameSum, names []string) {
	byName := make(map[string]uint32)
	bySet := make(map[*samples.LabelSet]uint32)
	nameOf := func(set *samples.LabelSet) uint32 {
		i, ok := bySet[set]
		if ok {
			return i
		}
		name := set.SpanName()
		i, ok = byName[name]
		if !ok {
			i = uint32(len(names))
			names = append(names, name)
			byName[name] = i
		}
		bySet[set] = i
		return i
	}
	place := func(at time.Time) int {
		i, _ := slices.BinarySearchFunc(buckets, at, func(b TimelineBucket, at time.Time) int { return b.Start.Compare(at) })
		return i
	}
	var until map[*window]time.Time
	if f.selected.Momentary() {
		until = f.currentUntil()
	}
	var values, ofNames []int64
	for i := range f.matches {
		if ended() {
			return nil, nil
		}
		m := &f.matches[i]
		w := m.window
		// Those of each window count, also where the latest one is the answer to
		// other queries.
		column := w.Column(f.selected)
		if column < 0 {
			continue
		}
		values = m.AppendSums(values[:0], column)
		clear(ofNames)
		for j, value := range values {
			if value == 0 {
				continue
			}
			name := nameOf(w.LabelsOf(j))
			ofNames = append(ofNames, make([]int64, len(names)-len(ofNames))...)
			ofNames[name] += value
		}
		first := place(w.Start)
		last := max(first+1, place(until[w]))
		for name, value := range ofNames {
			for bucket := first; bucket < last && value != 0; bucket++ {
				sums = append(sums, nameSum{uint32(bucket), uint32(name), value})
			}
		}
	}
	return sums, names
}

// currentUntil returns until when windows tell how things are: to their end, but no
// longer than to the start of the next one of the service.
func (f *found) currentUntil() map[*window]time.Time {
	windows := slices.Clone(f.windows)
	slices.SortFunc(windows, func(a, b *window) int {
		return cmp.Or(strings.Compare(a.Service, b.Service), b.Start.Compare(a.Start))
	})
	until := make(map[*window]time.Time, len(windows))
	var next time.Time
	for i, w := range windows {
		switch {
		case i == 0 || windows[i-1].Service != w.Service:
			next = w.End
		case windows[i-1].Start.After(w.Start):
			next = windows[i-1].Start
		}
		until[w] = w.End
		if next.Before(w.End) {
			until[w] = next
		}
	}
	return until
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
