// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package wall

import (
	"errors"
	"fmt"
	"time"
)

const (
	// poll is how often the number of goroutines is looked at, at least.
	poll = time.Second
	// sparse is the longest mean time between rounds that is not worth a word.
	sparse = 10 * time.Second
	// maxVague is by how much it may be unknown when a round has seen the goroutines, if
	// rounds are not farther apart.
	maxVague = 2 * minInterval
	// maxGivenUp is how many looks in a row are given up.
	maxGivenUp = 3
)

// turn takes a round if one is due, and returns when to look again.
func (s *Sampler) turn() time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := s.goroutines()
	now := time.Now()
	s.notice(now)
	if s.pacer.wait(now, n) <= 0 {
		s.attempt(now, n)
	}
	var interval time.Duration
	if s.pacer.affordable(n) {
		interval = s.pacer.interval(n)
	}
	s.tell(n, interval)
	s.count(func(st *Stats) {
		st.Interval = interval
		s.recent.add(mark{now, st.Rounds, st.CPU})
	})
	next := max(0, min(poll, s.pacer.wait(time.Now(), n)))
	s.watch.plan(next)
	return next
}

// tell has Rotate say once that rounds are rare.
func (s *Sampler) tell(n int, interval time.Duration) {
	if s.told || interval > 0 && interval <= sparse || interval > 0 && !s.pacer.learned {
		return
	}
	s.told = true
	each := time.Duration(cost(s.pacer.mean, n))
	if interval == 0 {
		s.err = errors.Join(s.err, fmt.Errorf("a look at the stacks of %d goroutines takes some %v of CPU, for which %.3g %% of a core is never enough: set a larger budget", n, each.Round(time.Millisecond), 100*s.pacer.budget))
		return
	}
	s.err = errors.Join(s.err, fmt.Errorf("a look at the stacks of %d goroutines takes %v of CPU, so that with %.3g %% of a core there is one in %v: short spans are hardly ever seen; set a larger budget for more", n, each.Round(time.Millisecond), 100*s.pacer.budget, interval.Round(time.Second)))
}

// attempt takes a round if that can be paid for. It reports whether the round was given up.
func (s *Sampler) attempt(now time.Time, n int) (givenUp bool) {
	if !s.pacer.allow(now, n) {
		s.count(func(st *Stats) { st.Skipped++ })
		s.pacer.postpone(now, n)
		return false
	}
	if !s.round(now, n) {
		return true
	}
	s.pacer.restart(now)
	return false
}

// round takes one. A goroutine that was somewhere else at the last has come where it is
// found at any time since: half of the time counts for either. That is not so when the
// process was frozen meanwhile, which shareFrozen knows.
//
// A look during which the thread lost its CPU for long, or the process was frozen, tells
// not when it has seen the goroutines: before or after. Such a look is given up, and round
// reports false, as the next is to follow at once.
func (s *Sampler) round(now time.Time, n int) bool {
	var samples, dropped uint64
	var err error
	var givenUp bool
	var vague, watching time.Duration
	seen := now
	due := now.Add(min(0, s.pacer.wait(now, n))) // not after now, where a window ends early
	before := len(s.table.entries)
	cost := s.measure(func() {
		// The goroutines are seen when the world has stopped, which may take
		// long on a busy machine. From then on the look takes CPU time.
		cpu := s.measureSee(func() { err = s.source.look() })
		end := time.Now()
		if at := end.Add(-cpu); at.After(now) {
			seen = at
		}
		vague = seen.Sub(now)
		if err != nil {
			return
		}
		var f freeze
		f, watching = s.frozen()
		s.addFreeze(f, seen)
		if givenUp = s.vague < maxGivenUp && (f.d > 0 || vague > max(maxVague, s.pacer.interval(n)/2)); givenUp {
			return
		}
		s.source.visit(func(stack []uintptr, labels []label, count int64) {
			if s.table.add(stack, labels, count) {
				samples += uint64(count)
			} else {
				dropped += uint64(count)
			}
		})
		s.share(seen)
	})
	unseen := s.unseen()
	switch {
	case err != nil:
		s.err = errors.Join(s.err, err)
	case givenUp:
		s.vague++
	default:
		if s.table.rounds == 0 {
			due = s.from // all of the time counts for one of its ends
		}
		s.addLooks(seen, due)
		s.from, s.blur, s.freezes, s.vague = seen, vague, nil, 0
		s.table.complete()
	}
	// What becomes of the entries at the end of the window is paid for now,
	// so that a window with many does not end in a debt.
	later := time.Duration(s.perItem * float64(len(s.table.entries)-before))
	s.prepaid += later
	s.pacer.spend(waking + cost + later)
	s.pacer.learn(n, max(0, cost-watching)+later)
	s.count(func(st *Stats) {
		st.CPU += waking + cost
		st.Samples += samples
		st.Dropped += dropped
		switch {
		case givenUp:
			st.Skipped++
		case err == nil:
			st.Rounds++
			st.Unwatched += unseen
		}
	})
	return !givenUp
}
