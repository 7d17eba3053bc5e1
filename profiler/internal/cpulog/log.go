// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

// Package cpulog reads the CPU samples of the process, each with its time, from the runtime.
// It makes profiles of them without runtime/pprof. A cut at any time returns the samples
// before it. The runtime continues to take samples in most cases.
package cpulog

// For developers: log.go has the life of a Log, and records.go the form of the runtime's
// records. part.go counts samples, and profile.go makes a profile of them.

import (
	"errors"
	"fmt"
	"runtime"
	"sync"
	"time"

	"github.com/google/pprof/profile"

	"github.com/spanprof/spanprof/internal/goruntime"
	"github.com/spanprof/spanprof/internal/spanlabels"
)

const (
	// hz is the rate of runtime/pprof, tick the CPU time between two samples.
	hz   = 100
	tick = time.Second / hz
	// poll is the time between two reads of a process that uses CPU time. The runtime blocks
	// a read without samples until it is stopped. So a read needs enough CPU time since the
	// last one. After idle the reader blocks: then a stop by something else ends it at once.
	poll   = 50 * time.Millisecond
	enough = 3 * tick
	idle   = 4 * poll
	// After settled a read in an idle process has nothing to read. After blocked any read
	// blocks: on two cores with 64 goroutines the reader may wait 0.3 s for one.
	settled = 2 * tick
	blocked = 500 * time.Millisecond
	// patience is how long a Cut waits for a reader without a core. The runtime takes
	// samples meanwhile, with their times. It takes none between a stop and a start.
	patience = 2 * time.Second
)

// ErrRecord means that samples are missing: the runtime's records lack the form that
// this package reads. The profile has the samples before them.
var ErrRecord = errors.New("cpu samples: the runtime's records are not as expected")

// Reader is goruntime.ReadCPUProfile.
type Reader func() (records []uint64, labels []*goruntime.LabelSet, eof bool)

// Log counts CPU samples by stack and labels. Run and Cut may be called at the same time,
// each by one goroutine.
type Log struct {
	readProfile Reader
	setRate     func(hz int)                 // runtime.SetCPUProfileRate
	processTime func() (time.Duration, bool) // ProcessTime
	base        time.Time                    // at
	nano        int64
	started     chan struct{} // closed when the runtime takes samples
	ended       chan struct{} // closed when it has stopped for another reason than a Cut
	full        chan struct{} // has a token when the open part has little room left
	wake        chan struct{} // has a token after Stop
	looked      chan struct{} // has a token after a read

	// Only Cut uses these.
	symbols *goruntime.Symbols
	loaded  []*profile.Mapping

	mu      sync.Mutex
	open    *part // counts samples before the next part
	next    *part // of the Cut that waits; nil without one
	reading bool  // Run is inside readProfile, and nobody else may call it
	restart bool  // a Cut has stopped the runtime; Run starts it again
	header  bool  // the next record is the header
	inCode  bool  // a stack had an address of Go code
	foreign int   // stacks before that
	closing bool  // Close or Stop was called
	over    bool  // ended is closed
	readAt  int64 // all samples before this nanotime are counted
	began   int64 // the nanotime of the last read, since its time, and used the CPU time then
	since   time.Time
	used    time.Duration
}

// New returns a Log of samples that read returns. It needs a runtime without an error of
// goruntime.Unknown.
func New(read Reader) *Log {
	spanlabels.TimesKept.Store(true)
	l := &Log{
		readProfile: read,
		setRate:     runtime.SetCPUProfileRate,
		processTime: ProcessTime,
		base:        time.Now(),
		nano:        goruntime.Nanotime(),
		started:     make(chan struct{}),
		ended:       make(chan struct{}),
		full:        make(chan struct{}, 1),
		wake:        make(chan struct{}, 1),
		looked:      make(chan struct{}, 1),
		symbols:     goruntime.NewSymbols(),
	}
	l.open = l.newPart(l.nano)
	return l
}

// at returns the time of the day at a nanotime, by the current system clock.
func (l *Log) at(nano int64) time.Time {
	now := time.Now()
	return now.Add(time.Duration(nano-l.nano) - now.Sub(l.base))
}

// Started is closed when the runtime takes samples.
func (l *Log) Started() <-chan struct{} { return l.started }

// Ended is closed when the runtime's CPU profile was stopped, except for the stops of Cut.
func (l *Log) Ended() <-chan struct{} { return l.ended }

// Full has a token when the samples since the last Cut fill three quarters of their room.
// Without a Cut soon afterwards samples are dropped.
func (l *Log) Full() <-chan struct{} { return l.full }

// Run makes the runtime take samples and counts them until its CPU profile is stopped. No
// other code may read samples.
func (l *Log) Run() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.begin()
	l.open = l.newPart(goruntime.Nanotime())
	close(l.started)
	for {
		l.began, l.since = goruntime.Nanotime(), time.Now()
		l.used, _ = l.processTime()
		l.reading = true
		l.mu.Unlock()
		records, labels, eof := l.readProfile()
		l.mu.Lock()
		l.reading = false
		l.take(records, labels)
		switch {
		case eof && l.restart && !l.closing:
			l.begin()
			l.restart = false
			l.readAt = goruntime.Nanotime()
		case eof:
			l.over = true
			l.readAt = goruntime.Nanotime()
			close(l.ended)
		default:
			l.readAt = l.began
		}
		signal(l.looked)
		if l.over {
			return
		}
		if !eof && !l.restart && !l.closing {
			l.wait()
		}
	}
}

// begin makes the runtime take samples. The caller holds l.mu.
func (l *Log) begin() {
	l.header = true
	l.setRate(hz)
}

// wait returns when it is time for the next read. The caller holds l.mu, which is unlocked
// meanwhile.
func (l *Log) wait() {
	l.mu.Unlock()
	defer l.mu.Lock()
	ticker := time.NewTicker(poll)
	defer ticker.Stop()
	for waited := poll; waited < idle; waited += poll {
		select {
		case <-ticker.C:
		case <-l.wake:
			return
		}
		if used, known := l.processTime(); !known || used-l.used >= enough {
			return
		}
	}
}

// Piece is the samples between two Cuts.
type Piece struct {
	Profile    *profile.Profile
	Start, End time.Time
	Samples    int64 // how many there are
	// Restarted reports whether the runtime was stopped for the Cut, and started again.
	Restarted bool
}

// Cut returns the samples since Run or the last Cut, up to now by their times. An error means
// that samples are missing; it can come with a piece.
//
// The runtime continues to take samples while the process uses CPU time, and while it is idle. In
// between the runtime delivers the last samples only when it is stopped: then Cut stops it for
// about 0.1 ms.
func (l *Log) Cut() (Piece, error) {
	l.mu.Lock()
	at := goruntime.Nanotime()
	if l.over {
		at = l.readAt
	}
	l.next = l.newPart(at)
	ticker := time.NewTicker(settled)
	defer ticker.Stop()
	var restarted bool
	for began := time.Now(); !l.over && l.counted() < at; {
		late := time.Since(began) >= patience
		if l.reading {
			late = time.Since(l.since) >= blocked
		}
		if late && !restarted {
			restarted = true
			l.stopAndStart()
			continue
		}
		l.mu.Unlock()
		select {
		case <-l.looked:
		case <-ticker.C:
		}
		l.mu.Lock()
	}
	done := l.open
	done.end = at
	l.open, l.next = l.next, nil
	select {
	case <-l.full: // by the part that ends
	default:
	}
	l.mu.Unlock()
	var err error
	if done.dropped > 0 {
		err = fmt.Errorf("cpu samples: %d are in no profile: there were %d different ones already", done.dropped, maxEntries)
	}
	return Piece{l.build(done), done.start, done.start.Add(time.Duration(at - done.began)), done.samples, restarted}, errors.Join(err, done.err)
}

// counted returns a nanotime before which all samples are counted. The caller holds l.mu.
func (l *Log) counted() int64 {
	lasts := time.Since(l.since)
	used, known := l.processTime()
	switch {
	case l.restart:
		return l.readAt
	case known && used-l.used < tick && (!l.reading || lasts >= settled):
		return goruntime.Nanotime() // a sample that the reader has no core for is in the next part
	case l.reading && lasts >= blocked:
		return l.began // there was nothing to read
	}
	return l.readAt
}

// stopAndStart stops the runtime, counts all samples and starts it again. If Run is inside a
// read, that returns and Run does the rest. The caller holds l.mu.
//
// If it is not, nobody has to wait for a core in between: on a busy machine that takes long,
// and no sample is taken meanwhile.
func (l *Log) stopAndStart() {
	l.restart = true
	l.setRate(0)
	if l.reading {
		return
	}
	for {
		records, labels, eof := l.readProfile() // cannot block after the stop
		l.take(records, labels)
		if eof {
			break
		}
	}
	l.begin()
	l.restart = false
	l.readAt = goruntime.Nanotime()
}

// Close makes Run read at once. The caller stops the CPU profile afterwards.
func (l *Log) Close() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.closing = true
	signal(l.wake)
}

// Stop ends Run.
func (l *Log) Stop() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.closing = true
	if !l.over {
		l.setRate(0)
	}
	signal(l.wake)
}

func signal(token chan<- struct{}) {
	select {
	case token <- struct{}{}:
	default:
	}
}
