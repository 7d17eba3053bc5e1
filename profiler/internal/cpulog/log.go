// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package cpulog

import (
	"errors"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"github.com/google/pprof/profile"

	"github.com/spanprof/spanprof/internal/goruntime"
	"github.com/spanprof/spanprof/internal/spanlabels"
)

// ErrRecord says that samples are missing because the runtime's records do not have
// the form that this package knows. What was read before them is in the profile.
var ErrRecord = errors.New("cpu samples: the runtime's records are not as expected")

// Log counts CPU samples by stack and labels. Record and Cut may be called at the
// same time, each by one goroutine.
type Log struct {
	hz          int
	readProfile Reader
	clock       clock
	reading     chan struct{} // closed when samples are being taken
	surprised   chan struct{} // closed when records are not as expected
	full        chan struct{} // holds a token when the open part has little room left
	wake        chan struct{} // holds a token when the reader is to look at once

	// asleep is true while the reader is in a call of readProfile, which can wait.
	asleep atomic.Bool

	// What follows is for Cut alone.
	symbols *goruntime.Symbols
	loaded  []*profile.Mapping
	lots    int // how many lots of signals it may send to a reader that sleeps

	mu      sync.Mutex
	signals tally // which signals of ours have made their records
	heard   bool  // one has: they can wake the reader
	open    *part
	cut     chan *part // of the Cut that waits; nil when there is none
	restart bool       // that Cut has stopped the runtime's profile
	deaf    bool       // because something else handles the signals, as far as is known
	doubted int64      // when that was first thought; a record of a signal since then disproves it
	unwoken bool       // because the signals have not woken the reader
	hears   handler    // what the signals had when the last of them made a record; zero before
	closing bool       // the run is about to be stopped
	ended   bool       // Record has returned, or is about to

	// What follows is for Record alone.
	header   bool  // the next record is the header
	began    int64 // when the runtime began to take samples
	surprise bool  // surprised is closed
}

// Reader is goruntime.ReadCPUProfile.
type Reader func() (records []uint64, labels []*goruntime.LabelSet, eof bool)

// New returns a Log for hz samples per second of CPU that read reads. It may be used
// if goruntime.Unknown returns nil.
func New(hz int, read Reader) *Log {
	spanlabels.TimesKept.Store(true)
	l := &Log{
		hz:          hz,
		readProfile: read,
		clock:       newClock(),
		reading:     make(chan struct{}),
		surprised:   make(chan struct{}),
		full:        make(chan struct{}, 1),
		wake:        make(chan struct{}, 1),
		symbols:     goruntime.NewSymbols(),
		lots:        1,
	}
	l.renew(goruntime.Nanotime())
	return l
}

// Begin has the runtime take samples. Nobody else may have it take or read any.
func (l *Log) Begin() {
	l.mu.Lock()
	l.renew(goruntime.Nanotime())
	l.mu.Unlock()
	runtime.SetCPUProfileRate(l.hz)
	close(l.reading)
}

// Record counts the samples of the runtime after Begin, until its CPU profile is
// stopped.
func (l *Log) Record() {
	for {
		l.read()
		if !l.again() {
			return
		}
	}
}

// again deals with the end of the samples. It has the runtime take more if a Cut has
// stopped it.
func (l *Log) again() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	now := goruntime.Nanotime()
	if !l.restart {
		l.open.end = now
		l.ended = true
		if l.cut != nil {
			l.give(now)
		}
		return false
	}
	cut, done := l.cut, l.open // whose end is known
	done.restarted, done.deaf, done.unwoken = true, l.deaf, l.unwoken
	l.cut = nil
	l.renew(now)
	l.restart = false
	l.signals.settle(l.signals.sent.Load())
	runtime.SetCPUProfileRate(l.hz)
	cut <- done // it has room
	return true
}

// serve ends the open part at a time up to which all samples are in it, for the Cut that
// waits for it, if one does. The caller holds l.mu.
func (l *Log) serve(at int64) {
	switch {
	case l.cut == nil || l.restart:
	case l.ours():
		l.give(at)
	default:
		l.stop()
	}
}

// give ends the open part, for the Cut that waits for it. The caller holds l.mu.
func (l *Log) give(at int64) {
	l.open.end = at
	l.cut <- l.open // it has room
	l.cut = nil
	l.renew(at)
	l.open.end = at
}

// renew opens a part. The caller holds l.mu, except before Begin.
func (l *Log) renew(at int64) {
	l.open = l.newPart(at)
	select {
	case <-l.full: // the one before was
	default:
	}
}

// Reading is closed when the runtime takes samples.
func (l *Log) Reading() <-chan struct{} { return l.reading }

// Surprised is closed when the runtime's records are not as expected: the error of a
// Cut is, or will be, ErrRecord.
func (l *Log) Surprised() <-chan struct{} { return l.surprised }

// Full has a token when the samples since the last Cut have taken three quarters of the
// room that there is for them: cut soon, or samples are dropped. A Cut takes the token away.
func (l *Log) Full() <-chan struct{} { return l.full }

// Piece is what a Log has counted between two Cuts.
type Piece struct {
	Profile    *profile.Profile
	Times      [][]int64 // of its samples, in nanoseconds since 1970
	Start, End time.Time
	// Restarted says that the runtime was stopped, and takes samples again.
	Restarted bool
	// Deaf says that it was because something else in the process handles SIGPROF, the
	// signal of which the runtime makes samples: there are none until it gives that back.
	Deaf bool
	// Unwoken says that it was because the signals that the Log sends have not woken its reader,
	// for which the Cut has waited long. That is a machine where it got no core, or a system or a
	// runtime by which it will be so again.
	Unwoken bool
}

// Cut returns what was counted since Begin, or since the last Cut: the samples that
// the runtime has taken until now. The error, which can come with a piece, says that
// samples are missing.
//
// The runtime goes on to take samples, so that none is missing between two Cuts. Only
// where its reader sleeps and cannot be woken otherwise it is stopped and begins
// again: on systems other than Linux and macOS, while something else handles the
// signals of the samples, and where they do not wake the reader.
func (l *Log) Cut() (Piece, error) {
	l.mu.Lock()
	cut := make(chan *part, 1)
	l.cut, l.deaf, l.unwoken = cut, false, false
	if l.ended {
		l.give(l.open.end)
	} else {
		l.rouse()
	}
	l.mu.Unlock()
	done := l.await(cut)
	built, times := l.build(done)
	return Piece{
		Profile: built, Times: times,
		Start: done.start, End: l.clock.since(done, done.end),
		Restarted: done.restarted, Deaf: done.deaf, Unwoken: done.unwoken,
	}, done.missing()
}

// ours reports whether the samples come at our rate. The caller holds l.mu.
func (l *Log) ours() bool { return l.open.period == time.Second/time.Duration(l.hz) }

// look has the reader look at once.
func (l *Log) look() {
	select {
	case l.wake <- struct{}{}:
	default:
	}
}

// Close says that the runtime's CPU profile is about to be stopped by its owner, who
// then does not wait for the reader's next look.
func (l *Log) Close() {
	l.mu.Lock()
	l.closing = true
	l.mu.Unlock()
	l.look()
}

// End has Record return, unless it is about to.
func (l *Log) End() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.ended {
		// As in stop.
		runtime.SetCPUProfileRate(0)
		l.closing = true
		l.look()
	}
}

// Start returns when the open part began.
func (l *Log) Start() time.Time {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.open.start
}
