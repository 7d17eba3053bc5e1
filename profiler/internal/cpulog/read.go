// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package cpulog

import (
	"runtime"
	"time"

	"github.com/spanprof/spanprof/internal/goruntime"
)

const (
	// interval is the time between two looks at the samples. looks is their number after a
	// cut before the reader sleeps: so cuts in quick succession cost little.
	interval = 20 * time.Millisecond
	looks    = 4
	// darwinInterval is runtime/pprof's there.
	darwinInterval = 100 * time.Millisecond
	// On darwin the runtime does not wait for samples (https://go.dev/issue/61768).
	darwin = runtime.GOOS == "darwin" || runtime.GOOS == "ios"
	// polls reports whether samples can be read without the risk to block.
	polls = canPoke || darwin
)

// Uncut reports whether the runtime goes on to take samples while they are read.
const Uncut = polls

// read counts samples until the runtime has no more.
//
// A call of readProfile returns the samples. If there are none it sleeps until half of the
// runtime's buffer is full or the profile is stopped. The reader normally sleeps here, so
// stopping is immediate.
//
// A Cut wakes it by as many samples as fill half of the buffer. It sends a signal to its own
// thread for each. Then the reader makes one more sample in this way before it reads, and so
// has something to read. All earlier samples are in front of that record, in the order of
// time. There the Cut ends. The records of our signals are not counted. If there are more
// records than signals, the others are samples of the time that they take.
func (l *Log) read() {
	l.header = true
	for n := looks - 1; ; n++ {
		m := l.mark(n < looks)
		if l.drain(m) {
			return
		}
		if m.cut {
			n = 0
		}
		if m.poked && n+1 < looks || darwin {
			l.wait()
		}
	}
}

// mark is the place in the records that a look ends at.
type mark struct {
	poked bool
	from  int64   // the place is not before this time
	cut   bool    // a Cut waits for it
	sent  int64   // how many signals had been sent before
	had   handler // what the signals had before
}

// mark makes a record.
func (l *Log) mark(awake bool) mark {
	l.mu.Lock()
	m := mark{cut: l.cut != nil && !l.restart}
	awake = awake && !l.closing && !l.restart
	l.mu.Unlock()
	if canPoke && (awake || m.cut) {
		m.had = sigprof()
		m.sent = l.signals.sent.Load()
		m.from = goruntime.Nanotime()
		m.poked = l.poke()
	}
	return m
}

// drain counts what there is, up to the mark. It reports whether there will be no more.
func (l *Log) drain(m mark) (eof bool) {
	for {
		l.asleep.Store(true)
		if !m.poked && !m.cut && l.wanted() {
			// The Cut has looked before the reader slept.
			l.asleep.Store(false)
			return false
		}
		records, labels, eof := l.readProfile()
		l.asleep.Store(false)
		seen := l.take(records, labels, m)
		switch {
		case eof || seen:
			return eof
		case m.poked: // it is yet to come
		case darwin && len(records) > 0:
		default:
			l.served(m)
			return false
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

// take counts records. It reports whether the mark is among them.
func (l *Log) take(records []uint64, labels []*goruntime.LabelSet, m mark) (seen bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	now := goruntime.Nanotime()
	if l.header && len(records) > 0 && len(labels) > 0 {
		l.header = false
		l.began = int64(records[min(1, len(records)-1)])
		records, labels = l.open.header(records), labels[1:]
	}
	for {
		var p poked
		records, labels, p = l.open.add(records, labels, span{l.began, now})
		if p.stack == nil {
			break
		}
		l.recorded = true
		l.deaf = l.deaf && p.at < l.doubted
		if l.signals.sample() {
			l.open.count(p.stack, nil, p.at, 1)
		}
		if m.poked && p.at >= m.from && !seen {
			seen = true
			// At most one record from before the mark is still on its way. This record
			// may be that one.
			l.signals.settle(m.sent)
			if m.had == sigprof() { // else either of the two may have made the record
				l.installed = m.had
			}
			if m.cut {
				l.serve(p.at)
			}
		}
	}
	if l.open.overflowed {
		// The mark may be among what the runtime had no room for. It is set again.
		l.open.overflowed = false
		seen = true
	}
	if len(l.open.entries) >= fullEntries {
		select {
		case l.full <- struct{}{}:
		default:
		}
	}
	if l.open.err != nil && !l.surprise {
		l.surprise = true
		close(l.surprised)
	}
	return seen
}

// wait returns when it is time for the next look.
func (l *Log) wait() {
	d := interval
	if darwin {
		d = darwinInterval
		l.mu.Lock()
		if l.closing {
			d = time.Millisecond
		}
		l.mu.Unlock()
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-l.wake:
	}
}
