// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package timeline

import (
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"sort"
	"time"

	exptrace "golang.org/x/exp/trace"
)

const (
	// slackOfSwitch is how far the time of an event may be from that of the switch between
	// goroutines that it tells of: the runtime does something else in between.
	slackOfSwitch = 1000 // ns
	// slackOfMark is how long before its mark a label may have changed: the runtime takes
	// the stack of the mark in between.
	slackOfMark = 3000 // ns
	changeBytes = 2 * 32
)

// Threads is which span each thread of the process had on it when, by the labels of its
// goroutines: what package spanprof marks at each change of the label span_id, and which
// goroutine was on which thread. Labels that other code puts on goroutines are not in a
// trace.
//
// Times are nanoseconds of the trace's clock, which on Linux is the monotonic clock of the
// system, so recordings of one process go on from each other.
type Threads struct {
	threads    map[int64]*thread
	goroutines map[exptrace.GoID]*carried
	from       int64 // since when it is known
	until      int64
	part       int64 // when the last part of the recording began
	used       int64

	wall Clock
}

// label is the span whose labels a goroutine has.
type label struct {
	held held
	id   [8]byte // of heldSpan
}

type held uint8

const (
	heldUnknown held = iota
	heldNone
	heldSpan
)

// change is what a thread has had since a time.
type change struct {
	at int64
	label
	byMark bool
}

type thread struct {
	changes []change
	on      exptrace.GoID // which is on it; NoGoroutine for none
	seen    int64         // the time of its last event that was not moved
}

// carried is what is known of a goroutine that has not ended.
type carried struct {
	label
	thread *thread // that it is on
}

// errNoClock says that the clock of a recording is not known to be the system's.
var errNoClock = errors.New("the clock of the trace is not known: that needs Linux, and a runtime as spanprof knows it")

// Read goes on with a recording of this process, and forgets what is older than it. Where
// the recording has not the last part of the one before, all that was known is forgotten, as
// it is with an error. What is kept takes maxBytes at most: the oldest is forgotten first, and
// cut says so.
func (t *Threads) Read(r io.Reader, maxBytes int64) (cut bool, err error) {
	defer func() {
		if p := recover(); p != nil { // as in Read
			err = fmt.Errorf("%w: %v", ErrPanic, p)
		}
		if err != nil {
			*t = Threads{}
		}
	}()
	events, err := exptrace.NewReader(r)
	if err != nil {
		return false, err
	}
	s := threadsReading{Threads: t, maxBytes: maxBytes}
	for {
		e, err := events.ReadEvent()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return false, err
		}
		s.event(&e)
		if s.gap {
			return false, ErrGap
		}
	}
	if s.began {
		t.part = s.newest
	}
	return s.cut, s.setClock()
}

// Until returns until when it is known what threads had on them, by the wall clock.
func (t *Threads) Until() time.Time { return t.wall.Epoch.Add(time.Duration(t.until)) }

// IDs returns the ids of the threads, as the process knows them, in order.
func (t *Threads) IDs() []int64 { return slices.Sorted(maps.Keys(t.threads)) }

// SpanAt returns the id of the span whose labels a thread had at a time of the wall clock, in
// hexadecimal digits, "" for none. known is false where that is not certain.
func (t *Threads) SpanAt(id int64, at time.Time) (span string, known bool) {
	on, now := t.threads[id], int64(at.Sub(t.wall.Epoch))
	if on == nil || now <= t.from || now >= t.until {
		return "", false
	}
	clockError := int64(t.wall.Error)
	i := sort.Search(len(on.changes), func(i int) bool { return on.changes[i].at > now }) - 1
	if i < 0 || on.changes[i].held == heldUnknown || now-on.changes[i].at < slackOfSwitch+clockError {
		return "", false
	}
	if i+1 < len(on.changes) {
		slack := int64(slackOfSwitch)
		if on.changes[i+1].byMark {
			slack = slackOfMark
		}
		if on.changes[i+1].at-now < slack+clockError {
			return "", false
		}
	}
	if on.changes[i].held == heldSpan {
		return hex.EncodeToString(on.changes[i].id[:]), true
	}
	return "", true
}

// set says what a thread has had since now.
func (s *threadsReading) set(on *thread, now int64, l label, byMark bool) {
	since, n := on.seen, len(on.changes)
	if n > 0 {
		if on.changes[n-1].label == l {
			return
		}
		since = max(since, on.changes[n-1].at)
	}
	if s.moved {
		on.changes = append(on.changes, change{at: since})
		s.used += changeBytes
	}
	on.changes = append(on.changes, change{now, l, byMark})
	s.used += changeBytes
}

// forget leaves out what was before a time, and threads that nothing has been on since.
func (t *Threads) forget(before int64) {
	t.from, t.used = max(t.from, before), 0
	for id, on := range t.threads {
		i := sort.Search(len(on.changes), func(i int) bool { return on.changes[i].at > before })
		if i == len(on.changes) && on.on == exptrace.NoGoroutine {
			delete(t.threads, id)
			continue
		}
		on.changes = slices.Clone(on.changes[max(i-1, 0):])
		t.used += int64(len(on.changes)) * changeBytes
	}
}
