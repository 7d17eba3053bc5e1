// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package spanlog

import (
	"strings"
	"time"
	"unsafe"

	"github.com/spanprof/spanprof/store/internal/ident"
	"github.com/spanprof/spanprof/store/internal/memory"
)

// maxFlight is how long samples wait for a span at least before it does not count as
// a loss that they make room: most of these are of spans that the store never hears of.
const maxFlight = int64(5 * time.Minute)

// orphans are the samples of spans without a record: those of a child that has
// not ended, which find it when it does, and those of spans that the store never
// hears of. The oldest make room for the newest, and leave their sums behind.
type orphans struct {
	maxBytes, bytes int64
	// faded are the sums of those that made room.
	faded remains[faded]
	// now is when the latest CPU window ended that came, and lostAt what it was when
	// samples were lost last, in nanoseconds since 1970.
	now, lostAt int64
	// lost is the number of spans of which samples were lost, and lostCPU what they
	// had.
	lost           int64
	lostCPU        time.Duration
	byKey          map[ident.Key]*orphan
	oldest, newest *orphan
}

// orphan is what is known of such a span.
type orphan struct {
	faded
	key ident.Key
	// label is the span_name label of its newest samples that have one.
	label string
	// older and newer are its neighbours in the order in which they came.
	older, newer *orphan
}

// faded is what is known of a span in few bytes.
type faded struct {
	Samples
	// shared is the part of CPU that came beside the id of another span, and goes up
	// from that span.
	shared time.Duration
	// came is when the first samples came: the end of their window, in nanoseconds
	// since 1970.
	came int64
}

func (f *faded) cpu() time.Duration { return f.CPU + f.Below }

// drop takes samples off that are no longer held, as many as there are, and returns how
// many these were.
func (f *faded) drop(held int64) int64 {
	held = min(held, f.Held)
	f.Held -= held
	return held
}

func newOrphans(maxBytes int64) orphans {
	return orphans{maxBytes: maxBytes, byKey: make(map[ident.Key]*orphan), faded: remains[faded]{maxBytes: maxBytes / 2}}
}

func (o *orphan) cost() int64 {
	return memory.Alloc(int64(unsafe.Sizeof(*o))) + memory.ChurnedSlot(8+memory.Pointer) + memory.Alloc(int64(len(o.label)))
}

// of returns what is remembered of a span, which may be new.
func (o *orphans) of(key ident.Key) *faded {
	if x := o.byKey[key]; x != nil {
		return &x.faded
	}
	if f := o.faded.get(key); f != nil {
		return f
	}
	x := &orphan{key: key, older: o.newest, faded: faded{came: o.now}}
	if o.newest != nil {
		o.newest.newer = x
	} else {
		o.oldest = x
	}
	o.newest = x
	o.byKey[key] = x
	o.bytes += x.cost()
	o.trim()
	return &x.faded
}

func (o *orphans) remove(x *orphan) {
	if x.older != nil {
		x.older.newer = x.newer
	} else {
		o.oldest = x.newer
	}
	if x.newer != nil {
		x.newer.older = x.older
	} else {
		o.newest = x.older
	}
	delete(o.byKey, x.key)
	o.bytes -= x.cost()
}

// setLabel gives a span the label of its newest samples, unless only sums are left.
func (o *orphans) setLabel(key ident.Key, label string) {
	x := o.byKey[key]
	if x == nil || label == "" || label == x.label {
		return
	}
	o.bytes -= x.cost()
	// A copy, as the window that has it may go first.
	x.label = strings.Clone(label)
	o.bytes += x.cost()
	o.trim()
}

// has reports whether anything is remembered of a span.
func (o *orphans) has(key ident.Key) bool {
	return o.byKey[key] != nil || len(o.faded.slots) > 0 && o.faded.get(key) != nil
}

// take returns what is remembered of a span, and forgets it.
func (o *orphans) take(key ident.Key) (faded, string) {
	if x := o.byKey[key]; x != nil {
		o.remove(x)
		return x.faded, x.label
	}
	x, _ := o.faded.take(key)
	return x, ""
}

// trim makes room, but for the newest one.
func (o *orphans) trim() {
	for o.bytes > o.maxBytes && o.oldest != o.newest {
		x := o.oldest
		o.remove(x)
		gone, full, grown := o.faded.put(x.key, int64(x.cpu()), o.now, x.came+maxFlight, x.faded)
		o.bytes += grown
		if full && gone.cpu() > 0 && o.now-gone.came < maxFlight {
			o.lost++
			o.lostCPU += gone.cpu()
			o.lostAt = o.now
		}
	}
}

// abandon gives the samples of a span that runs, and whose record goes, to what is
// remembered of spans without one: its end finds them there.
func (l *Log) abandon(r *Row) {
	if r.Samples == (Samples{}) {
		return
	}
	key := ident.NewKey(r.SpanID)
	l.orphans.of(key).Add(r.Samples)
	l.orphans.setLabel(key, l.labelOf(r).String())
}
