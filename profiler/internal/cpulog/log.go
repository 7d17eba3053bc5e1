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
)

// ErrRecord says that samples are missing because the runtime's records do not have
// the form that this package knows. What was read before them is in the profile.
var ErrRecord = errors.New("cpu samples: the runtime's records are not as expected")

// wakeLimit is how long a Cut waits for a reader that it has woken, before it wakes it
// by a stop. A reader that waits for a core on a busy machine needs less. silentLimit
// holds while no signal of ours has made a record yet, which may never be.
const (
	wakeLimit   = 10 * time.Second
	silentLimit = time.Second
)

// Log counts CPU samples by stack and labels. Record and Cut may be called at the
// same time, each by one goroutine.
type Log struct {
	hz          int
	readProfile Reader
	clock       clock
	reading     chan struct{} // closed when samples are being taken
	surprised   chan struct{} // closed when records are not as expected
	wake        chan struct{} // holds a token when the reader is to look at once

	// asleep is true while the reader is in a call of readProfile, which can wait.
	asleep atomic.Bool

	// What follows is for Cut alone.
	symbols *goruntime.Symbols
	loaded  []*profile.Mapping

	mu      sync.Mutex
	signals tally // which signals of ours have made their records
	heard   bool  // one has: they can wake the reader
	open    *part
	cut     chan *part // of the Cut that waits; nil when there is none
	restart bool       // that Cut has stopped the runtime's profile
	deaf    bool       // because something else handles the signals
	hears   handler    // what the signals had when one of this run made a record; zero before
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
	l := &Log{
		hz:          hz,
		readProfile: read,
		clock:       newClock(),
		reading:     make(chan struct{}),
		surprised:   make(chan struct{}),
		wake:        make(chan struct{}, 1),
		symbols:     goruntime.NewSymbols(),
	}
	l.open = l.newPart(goruntime.Nanotime())
	return l
}

// Begin has the runtime take samples. Nobody else may have it take or read any.
func (l *Log) Begin() {
	l.mu.Lock()
	l.open = l.newPart(goruntime.Nanotime())
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
	done.restarted, done.deaf = true, l.deaf
	l.cut, l.open = nil, l.newPart(now)
	l.restart, l.deaf, l.hears = false, false, handler{}
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
	l.cut, l.open = nil, l.newPart(at)
	l.open.end = at
}

// Reading is closed when the runtime takes samples.
func (l *Log) Reading() <-chan struct{} { return l.reading }

// Surprised is closed when the runtime's records are not as expected: the error of a
// Cut is, or will be, ErrRecord.
func (l *Log) Surprised() <-chan struct{} { return l.surprised }

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
}

// Cut returns what was counted since Begin, or since the last Cut: the samples that
// the runtime has taken until now. The error, which can come with a piece, says that
// samples are missing.
//
// The runtime goes on to take samples, so that none is missing between two Cuts. Only
// where its reader sleeps and cannot be woken otherwise it is stopped and begins
// again: on systems other than Linux and macOS, and while something else handles the
// signals of the samples.
func (l *Log) Cut() (Piece, error) {
	l.mu.Lock()
	cut := make(chan *part, 1)
	l.cut = cut
	if l.ended {
		l.give(l.open.end)
	} else {
		l.rouse()
	}
	l.mu.Unlock()
	done := l.await(cut)
	built, times := l.build(done)
	return Piece{built, times, done.start, l.clock.since(done, done.end), done.restarted, done.deaf}, done.missing()
}

// await returns what the reader gives to a Cut. It stops the runtime where that cannot come
// otherwise.
func (l *Log) await(cut <-chan *part) *part {
	begin := time.Now()
	for look := interval; ; look *= 2 {
		select {
		case done := <-cut:
			return done
		case <-time.After(look):
			l.mu.Lock()
			waits := l.cut != nil && !l.ended && !l.restart
			l.deaf = l.deaf || waits && l.unheard()
			limit := wakeLimit
			if !l.heard {
				limit = silentLimit
			}
			if waits && (l.deaf || time.Since(begin) > limit) {
				l.stop()
			}
			l.mu.Unlock()
		}
	}
}

// unheard reports whether the reader waits, and no signal of ours can end that. The caller
// holds l.mu.
func (l *Log) unheard() bool { return l.asleep.Load() && deaf(l.hears) }

// stop has the reader see the end of the samples, and begin again. The caller holds
// l.mu: so Record cannot end, and nobody else's profile can be running.
func (l *Log) stop() {
	l.restart = true
	l.open.end = goruntime.Nanotime()
	runtime.SetCPUProfileRate(0)
}

// rouse has the reader serve a Cut. The caller holds l.mu.
func (l *Log) rouse() {
	l.look()
	if polls && l.ours() {
		// Not under the lock, which the reader needs to serve the Cut.
		l.mu.Unlock()
		l.rouseBySamples()
		l.mu.Lock()
		if l.cut == nil || !l.unheard() {
			return // await looks again
		}
		l.deaf = true
	}
	if l.cut != nil && !l.ended && !l.restart {
		l.stop()
	}
}

// rouseBySamples makes samples until the reader is awake or must soon be. It does so on a
// goroutine of its own: the runtime takes samples of a thread only if it has switched to a
// goroutine there since the run began, and the caller may go on from before that.
func (l *Log) rouseBySamples() {
	filled := make(chan struct{})
	go func() {
		defer close(filled)
		l.fill()
	}()
	<-filled
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
