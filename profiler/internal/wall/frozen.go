// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package wall

import "time"

// ender is a source that knows when spans have ended.
type ender interface {
	// held reports whether labels with which the last look, or the one before, has
	// found a goroutine hold until a time: false if their span ended before.
	held(labels []label, until time.Time) bool
}

// shareFrozen counts the time since the last round, until at, of a process that was
// frozen in it. What goroutines did then is not known, but for these, which were in a
// span all the time and have all of it:
//   - Those that both rounds found in the same span.
//   - Those whose span was open while the process was frozen, and has ended since.
//
// What else is found has begun since the freeze, as far as anybody knows.
func (s *Sampler) shareFrozen(at time.Time) {
	d := at.Sub(s.from)
	before := s.lastFound()
	left := setsOf(before)
	for _, f := range s.table.now {
		f.entry.time += d * time.Duration(left.take(f.entry.set, f.count))
	}
	e, ok := s.source.(ender)
	if !ok {
		return
	}
	within := s.withinFreeze(at)
	for _, f := range before {
		if left[f.entry.set] > 0 && e.held(f.labels, within) && !e.held(f.labels, at) {
			s.credit(f, d*time.Duration(left.take(f.entry.set, f.count)))
		}
	}
}

// extendFrozen counts the time since the last round, until the end of a window, of a
// process that was frozen in it.
func (s *Sampler) extendFrozen(at time.Time) {
	d := at.Sub(s.from)
	e, ok := s.source.(ender)
	if !ok {
		extend(s.table.last, d-s.unseen)
		return
	}
	within := s.withinFreeze(at)
	for _, f := range s.table.last {
		if e.held(f.labels, within) {
			s.credit(f, d*time.Duration(f.count))
		}
	}
}

// withinFreeze returns a time by which the freeze since the last round had begun: it
// began while the sampler waited for its turn, so that a span which was open then was
// open for all of the freeze.
func (s *Sampler) withinFreeze(at time.Time) time.Time {
	watched := at.Sub(s.from) - s.unseen
	return s.from.Add(max(watched, s.unseen))
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
