// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package exporter

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"sync"
	"time"

	"go.opentelemetry.io/otel"

	"github.com/spanprof/spanprof/internal/report"
)

const (
	// maxGiven is how many profiles may wait as they were given. Eight windows of
	// each of the six kinds of profile, of ten seconds, bridge 80 seconds without
	// the destination: a redeployment of it, say.
	maxGiven = 48
	// maxGivenBytes is how much memory those may take. Most windows are of some
	// 100 kB; but one of wall time may have 30 MB, and one of a CPU profile
	// on a machine of many cores not much less.
	maxGivenBytes = 32 << 20
)

// lane takes profiles to one destination. It is bounded, has one worker and one
// account of what became of them, its status. What fails is given up, or sent again
// where the lane has a retry policy; then profiles wait encoded.
type lane struct {
	name     string
	sink     sink
	config   queueConfig
	reporter report.Reporter
	lock     *os.File // of the spill directory; nil without one

	begin   sync.Once
	metrics *laneMetrics

	ctx    context.Context // of the attempts; ended when Shutdown gives up
	cancel context.CancelFunc
	wake   chan struct{} // holds a token when the worker has to look again
	done   chan struct{} // closed when the worker has ended
	shut   chan struct{} // closed when Shutdown returns
	err    error         // what Shutdown returns; set before done is closed

	flushing    sync.WaitGroup  // the running ForceFlushes of the sink
	flushCtx    context.Context // of these; ended before the sink's Shutdown
	endFlushing context.CancelFunc

	mu        sync.Mutex
	retry     *retry    // nil where what fails is given up
	given     []*item   // that wait as they were given, oldest first
	bytes     int64     // of given
	preparing *item     // is being encoded or written to a file
	waiting   *backlog  // what waits encoded
	respill   time.Time // when to try again to write files
	sending   map[*item]struct{}
	leaving   map[*item]struct{} // counted already, but their files are still there
	telling   int                // failures that have not been given to the reporter yet
	last      uint64             // the number of the newest profile
	flushes   []*flush
	closing   context.Context // that of Shutdown, from its call on
	abandoned bool            // Shutdown has given up, or has nothing left to do
	left      error           // says how many profiles Shutdown left; set with abandoned
	lagging   bool            // profiles were dropped, and that was reported
	lost      error           // why the last one was lost; nil after losses has returned it
	status    LaneStatus      // Name, Waiting and Bytes are not kept here
	told      LaneStatus      // the status at the last call of losses
}

// sink is what a lane calls. Only send is always there.
type sink struct {
	send     func(context.Context, *Profile) error
	split    func(*Profile) ([]*Profile, error)
	flush    func(context.Context) error
	shutdown func(context.Context) error
}

// flush is a call of ForceFlush.
type flush struct {
	ctx   context.Context
	after uint64        // the number of the newest profile that it waits for
	done  chan struct{} // closed when that and all before it are gone
}

func newLane(name string, s sink, c queueConfig) *lane {
	l := &lane{
		name:    name,
		sink:    s,
		config:  c,
		wake:    make(chan struct{}, 1),
		done:    make(chan struct{}),
		shut:    make(chan struct{}),
		waiting: newBacklog(c.age),
		sending: make(map[*item]struct{}),
		leaving: make(map[*item]struct{}),
	}
	l.ctx, l.cancel = context.WithCancel(context.Background())
	l.flushCtx, l.endFlushing = context.WithCancel(l.ctx)
	return l
}

// start lets the worker run, from the first call on.
func (l *lane) start() {
	l.begin.Do(func() {
		if l.metrics == nil {
			l.mu.Lock()
			p, err := l.config.meterProvider, error(nil)
			l.mu.Unlock()
			if p == nil {
				p = otel.GetMeterProvider()
			}
			if l.metrics, err = newLaneMetrics(p, l.name, l.Status); err != nil {
				l.report(fmt.Errorf("metrics: %w", err))
			}
		}
		go l.work()
	})
}

// push hands p over and returns at once. When there is no room, the oldest of those
// that wait as they were given are dropped; the newest stays, however large it is.
// The only error is ErrShutdown, after Shutdown.
func (l *lane) push(p *Profile) error {
	l.start()
	i := &item{profile: p, size: int64(p.Size())}
	l.mu.Lock()
	if l.closing != nil {
		l.mu.Unlock()
		return l.refuse()
	}
	l.status.Taken++
	var full uint64
	for len(l.given) > 0 && (len(l.given) == maxGiven || l.bytes+i.size > maxGivenBytes) {
		l.takeGiven()
		full++
	}
	l.status.Full += full
	tell := full > 0 && !l.lagging
	l.lagging = l.lagging || full > 0
	l.last++
	i.number = l.last
	l.given = append(l.given, i)
	l.bytes += i.size
	l.settle()
	l.mu.Unlock()

	l.notify()
	if full > 0 {
		l.observe()
	}
	if tell {
		l.report(errors.New("too slow, the oldest waiting profiles are being dropped"))
	}
	return nil
}

// takeGiven takes the oldest profile out that waits as it was given; the caller
// holds l.mu.
func (l *lane) takeGiven() *item {
	i := l.given[0]
	l.given[0] = nil
	l.given = l.given[1:]
	l.bytes -= i.size
	return i
}

// flush returns after every profile that was handed over before it is gone, and the
// sink's own flush has returned.
func (l *lane) flush(ctx context.Context) error {
	l.start()
	l.mu.Lock()
	if l.closing != nil {
		l.mu.Unlock()
		return ErrShutdown
	}
	f := &flush{ctx: ctx, after: l.last, done: make(chan struct{})}
	l.flushes = append(l.flushes, f)
	l.retry.refresh()
	l.settle()
	l.mu.Unlock()

	l.notify()
	select {
	case <-f.done:
	case <-l.done:
	case <-l.ctx.Done():
	case <-ctx.Done():
	}
	l.mu.Lock()
	l.flushes = slices.DeleteFunc(l.flushes, func(other *flush) bool { return other == f })
	select {
	case <-f.done:
		return l.flushSink(ctx) // unlocks
	default:
	}
	defer l.mu.Unlock()
	if l.abandoned {
		return ErrShutdown
	}
	return fmt.Errorf("%s: %d profile(s) not delivered yet: %w", l.name, l.count(), l.because(ctx.Err()))
}

// settle ends the flushes that have nothing to wait for any more; the caller
// holds l.mu.
func (l *lane) settle() {
	if len(l.flushes) == 0 {
		return
	}
	oldest := l.last + 1
	if len(l.given) > 0 {
		oldest = l.given[0].number
	}
	if l.preparing != nil {
		oldest = min(oldest, l.preparing.number)
	}
	if i := l.waiting.oldest(); i != nil {
		oldest = min(oldest, i.number)
	}
	for _, busy := range []map[*item]struct{}{l.sending, l.leaving} {
		for i := range busy {
			oldest = min(oldest, i.number)
		}
	}
	for _, f := range l.flushes {
		if f.after < oldest {
			close(f.done)
		}
	}
	l.flushes = slices.DeleteFunc(l.flushes, func(f *flush) bool { return f.after < oldest })
}

func (l *lane) notify() {
	select {
	case l.wake <- struct{}{}:
	default:
	}
}

func (l *lane) report(err error) {
	l.reporter.Report(fmt.Errorf("%s: %w", l.name, err))
}

func (l *lane) observe() { l.metrics.record(l.Status) }
