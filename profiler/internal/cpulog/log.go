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

// ErrRecord means that samples are missing: the runtime's records lack the form that
// this package reads. The profile has what was read before them.
var ErrRecord = errors.New("cpu samples: the runtime's records are not as expected")

// Log counts CPU samples by stack and labels. Record and Cut may be called at the
// same time, each by one goroutine.
type Log struct {
	hz          int
	readProfile Reader
	clock       clock
	reading     chan struct{} // closed when the runtime takes samples
	surprised   chan struct{} // closed when records are not as expected
	full        chan struct{} // holds a token when the open part has little room left
	wake        chan struct{} // holds a token when the reader must look at once

	// asleep is true during a call of readProfile, which can wait.
	asleep atomic.Bool

	// Only Cut uses these.
	symbols *goruntime.Symbols
	loaded  []*profile.Mapping
	lots    int // of signals, at most, that it sends to a reader that sleeps

	mu        sync.Mutex
	signals   tally // of our signals that have made their records
	recorded  bool  // a signal has made one: they can wake the reader
	open      *part
	cut       chan *part // of the Cut that waits, nil without one
	restart   bool       // that Cut has stopped the runtime's profile
	deaf      bool       // something else seems to handle the signals
	doubted   int64      // since when; a later record of a signal disproves it
	unwoken   bool       // the signals have not woken the reader
	installed handler    // the signals' handler when one last made a record, zero before
	closing   bool       // the run will end soon
	ended     bool       // Record has returned, or will soon

	// Only Record uses these.
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

// Begin makes the runtime take samples. Nothing else may do so or read any.
func (l *Log) Begin() {
	l.mu.Lock()
	l.renew(goruntime.Nanotime())
	l.mu.Unlock()
	runtime.SetCPUProfileRate(l.hz)
	close(l.reading)
}

// Record counts the samples of the runtime after Begin, until its CPU profile ends.
func (l *Log) Record() {
	for {
		l.read()
		if !l.again() {
			return
		}
	}
}

// again handles the end of the samples. It makes the runtime take more if a Cut has
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
	cut, done := l.cut, l.open // its end is certain
	done.restarted, done.deaf, done.unwoken = true, l.deaf, l.unwoken
	l.cut = nil
	l.renew(now)
	l.restart = false
	l.signals.settle(l.signals.sent.Load())
	runtime.SetCPUProfileRate(l.hz)
	cut <- done // it has room
	return true
}

// serve ends the open part for a Cut that waits. All samples before at are in it. The
// caller holds l.mu.
func (l *Log) serve(at int64) {
	switch {
	case l.cut == nil || l.restart:
	case l.ours():
		l.give(at)
	default:
		l.stop()
	}
}

// give ends the open part for the Cut that waits. The caller holds l.mu.
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
	case <-l.full: // by the part before
	default:
	}
}

// Reading is closed when the runtime takes samples.
func (l *Log) Reading() <-chan struct{} { return l.reading }

// Surprised is closed when the runtime's records are not as expected. The error of the
// next Cut is ErrRecord then.
func (l *Log) Surprised() <-chan struct{} { return l.surprised }

// Full has a token when the samples since the last Cut fill three quarters of their
// room: cut soon, or samples are dropped. A Cut takes the token away.
func (l *Log) Full() <-chan struct{} { return l.full }

// Piece is the samples between two Cuts.
type Piece struct {
	Profile    *profile.Profile
	Times      [][]int64 // of its samples, in nanoseconds since 1970
	Start, End time.Time
	// Restarted means that the runtime was stopped, and takes samples again.
	Restarted bool
	// Deaf gives the reason: something else in the process handles SIGPROF, which the
	// runtime samples by. There are no samples until it ends that.
	Deaf bool
	// Unwoken gives the reason: the Log's signals have not woken its reader, and the Cut
	// has waited long. The reader got no core, or this system or runtime has no such wake-up.
	Unwoken bool
}

// Cut returns the samples of the runtime since Begin or the last Cut. An error means
// that samples are missing; it can come with a piece.
//
// The runtime goes on, so that no sample is missing between two Cuts. It is stopped and
// begins again only to wake its reader. Such systems are all but Linux and macOS. Others
// need it while something else handles the signals, or if these do not wake the reader.
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

// look makes the reader look at once.
func (l *Log) look() {
	select {
	case l.wake <- struct{}{}:
	default:
	}
}

// Close announces the end of the runtime's CPU profile. The owner then does not wait for
// the reader's next look.
func (l *Log) Close() {
	l.mu.Lock()
	l.closing = true
	l.mu.Unlock()
	l.look()
}

// End makes Record return.
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

// Start returns the start of the open part.
func (l *Log) Start() time.Time {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.open.start
}
