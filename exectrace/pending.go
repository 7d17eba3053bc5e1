// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package exectrace

import (
	"context"
	"slices"
	"sync"
	"time"

	sdktrace "go.opentelemetry.io/otel/sdk/trace"

	"github.com/spanprof/spanprof/exectrace/internal/timeline"
	"github.com/spanprof/spanprof/internal/goruntime"
)

const (
	// gather is how long the first slow span waits for others, readApart how long after a
	// recording was read the next one may be.
	gather    = time.Second
	readApart = 10 * time.Second
	// edge is how long before its end, and after its start, a recording may lack events: the
	// threads begin a part of it at different moments.
	edge = 100 * time.Millisecond
	// maxPending is how many spans are looked for in a recording.
	maxPending = 64
)

// slowSpan is a slow local root that has ended.
type slowSpan struct {
	id       string
	name     string
	started  time.Time // as the program tells it, and so is duration
	ended    time.Time
	duration time.Duration
}

// pending are the slow spans that wait for a recording to be read.
type pending struct {
	window time.Duration

	mu    sync.Mutex
	spans []slowSpan
	// older began before the window: no recording has them.
	older []slowSpan
	// next is when the next recording may be read; the zero time stands for any time.
	next   time.Time
	closed bool // while nothing is recorded
}

// last is until when the recording has the start of s, where the program's times are those of
// the clock.
func (p *pending) last(s slowSpan) time.Time { return s.ended.Add(max(edge, p.window-edge-s.duration)) }

// late reports whether the start of s has left the recording when the next one may be read. A
// recording may reach further back than the window.
func (p *pending) late(s slowSpan) bool { return s.duration <= p.window && p.next.After(p.last(s)) }

// add returns the outcome of a span that does not wait, countless if it does.
func (p *pending) add(s slowSpan) (outcome counter) {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case p.closed:
		return notRecording
	case s.duration > p.window+lookEvery: // the recording may reach a bit further back
		if len(p.older) == maxPending {
			return tooMany
		}
		p.older = append(p.older, s)
		return countless
	case p.late(s):
		return tooSoon
	case !p.wait(s):
		return tooMany
	}
	return countless
}

// wait has a span wait, and returns false if there is no room: then the slowest wait.
func (p *pending) wait(s slowSpan) bool {
	if len(p.spans) < maxPending {
		p.spans = append(p.spans, s)
		return true
	}
	least := 0
	for i := range p.spans {
		if p.spans[i].duration < p.spans[least].duration {
			least = i
		}
	}
	if p.spans[least].duration < s.duration {
		p.spans[least] = s
	}
	return false
}

// due returns when to read the spans that wait, if there are any: when the first has waited for
// others, and no later than when its start would leave the recording, if that may be read then.
func (p *pending) due() (due time.Time, ok bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for i, s := range p.spans {
		at := s.ended.Add(gather)
		if last := p.last(s); last.Before(at) {
			at = last
		}
		if i == 0 || at.Before(due) {
			due = at
		}
	}
	if due.Before(p.next) {
		due = p.next
	}
	return due, len(p.spans) > 0
}

// nextOlder returns when the first of the spans is due that began before the window, if there
// are any: the store may take a moment to know it.
func (p *pending) nextOlder() (due time.Time, ok bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.older) == 0 {
		return time.Time{}, false
	}
	return p.older[0].ended.Add(gather), true
}

// takeOlder returns the spans that began before the window, which need no recording.
func (p *pending) takeOlder() []slowSpan {
	p.mu.Lock()
	defer p.mu.Unlock()
	spans := p.older
	p.older = nil
	return spans
}

// take returns the spans that wait.
func (p *pending) take() []slowSpan {
	p.mu.Lock()
	defer p.mu.Unlock()
	spans := p.spans
	p.spans = nil
	return spans
}

// notBefore has no recording be read before a time, as one is being read, and returns how many
// of the spans that have come to wait cannot wait so long.
func (p *pending) notBefore(next time.Time) (late int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.next = next
	n := len(p.spans)
	p.spans = slices.DeleteFunc(p.spans, p.late)
	return n - len(p.spans)
}

// giveBack has spans wait again that were taken and not read, and returns for how many that
// leaves no room.
func (p *pending) giveBack(spans []slowSpan) (dropped int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, s := range spans {
		if !p.wait(s) {
			dropped++
		}
	}
	return dropped
}

// close has no spans wait for a recording any more until open is called, and returns how many
// did.
func (p *pending) close() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	n := len(p.spans)
	p.spans, p.closed = nil, true
	return n
}

func (p *pending) open() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.closed = false
}

// processor is told of spans by the SDK.
type processor struct{ r *Recorder }

var _ sdktrace.SpanProcessor = processor{}

// OnStart keeps the runtime from dying of a long name, where package spanprof does not wrap
// the provider: it is the recorder that makes the SDK give it to the runtime.
func (p processor) OnStart(_ context.Context, s sdktrace.ReadWriteSpan) {
	if goruntime.LongTaskNamesCrash { // whether a trace is on may change before the SDK asks
		if name := s.Name(); len(name) > goruntime.MaxTaskName {
			s.SetName(goruntime.CutTaskName(name))
			p.r.count(cutNames, 1)
		}
	}
}

// OnEnd looks for slow local roots.
func (p processor) OnEnd(s sdktrace.ReadOnlySpan) {
	select {
	case <-p.r.stop: // the processor stays for OnStart until nothing is recorded
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
	outcome := p.r.pending.add(slowSpan{id: s.SpanContext().SpanID().String(), name: timeline.CutText(name), started: s.StartTime(), ended: time.Now(), duration: d})
	if outcome != countless {
		p.r.count(outcome, 1)
	}
	select {
	case p.r.wake <- struct{}{}:
	default: // it is awake
	}
}

func (p processor) Shutdown(context.Context) error { return nil }

func (p processor) ForceFlush(context.Context) error { return nil }
