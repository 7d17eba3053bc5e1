// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package wall

import (
	"sort"
	"time"
)

// freeze is a time in which the process did not run.
type freeze struct {
	at, until time.Time     // when the sampler was to wake, and when it did: it was frozen at the first
	d         time.Duration // for how long between them; 0 for not at all
}

// unseen returns for how long the process was frozen since s.from.
func (s *Sampler) unseen() (d time.Duration) {
	for _, f := range s.freezes {
		d += f.d
	}
	return d
}

// addFreeze remembers one, of which no more is between s.from and at than there is time.
func (s *Sampler) addFreeze(f freeze, at time.Time) {
	if f.d = min(f.d, at.Sub(s.from)-s.unseen()); f.d > 0 {
		s.freezes = append(s.freezes, f)
	}
}

// ender is a source that knows when spans have ended.
type ender interface {
	// held reports whether labels with which the last look, or the one before, has
	// found a goroutine hold until a time: false if their span ended before.
	held(labels []label, until time.Time) bool
}

// heldFor returns for how long of d labels hold from a time on, to a millisecond.
func heldFor(e ender, labels []label, from time.Time, d time.Duration) time.Duration {
	if e.held(labels, from.Add(d)) {
		return d
	}
	const step = time.Millisecond
	n := sort.Search(int(d/step), func(i int) bool { return !e.held(labels, from.Add(time.Duration(i+1)*step)) })
	return time.Duration(n) * step
}

// share counts the time since the last round for what that has found, and for what the round
// that is not complete has.
func (s *Sampler) share(at time.Time) {
	s.table.share(at.Sub(s.from) - s.unseen())
	if len(s.freezes) > 0 {
		s.shareFrozen(at)
	}
}

// shareFrozen counts the time for which the process was frozen since the last round, for
// the goroutines that were in a span when it was:
//   - Those that both rounds found in the same span.
//   - Those of the last round whose span has ended since, until it did.
//
// What else is found has begun since the freeze, as far as anybody knows.
func (s *Sampler) shareFrozen(at time.Time) {
	unseen := s.unseen()
	before := s.lastFound()
	left := setsOf(before)
	for _, f := range s.table.now {
		f.entry.time += unseen * time.Duration(left.take(f.entry.set, f.count))
	}
	e, ok := s.source.(ender)
	if !ok {
		return
	}
	for _, f := range before {
		if left[f.entry.set] == 0 || e.held(f.labels, at) {
			continue // it was found again, or has left the span
		}
		if d := s.frozenIn(e, f.labels); d > 0 {
			s.credit(f, d*time.Duration(left.take(f.entry.set, f.count)))
		}
	}
}

// extendFrozen counts the time for which the process was frozen between the last round and
// the end of a window, for what that has found.
func (s *Sampler) extendFrozen() {
	e, ok := s.source.(ender)
	if !ok {
		return
	}
	for _, f := range s.table.last {
		s.credit(f, s.frozenIn(e, f.labels)*time.Duration(f.count))
	}
}

// frozenIn returns for how long the process was frozen since the last round while labels
// that this has found held.
func (s *Sampler) frozenIn(e ender, labels []label) (d time.Duration) {
	for _, f := range s.freezes {
		d += heldFor(e, labels, f.at, f.d)
	}
	return d
}

// extendBefore counts the time of a window without a round for what the last one before it
// has found, until its spans have ended. What began since is not known.
//
// A sample for each costs CPU time without a look: up to half of the window's budget is
// spent on that, so that looks can still be paid for.
func (s *Sampler) extendBefore(at time.Time) {
	e, ok := s.source.(ender)
	samples := min(len(s.before), maxEntries)
	if !ok || s.perItem*float64(samples) > s.pacer.budget*float64(at.Sub(s.from))/2 {
		return
	}
	for _, f := range s.before {
		if d := heldFor(e, f.labels, s.from, at.Sub(s.from)); d > 0 {
			s.credit(f, d*time.Duration(f.count))
		}
	}
}

// lastFound returns what the last round found.
func (s *Sampler) lastFound() []found {
	if s.table.rounds > 0 {
		return s.table.last
	}
	return s.before
}

// credit counts time for what the last round found, which may have been in the window
// before.
func (s *Sampler) credit(f found, d time.Duration) {
	e := f.entry
	if s.table.rounds == 0 {
		if e = s.table.entry(e.stack, e.labels); e == nil {
			return // the table is full
		}
	}
	e.time += d
}
