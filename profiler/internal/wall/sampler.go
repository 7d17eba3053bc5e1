// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

// Package wall samples where goroutines spend their time, on and off CPU. A round looks at
// the stacks of all goroutines and counts those with the labels of a span. The time between
// two rounds counts half for the first and half for the second. Rounds are as frequent as a
// budget of CPU time allows.
//
// The runtime lists all goroutines or none, so a round costs more with more goroutines. If
// the budget does not allow a round in ten minutes there is none.
package wall

// For developers: sampler.go has the goroutine that takes rounds, and the windows; pacer.go
// decides when, from the cost of rounds; source*.go are the two ways to look; table.go sums
// the results and makes profiles; threadtime_*.go is the clock for costs.

import (
	"errors"
	"runtime"
	"sync"
	"time"

	"github.com/google/pprof/profile"

	"github.com/spanprof/spanprof/internal/goruntime"
	"github.com/spanprof/spanprof/internal/looks"
)

const (
	// poll is the longest time between two checks of the number of goroutines.
	poll = time.Second
	// longest is how many planned intervals a time between rounds counts at most. The rest
	// is unwatched: the process was stopped or suspended, or waited for a CPU.
	longest = 3
)

// Stats is the work of a Sampler since New. It has the fields of profiler.WallStatus.
type Stats struct {
	CPU                     time.Duration
	Rounds, RoundsSkipped   uint64
	Unwatched               time.Duration
	Samples, SamplesDropped uint64
}

// Sampler takes rounds from Start to Stop. Start, Rotate and Stop must not be called at the
// same time; Stats may be called at any time.
type Sampler struct {
	// Tests replace these.
	measure    func(func()) time.Duration // CPU time of a round or a build
	measureSee func(func()) time.Duration // CPU time of a look within a round
	goroutines func() int

	stop chan struct{} // closed by Stop; nil when stopped
	done chan struct{} // closed when the goroutine has ended

	mu      sync.Mutex // held for a round
	source  source
	pacer   *pacer
	table   *table
	looks   looks.Looks   // the intervals of table
	opened  time.Time     // when table began
	from    time.Time     // the last round, or opened
	blur    time.Duration // how much earlier from may have been
	perItem float64       // cost of an entry of table when it becomes a sample, in ns
	prepaid time.Duration // cost that rounds have paid for the entries of table
	err     error         // of a round; Rotate returns it

	statsMu sync.Mutex
	stats   Stats
}

// New returns a Sampler that takes up to budget of a core.
func New(budget float64) *Sampler { return newSampler(budget, newSource()) }

func newSampler(budget float64, s source) *Sampler {
	return &Sampler{
		measure:    measure,
		measureSee: measure,
		goroutines: runtime.NumGoroutine,
		source:     s,
		pacer:      newPacer(budget, s.priorCost(), time.Now()),
		perItem:    2000, // about three times the real cost, like priorCost
	}
}

// Start begins to take rounds.
func (s *Sampler) Start() {
	now := time.Now()
	s.mu.Lock()
	s.open(now)
	s.pacer.restart(now)
	s.mu.Unlock()
	s.stop, s.done = make(chan struct{}), make(chan struct{})
	go s.run(s.stop, s.done)
}

func (s *Sampler) run(stop <-chan struct{}, done chan<- struct{}) {
	defer close(done)
	goruntime.ClearLabels() // inherited; this is the work of no span
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		select {
		case <-timer.C:
			timer.Reset(s.turn())
		case <-stop:
			return
		}
	}
}

// open begins a table.
func (s *Sampler) open(now time.Time) {
	s.table, s.opened, s.from, s.blur = newTable(), now, now, 0
	s.looks = looks.Looks{}
	s.prepaid, s.err = 0, nil
}

// turn takes a round if one is due, and returns the time until the next check.
func (s *Sampler) turn() time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := s.goroutines()
	now := time.Now()
	if s.pacer.wait(now, n) <= 0 {
		s.attempt(now, n)
	}
	return max(0, min(poll, s.pacer.wait(time.Now(), n)))
}

// attempt takes a round if the budget allows it.
func (s *Sampler) attempt(now time.Time, n int) {
	if !s.pacer.allow(now, n) {
		s.count(func(st *Stats) { st.RoundsSkipped++ })
		s.pacer.postpone(now, n)
		return
	}
	s.round(now, n)
	s.pacer.restart(now)
}

// round looks at all goroutines. A goroutine that was at another place in the last round has
// moved at any time since: half of the time counts for either place.
func (s *Sampler) round(now time.Time, n int) {
	var samples, dropped uint64
	var err error
	seen := now
	before := len(s.table.entries)
	cost := s.measure(func() {
		// The goroutines are seen when the world has stopped, which may take long on a busy
		// machine. From then on the look takes CPU time.
		cpu := s.measureSee(func() { err = s.source.look() })
		if at := time.Now().Add(-cpu); at.After(now) {
			seen = at
		}
		if err != nil {
			return
		}
		s.source.visit(func(stack []uintptr, labels []label, count int64) {
			if s.table.add(stack, labels, count) {
				samples += uint64(count)
			} else {
				dropped += uint64(count)
			}
		})
	})
	var unwatched time.Duration
	if err != nil {
		s.err = errors.Join(s.err, err)
	} else {
		unwatched = s.add(seen, n)
		s.table.share(seen.Sub(s.from) - unwatched)
		s.table.complete()
		s.from, s.blur = seen, seen.Sub(now)
	}
	// The entries cost more at the end of the window. That is paid now, so that a window
	// with many does not end in a debt.
	later := time.Duration(s.perItem * float64(len(s.table.entries)-before))
	s.prepaid += later
	s.pacer.spend(waking + cost + later)
	s.pacer.learn(n, cost+later)
	s.count(func(st *Stats) {
		st.CPU += waking + cost
		st.Samples += samples
		st.SamplesDropped += dropped
		if err == nil {
			st.Rounds++
			st.Unwatched += unwatched
		}
	})
}

// add notes the interval from the last round to now, and returns how much of it is unwatched.
func (s *Sampler) add(now time.Time, n int) (unwatched time.Duration) {
	due := now.Add(s.pacer.wait(now, n))
	planned := max(due.Sub(s.from), s.pacer.interval(n))
	unwatched = max(0, now.Sub(s.from)-longest*planned)
	if s.table.rounds == 0 || due.After(now) {
		due = s.from // all of the time counts for one of its ends
	}
	s.looks.Add(s.from, now, unwatched, max(0, now.Sub(due)-unwatched), s.blur)
	return unwatched
}

// Rotate returns the profile of the samples since Start or the last Rotate. The error, which
// can come with a profile, is that rounds have failed.
//
// The time after the last round counts for it. So a goroutine that was there all the time has
// all of it. Rotate takes a round if there was none and the budget allows it. All
// time of a window without a round is unwatched.
func (s *Sampler) Rotate() (*profile.Profile, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := s.goroutines()
	if now := time.Now(); s.pacer.wait(now, n) <= 0 || s.table.rounds == 0 {
		s.attempt(now, n)
	}
	now := time.Now()
	t, prepaid, err := s.table, s.prepaid, s.err
	unwatched := now.Sub(s.from)
	if t.rounds > 0 {
		unwatched = s.add(now, n)
		extend(t.last, now.Sub(s.from)-unwatched)
	}
	var p *profile.Profile
	cost := s.measure(func() {
		p = build(s.source, t, s.opened, now.Sub(s.opened))
		p.Comments = []string{s.looks.Comment()}
	})
	s.open(now)
	s.pacer.spend(cost - prepaid)
	s.count(func(st *Stats) {
		st.CPU += cost
		st.Unwatched += unwatched
	})
	s.perItem += (float64(cost)/float64(len(t.entries)+overhead) - s.perItem) / 4
	return p, err
}

// Stop ends taking rounds and returns the profile of Rotate. It returns nil before Start and
// after Stop.
func (s *Sampler) Stop() (*profile.Profile, error) {
	if s.stop == nil {
		return nil, nil
	}
	close(s.stop)
	<-s.done
	s.stop = nil
	return s.Rotate()
}

// Stats returns the work so far.
func (s *Sampler) Stats() Stats {
	s.statsMu.Lock()
	defer s.statsMu.Unlock()
	return s.stats
}

func (s *Sampler) count(f func(*Stats)) {
	s.statsMu.Lock()
	defer s.statsMu.Unlock()
	f(&s.stats)
}
