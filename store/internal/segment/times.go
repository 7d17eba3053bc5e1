// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package segment

import (
	"encoding/binary"
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
// that they are unknown. packed has the times of each row in units since base, sorted. The
// first is the difference to the first of the row before.
type times struct {
	packed     []byte
	base, unit int64
	// counted means that packed has the number of times of each row: it is not the number
	// of samples.
	counted bool
}

func (t *times) bytes() int64 { return memory.Slice(t.packed) }

// pack keeps the times of the rows, in nanoseconds since 1970.
func (w *window) pack(of [][]int64) {
	total := 0
	var base, last int64
	counted := false
	for row, at := range of {
		counted = counted || int64(len(at)) != w.count(row)
		if len(at) == 0 {
			continue
		}
		least, most := slices.Min(at), slices.Max(at)
		if total == 0 {
			base, last = least, most
		}
		base, last = min(base, least), max(last, most)
		total += len(at)
	}
	if total == 0 {
		return
	}
	step := (total + maxTimes - 1) / maxTimes
	// The difference of any two times fits without a sign.
	t := times{base: base, unit: int64((uint64(last)-uint64(base))/timeParts + 1), counted: counted || step > 1}
	before := int64(0)
	for _, at := range of {
		sorted := slices.Sorted(slices.Values(at))
		n := (len(sorted) + step - 1) / step
		if t.counted {
			t.packed = binary.AppendUvarint(t.packed, uint64(n))
		}
		last := before
		for k := range n {
			part := int64((uint64(sorted[k*step]) - uint64(base)) / uint64(t.unit))
			t.packed = binary.AppendVarint(t.packed, part-last)
			if last = part; k == 0 {
				before = part
			}
		}
	}
	t.packed = slices.Clip(slices.Clone(t.packed))
	w.times = t
}

// allTimes returns the rows with their times, which are valid until the next row. A window
// without times has none.
func (w *window) allTimes() iter.Seq2[int, []int64] {
	return func(yield func(int, []int64) bool) {
		t := &w.times
		var at []int64
		before := int64(0)
		for row, b := 0, t.packed; len(b) > 0; row++ {
			n := uint64(w.count(row))
			if t.counted {
				var size int
				n, size = binary.Uvarint(b)
				b = b[size:]
			}
			at = at[:0]
			last := before
			for k := range n {
				d, size := binary.Varint(b)
				b = b[size:]
				if last += d; k == 0 {
					before = last
				}
				at = append(at, t.base+last*t.unit+t.unit/2)
			}
			if !yield(row, at) {
				return
			}
		}
	}
}
