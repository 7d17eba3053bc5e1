// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package cpulog

import (
	"runtime"
	"time"

	"github.com/spanprof/spanprof/internal/goruntime"
)

const (
	// interval is the time between two looks at the samples. Somebody who stops our
	// profile waits as long at most, and about as long as runtime/pprof has him wait
	// when two cores are busy.
	interval = 20 * time.Millisecond
	// maxIdle is after how many looks without a sample the reader sleeps until it is
	// woken.
	maxIdle = 50
	// darwin has the runtime not wait for samples (https://go.dev/issue/61768).
	darwin = runtime.GOOS == "darwin" || runtime.GOOS == "ios"
	// polls says that samples can be read without the risk to wait for some.
	polls = canPoke || darwin
)

// Uncut says whether the runtime goes on to take samples while they are read.
const Uncut = polls

// read counts samples until the runtime has no more.
//
// A call of readProfile returns what there is, and where there is nothing it sleeps
// until half of the runtime's buffer is full or the profile is stopped. So before each
// call the reader makes a sample itself, by a signal to its own thread: then there
// is something. That sample is not counted. Its record says more: all that the runtime
// has taken before is in front of it, in the order of time. So a Cut ends there.
//
// In an idle process the reader sleeps. It is woken by what fills half of the buffer: the
// process, when it works again, or a Cut with samples of its own.
func (l *Log) read() {
	l.header = true
	for idle := 0; ; {
		m := l.mark(idle < maxIdle)
		taken, eof := l.drain(m)
		if eof {
			return
		}
		idle++
		if taken || m.cut {
			idle = 0
		}
		if m.poked && idle < maxIdle || darwin {
			l.wait()
		}
	}
}

// mark is the place in the records that a look ends at.
type mark struct {
	poked bool
	from  int64 // the place is not before this time
	cut   bool  // a Cut waits for it
}

// mark makes a record.
func (l *Log) mark(awake bool) mark {
	l.mu.Lock()
	m := mark{cut: l.cut != nil && !l.restart}
	awake = awake && !l.closing && !l.restart
	l.mu.Unlock()
	if canPoke && (awake || m.cut) {
		m.from = goruntime.Nanotime()
		m.poked = poke()
	}
	return m
}

// drain counts what there is, up to the mark. It reports whether there were samples,
// and whether there will be none any more.
func (l *Log) drain(m mark) (taken, eof bool) {
	for {
		l.asleep.Store(true)
		if !m.poked && !m.cut && l.wanted() {
			// The Cut has looked before, and does not know that the reader sleeps.
			l.asleep.Store(false)
			return taken, false
		}
		records, labels, eof := l.readProfile()
		l.asleep.Store(false)
		some, seen := l.take(records, labels, m)
		taken = taken || some
		switch {
		case eof || seen:
			return taken, eof
		case m.poked: // it is yet to come
		case darwin && len(records) > 0:
		default:
			l.served(m)
			return taken, false
		}
	}
}

// wanted reports whether a Cut waits that has not stopped the runtime.
func (l *Log) wanted() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.cut != nil && !l.restart && polls
}

// served ends the open part for a Cut where the runtime has nothing more to read.
func (l *Log) served(m mark) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if darwin && m.cut {
		l.serve(goruntime.Nanotime())
	}
}

// take counts records.
func (l *Log) take(records []uint64, labels []*goruntime.LabelSet, m mark) (some, seen bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	now := goruntime.Nanotime()
	if l.header && len(records) > 0 && len(labels) > 0 {
		l.header = false
		l.began = int64(records[min(1, len(records)-1)])
		records, labels = l.open.header(records), labels[1:]
	}
	before := l.open.counted
	for {
		var place int64
		records, labels, place = l.open.add(records, labels, span{l.began, now})
		if place == 0 {
			break
		}
		l.heard.Store(true)
		if m.poked && place >= m.from && !seen {
			seen = true
			some = l.open.counted > before
			if m.cut {
				l.serve(place)
				before = l.open.counted
			}
		}
	}
	if l.open.err != nil && !l.surprise {
		l.surprise = true
		close(l.surprised)
	}
	return some || l.open.counted > before, seen
}

// wait returns when it is time for the next look.
func (l *Log) wait() {
	l.mu.Lock()
	d := interval
	if l.closing {
		d = time.Millisecond // darwin's end of samples
	}
	l.mu.Unlock()
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-l.wake:
	}
}
