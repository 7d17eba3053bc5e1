// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package exectrace

import (
	"context"
	"slices"
	"strings"
	"sync"
	"time"

	sdktrace "go.opentelemetry.io/otel/sdk/trace"

	"github.com/spanprof/spanprof/internal/goruntime"
)

const (
	// gather is the time that the first slow span waits for others.
	gather = time.Second
	// maxWaiting bounds the slow spans of one reading.
	maxWaiting = 128
)

// slowSpan is a slow local root that has ended. The program may have set its duration.
type slowSpan struct {
	id       string
	ended    time.Time // by the clock
	duration time.Duration
}

// inbox has the slow spans since the last reading. It is safe for concurrent use.
type inbox struct {
	mu       sync.Mutex
	isOpen   bool // while it is recording
	spans    []slowSpan
	overflow int
}

// waits reports whether a recording of a length can have a waiting span, and the end of the
// first.
func (b *inbox) waits(window time.Duration) (since time.Time, waits bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	i := slices.IndexFunc(b.spans, func(s slowSpan) bool { return s.duration <= window })
	if i < 0 {
		return time.Time{}, false
	}
	return b.spans[i].ended, true
}

// open opens or closes the inbox, and returns the number of spans dropped.
func (b *inbox) open(is bool) (dropped int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	dropped = len(b.spans) + b.overflow
	b.isOpen, b.spans, b.overflow = is, nil, 0
	return dropped
}

// add returns false if the inbox is closed. A full one drops its quickest span.
func (b *inbox) add(s slowSpan) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if !b.isOpen {
		return false
	}
	b.spans = append(b.spans, s)
	if len(b.spans) > maxWaiting {
		quickest := 0
		for i := range b.spans {
			if b.spans[i].duration < b.spans[quickest].duration {
				quickest = i
			}
		}
		b.spans = slices.Delete(b.spans, quickest, quickest+1)
		b.overflow++
	}
	return true
}

// take removes the spans that ended before a time.
func (b *inbox) take(until time.Time) (spans []slowSpan, overflow int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	var later []slowSpan
	for _, s := range b.spans {
		if s.ended.Before(until) {
			spans = append(spans, s)
		} else {
			later = append(later, s)
		}
	}
	overflow = b.overflow
	b.spans, b.overflow = later, 0
	return spans, overflow
}

// processor gets spans from the SDK.
type processor struct{ r *Recorder }

var _ sdktrace.SpanProcessor = processor{}

// OnStart shortens names that would crash some runtimes in a trace, if package spanprof does not
// wrap the provider. A trace may start at any time, so it does not check for one.
func (p processor) OnStart(_ context.Context, s sdktrace.ReadWriteSpan) {
	if name := s.Name(); len(name) > goruntime.MaxTaskName {
		s.SetName(goruntime.CutTaskName(name))
	}
}

// OnEnd collects slow local roots.
func (p processor) OnEnd(s sdktrace.ReadOnlySpan) {
	select {
	case <-p.r.stop: // OnStart is needed until the trace is off
		return
	default:
	}
	if parent := s.Parent(); parent.IsValid() && !parent.IsRemote() {
		return
	}
	d, name := s.EndTime().Sub(s.StartTime()), s.Name()
	if !p.r.slowness.slow(name, d) {
		return
	}
	p.r.count(slowSpans, 1)
	if !p.r.inbox.add(slowSpan{s.SpanContext().SpanID().String(), time.Now(), d}) {
		p.r.count(unrecorded, 1)
	}
}

func (p processor) Shutdown(context.Context) error { return nil }

func (p processor) ForceFlush(context.Context) error { return nil }

const (
	// maxSlowNames is the number of names with a limit of their own. The others share one.
	maxSlowNames = 500
	// maxSlowName is the length of a compared name.
	maxSlowName = 256
	// leastSpans is the number of spans of a name before any is slow.
	leastSpans = 100
)

// slowness decides which spans are slow. It is safe for concurrent use.
type slowness struct {
	threshold time.Duration // 0 means the p99 of the name

	mu     sync.Mutex
	names  map[string]*p99
	others p99
}

// slow counts a span, and reports whether it is slow.
func (s *slowness) slow(name string, d time.Duration) bool {
	if s.threshold > 0 {
		return d >= s.threshold
	}
	name = name[:min(len(name), maxSlowName)]
	s.mu.Lock()
	defer s.mu.Unlock()
	of := s.names[name]
	if of == nil {
		if of = &s.others; len(s.names) < maxSlowNames {
			if s.names == nil {
				s.names = map[string]*p99{}
			}
			of = new(p99)
			s.names[strings.Clone(name)] = of
		}
	}
	return of.slow(float64(d))
}

// p99 estimates the 99th percentile of durations. It starts with the longest of the first
// leastSpans. Then a longer one raises it by 10 %. Each other one lowers it: both balance at 1
// in 100.
type p99 struct {
	spans int
	limit float64
}

// slow counts a duration, and reports whether it is clearly above the p99.
func (p *p99) slow(d float64) bool {
	const up, down = 1.1, 0.99904 // down^99 is 1/up
	if p.spans < leastSpans {
		p.spans++
		p.limit = max(p.limit, d)
		return false
	}
	slow := d > 1.15*p.limit
	if d > p.limit {
		p.limit *= up
	} else {
		p.limit *= down
	}
	return slow
}
