// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package samples

import (
	"encoding/binary"
	"iter"
	"slices"

	"github.com/spanprof/spanprof/store/internal/memory"
)

const (
	// maxTimes bounds the times of a window, but that every sample keeps one of its
	// times. 64 threads at 200 Hz have twice as many in 10 s: where stacks come again
	// and again, every second of their times is then kept.
	maxTimes = 1 << 16
	// timeParts is into how many parts a window's time is cut: two bytes tell one of
	// them. In 10 s one lasts 0.6 ms, while a thread is sampled every 10 ms.
	timeParts = 1 << 14
	// indexStep is how many groups share an entry of the index.
	indexStep = 64
)

// packedTimes says when the samples of a window were taken; the zero value that this is
// not known.
//
// For each sample, in the order of the window, bytes has variable-length numbers: how
// many times there are, if counted; the first one, in units since base, as the
// difference to that of the sample before in the same group; and the differences of the
// others, each to the one before. Those of a group can be read by themselves.
type packedTimes struct {
	bytes []byte
	// index tells where in bytes every indexStep-th group begins.
	index []uint32
	// base is in nanoseconds since 1970, unit in nanoseconds.
	base, unit int64
	// counted says that the number of a sample's times is not CountOf.
	counted bool
}

func (t *packedTimes) size() int64 { return memory.Slice(t.bytes) + memory.Slice(t.index) }

// HasTimes reports whether it is known when the samples of w were taken.
func (w *Window) HasTimes() bool { return w.times.unit != 0 }

// packTimes keeps the times of the samples, which come in the order of w, in
// nanoseconds since 1970.
func (w *Window) packTimes(times [][]int64) {
	total := 0
	t := packedTimes{}
	var first, last int64
	for i, of := range times {
		if len(of) == 0 {
			t.counted = true
			continue
		}
		least, greatest := slices.Min(of), slices.Max(of)
		if total == 0 {
			first, last = least, greatest
		}
		first, last = min(first, least), max(last, greatest)
		total += len(of)
		t.counted = t.counted || int64(len(of)) != w.CountOf(i)
	}
	if total == 0 {
		return
	}
	step := 1
	if total > maxTimes {
		step = (total + maxTimes - 1) / maxTimes
		t.counted = true
	}
	// The difference of any two times fits without a sign.
	t.base, t.unit = first, int64((uint64(last)-uint64(first))/timeParts+1)
	var sorted []int64
	for g := range w.groups {
		if g%indexStep == 0 {
			t.index = append(t.index, uint32(len(t.bytes)))
		}
		from, to := (Group{w, g}).Bounds()
		before, begun := int64(0), false
		for i := from; i < to; i++ {
			sorted = append(sorted[:0], times[i]...)
			slices.Sort(sorted)
			n := (len(sorted) + step - 1) / step
			if t.counted {
				t.bytes = binary.AppendUvarint(t.bytes, uint64(n))
			}
			at := before
			for k := range n {
				part := int64((uint64(sorted[k*step]) - uint64(first)) / uint64(t.unit))
				switch {
				case k > 0 || !begun:
					t.bytes = binary.AppendUvarint(t.bytes, uint64(part-at))
				default:
					t.bytes = binary.AppendVarint(t.bytes, part-at)
				}
				begun = true
				at = part
				if k == 0 {
					before = part
				}
			}
		}
	}
	t.bytes, t.index = slices.Clone(t.bytes), slices.Clone(t.index)
	w.times = t
}

// timeReader reads packed times, sample by sample.
type timeReader struct {
	*packedTimes
	place int
	// before is the first time of the sample before, in units; begun says that the
	// group has one.
	before int64
	begun  bool
}

// sample appends the times of the next sample, of which count were taken.
func (r *timeReader) sample(times []int64, count int64) []int64 {
	n := count
	if r.counted {
		n = int64(r.uvarint())
	}
	at := r.before
	for k := range n {
		if k > 0 || !r.begun {
			at += int64(r.uvarint())
		} else {
			d, size := binary.Varint(r.bytes[r.place:])
			r.place += size
			at += d
		}
		r.begun = true
		if k == 0 {
			r.before = at
		}
		times = append(times, r.base+at*r.unit+r.unit/2)
	}
	return times
}

func (r *timeReader) uvarint() uint64 {
	v, size := binary.Uvarint(r.bytes[r.place:])
	r.place += size
	return v
}

// group reads past the samples of a group.
func (r *timeReader) group(g Group) {
	r.before, r.begun = 0, false
	var times [64]int64
	first, last := g.Bounds()
	for i := first; i < last; i++ {
		r.sample(times[:0], g.Window.CountOf(i))
	}
}

// reader returns a reader that is about to read a group.
func (g Group) reader() timeReader {
	r := timeReader{packedTimes: &g.Window.times}
	r.place = int(r.index[g.Index/indexStep])
	for i := g.Index - g.Index%indexStep; i < g.Index; i++ {
		r.group(Group{g.Window, i})
	}
	r.before, r.begun = 0, false
	return r
}

// Times returns the samples of the group, each with the times at which it was taken, in
// nanoseconds since 1970 and to a 16,384th of the window. Of many times of one stack not
// all may be there: each stands for the same part of the sample's values. The slice is
// only valid until the next one. There are none if the window does not know them.
func (g Group) Times() iter.Seq2[int, []int64] {
	return func(yield func(int, []int64) bool) {
		if !g.Window.HasTimes() {
			return
		}
		r := g.reader()
		var times []int64
		first, last := g.Bounds()
		for i := first; i < last; i++ {
			times = r.sample(times[:0], g.Window.CountOf(i))
			if !yield(i, times) {
				return
			}
		}
	}
}

// appendTimes appends the times of each sample of the group, nil where they are not known.
func (g Group) appendTimes(times [][]int64) [][]int64 {
	first, last := g.Bounds()
	from := len(times)
	times = append(times, make([][]int64, last-first)...)
	for i, of := range g.Times() {
		times[from+i-first] = slices.Clone(of)
	}
	return times
}
