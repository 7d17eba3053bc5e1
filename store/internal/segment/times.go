// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package segment

import (
	"iter"
	"slices"

	"github.com/spanprof/spanprof/store/internal/memory"
)

const (
	// maxTimes bounds the times of a window. Beyond it a row keeps every second or third.
	// 64 threads at 200 Hz have twice as many in 10 s.
	maxTimes = 1 << 16
	// timeParts is the number of parts of a window that times distinguish. In 10 s a part
	// lasts 0.6 ms. A thread is sampled every 10 ms.
	timeParts = 1 << 14
)

// times are the moments at which the samples of a window were taken. The zero value means
// that they are unknown. parts has the times of each row in units since base, sorted.
type times struct {
	parts      []uint16
	base, unit int64
	// counts is the number of times of each row. It is empty if that is the number of samples.
	counts memory.Column
}

func (t *times) bytes() int64 { return memory.Slice(t.parts) + t.counts.Size() }

// pack keeps the times of the rows, in nanoseconds since 1970.
func (w *window) pack(of [][]int64) {
	all := slices.Concat(of...)
	if len(all) == 0 {
		return
	}
	base, last := slices.Min(all), slices.Max(all)
	step := (len(all) + maxTimes - 1) / maxTimes
	// The difference of any two times fits without a sign.
	t := times{base: base, unit: int64((uint64(last)-uint64(base))/timeParts + 1)}
	counts, counted := make([]uint32, len(of)), false
	for row, at := range of {
		for i, moment := range slices.Sorted(slices.Values(at)) {
			if i%step == 0 {
				t.parts = append(t.parts, uint16((uint64(moment)-uint64(base))/uint64(t.unit)))
				counts[row]++
			}
		}
		counted = counted || int64(counts[row]) != w.count(row)
	}
	t.parts = slices.Clip(slices.Clone(t.parts))
	if counted {
		t.counts = memory.NewColumn(counts)
	}
	w.times = t
}

// allTimes returns the rows with their times, which are valid until the next row. A window
// without times has none.
func (w *window) allTimes() iter.Seq2[int, []int64] {
	return func(yield func(int, []int64) bool) {
		t := &w.times
		parts, at := t.parts, []int64(nil)
		for row := 0; row < w.len() && len(parts) > 0; row++ {
			n := int(w.count(row))
			if t.counts.Len() > 0 {
				n = t.counts.At(row)
			}
			at = at[:0]
			for _, part := range parts[:n] {
				at = append(at, t.base+int64(part)*t.unit+t.unit/2)
			}
			if parts = parts[n:]; !yield(row, at) {
				return
			}
		}
	}
}
