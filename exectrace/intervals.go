// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package exectrace

import "github.com/spanprof/spanprof/exectrace/internal/timeline"

const (
	// intervalParts is into how many parts a span is cut: what is shorter than one is
	// joined with what is beside it.
	intervalParts = 120
	// mostIntervals bounds those of all goroutines of a span.
	mostIntervals = 2000
)

// intervals collects what a goroutine did when: in at most twice intervalParts entries, but
// for those after a time in which it did not work for the span.
type intervals struct {
	list  []Interval
	least int64 // the length of an entry of its own
	from  int64 // of the span
	// What is too short for an entry, and follows each other.
	start, end int64
	sums       [timeline.States]int64
}

func newIntervals(span *timeline.Span) *intervals {
	return &intervals{from: span.Start, least: (span.End - span.Start) / intervalParts}
}

func (v *intervals) add(p *timeline.Piece) {
	if v.end != p.Start {
		v.flush()
	}
	if p.End-p.Start >= v.least {
		v.flush()
		v.emit(p.State, p.Start, p.End)
		return
	}
	if v.end == v.start {
		v.start = p.Start
	}
	v.end = p.End
	v.sums[p.State] += p.End - p.Start
	if v.end-v.start >= v.least {
		v.flush()
	}
}

// flush makes an entry of what was too short for one, of the state that took the most.
func (v *intervals) flush() {
	if v.end > v.start {
		most := timeline.State(0)
		for state, sum := range v.sums {
			if sum > v.sums[most] {
				most = timeline.State(state)
			}
		}
		v.emit(most, v.start, v.end)
	}
	v.start, v.end, v.sums = 0, 0, [timeline.States]int64{}
}

// emit adds an entry, to the one before if that ends there in the same state.
func (v *intervals) emit(state timeline.State, start, end int64) {
	if n := len(v.list); n > 0 {
		last := &v.list[n-1]
		if last.State == state.String() && last.Start+last.Duration == duration(start-v.from) {
			last.Duration += duration(end - start)
			return
		}
	}
	if len(v.list) > mostIntervals { // a goroutine that works for the span again and again
		return
	}
	v.list = append(v.list, Interval{state.String(), duration(start - v.from), duration(end - start)})
}

// done returns the entries.
func (v *intervals) done() []Interval {
	v.flush()
	return v.list
}
