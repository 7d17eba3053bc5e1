// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package store

import (
	"slices"
	"time"

	"github.com/spanprof/spanprof/exporter"
	"github.com/spanprof/spanprof/store/internal/ident"
	"github.com/spanprof/spanprof/store/internal/samples"
)

// Timed is implemented by the views of a source that may know when samples were taken,
// such as a Store. Others know only in which window.
type Timed interface {
	// CPUTimes returns when the CPU samples of a span were taken that the view has
	// returned, in their order: at most one entry for each of so many equal parts of
	// the span's duration. Times are right to a 16,384th of their window. The CPU time
	// of all entries is less than the span's where profiles have no times, or made room
	// for newer ones.
	CPUTimes(s Span, parts int) ([]CPUTime, error)
}

var _ Timed = (*view)(nil)

// CPUTime is CPU time that a span took at a moment.
type CPUTime struct {
	// After is the time since the start of the span, of the first sample.
	After time.Duration
	// CPU is what the samples stand for: it was taken until then, by one goroutine or
	// several. Samples is their number.
	CPU     time.Duration
	Samples int64
}

func (v *view) CPUTimes(s Span, parts int) ([]CPUTime, error) {
	if err := v.ctx.Err(); err != nil {
		return nil, err
	}
	if parts <= 0 {
		return nil, nil
	}
	var (
		list   = make([]CPUTime, parts)
		groups []samples.Group
		key    = ident.ParseKey(s.ProfileID)
		start  = s.Start.UnixNano()
		// What is at the end is in the last part.
		width = s.Duration/time.Duration(parts) + 1
	)
	for _, windows := range [][]*window{v.kept, v.windows} {
		for _, w := range windows {
			// A moment overlaps some time.
			if w.Kind != exporter.KindCPU || !w.HasTimes() || !w.Overlaps(s.Start, s.Start.Add(s.Duration+1)) {
				continue
			}
			groups = w.Find(groups[:0], s.ProfileID, key)
			for _, g := range groups {
				for i, times := range g.Times() {
					cpu, n := w.CPUOf(i)
					for j, at := range times {
						// Times are rounded.
						after := min(max(time.Duration(at-start), 0), s.Duration)
						list[after/width].add(after, time.Duration(share(int64(cpu), j, len(times))), share(n, j, len(times)))
					}
				}
			}
		}
	}
	return slices.DeleteFunc(list, func(t CPUTime) bool { return t.Samples == 0 }), nil
}

func (t *CPUTime) add(after, cpu time.Duration, samples int64) {
	if t.Samples == 0 || after < t.After {
		t.After = after
	}
	t.CPU += cpu
	t.Samples += samples
}

// share returns the i-th of n parts of a value, whose sum is the value.
func share(value int64, i, n int) int64 {
	part := value / int64(n)
	if int64(i) < value%int64(n) {
		part++
	}
	return part
}

// addAfterEnd adds what goroutines of the spans did after their end.
func (m *moment) addAfterEnd(spans []Span) {
	places := make(map[ident.Key][]int)
	for _, windows := range [][]*window{m.kept, m.windows} {
		for _, w := range windows {
			if w.Kind != exporter.KindCPU {
				continue
			}
			w.EachEnded(func(key ident.Key, cpu time.Duration, n int64) {
				if len(places) == 0 {
					for i := range spans {
						key := ident.ParseKey(spans[i].ProfileID)
						places[key] = append(places[key], i)
					}
				}
				for _, i := range places[key] {
					spans[i].CPUAfterEnd += cpu
					spans[i].CPUAfterEndSamples += n
				}
			})
		}
	}
}
