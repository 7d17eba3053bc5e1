// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package exectrace

import (
	"bytes"
	"errors"
	"fmt"
	rtrace "runtime/trace"
	"sync"
	"sync/atomic"
	"time"

	"github.com/spanprof/spanprof/exectrace/internal/timeline"
	"github.com/spanprof/spanprof/internal/goruntime"
)

const (
	// lookLasts is the effect of a call of Threads.Look.
	lookLasts = time.Minute
	// readThreadsApart is the least time between two readings of the recording.
	readThreadsApart = 200 * time.Millisecond
	// mostWait bounds the wait of a method of Threads for the recording.
	mostWait = 5 * time.Second
)

var (
	errBlocked = errors.New("the flight recorder did not answer: another execution trace is on")
	// errUntaken means that there is no recording, no budget to read it, or no CPU to write it.
	errUntaken = errors.New("no recording")
)

// Threads has the span of each thread at each time. It is the Timelines of package
// ebpfbridge/receiver. It is safe for concurrent use.
type Threads struct {
	recorder *Recorder
	looked   atomic.Pointer[time.Time] // of the last call of Look

	mu   sync.Mutex
	read timeline.Threads
	next time.Time // of the next reading at the earliest
}

// Threads returns the spans of threads, from the recording and the labels of package spanprof.
//
//	threads := r.Threads()
//	bridge, err := receiver.New(p.Store(), p.Store().Lookup, receiver.WithTimelines(threads))
//	...
//	page := p.Handler()
//	mux.HandleFunc("/debug/spanprof/", func(w http.ResponseWriter, r *http.Request) {
//		threads.Look()
//		page.ServeHTTP(w, r)
//	})
//
// The recording is read once for each message of an agent, in the minute after a call of Look.
// That costs some 25 ms a megabyte of the budget: nothing is certain while the budget lacks it.
// A recording must reach back to the message before: WithWindow must be 2 s longer than the
// agent's interval.
func (r *Recorder) Threads() *Threads { return &Threads{recorder: r} }

// Look enables the methods for a minute: call it while the page is open.
func (t *Threads) Look() {
	now := time.Now()
	t.looked.Store(&now)
}

// SpanAt returns the id of the span with the labels that a thread had at a time: 16
// hexadecimal digits, "" without a span. Threads have the ids of the process's own pid namespace.
//
// known is false if that is uncertain: a minute after Look, while nothing is recorded, and for a
// span from before the recording. It is also false within microseconds of a change. It is false
// for four minutes after a reading finds the wall clock set: an agent notices that later.
//
// Labels of other code, such as pprof.Do, are not in a recording.
func (t *Threads) SpanAt(thread int64, at time.Time) (id string, known bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.reach(at)
	return t.read.SpanAt(thread, at)
}

// reach reads the recording if the last one ends before at. One message has many times, and
// one reading serves all. After a failure there is none for as long as that took.
func (t *Threads) reach(at time.Time) {
	now, looked := time.Now(), t.looked.Load()
	if looked == nil || now.Sub(*looked) > lookLasts {
		t.read.Forget()
		return
	}
	if t.read.Until().After(at) || at.After(now) || now.Before(t.next) {
		return
	}
	err := goruntime.Unknown()
	if err == nil {
		err = t.readOn()
	}
	if err != nil && !errors.Is(err, errUntaken) {
		t.recorder.reporter.Report(fmt.Errorf("exectrace: threads: %w", err))
	}
	t.next = now.Add(readThreadsApart)
	if end := time.Now(); !t.read.Until().After(at) {
		t.next = end.Add(max(end.Sub(now), readThreadsApart))
	}
}

// readOn reads the recording.
func (t *Threads) readOn() error {
	recording, err := t.recorder.take()
	if err != nil {
		return err
	}
	return t.read.Read(recording, keptPerByte*t.recorder.config.maxBytes())
}

type answer struct {
	recording *bytes.Buffer
	err       error
}

// take returns the bytes of the flight recorder. Package runtime/trace blocks it while the
// writer of another execution trace blocks.
func (r *Recorder) take() (*bytes.Buffer, error) {
	answers, late := make(chan answer, 1), time.After(mostWait)
	asks := r.asks
	for {
		select {
		case asks <- answers:
			asks = nil
		case a := <-answers:
			return a.recording, a.err
		case <-r.stop:
			return nil, errUntaken
		case <-r.done: // without Shutdown: the environment switches everything off
			return nil, errUntaken
		case <-late:
			if foreignTrace() {
				return nil, errBlocked
			}
			rtrace.Stop()
			return nil, errUntaken
		}
	}
}

// answer returns the recording, for which run pays. A reading for slow spans stays reserved.
func (r *Recorder) answer(now time.Time) answer {
	if r.cause != nil || r.flight.interrupted() ||
		!r.budget.pay(now, time.Duration(r.budget.bytes)*perByteThreads+lookCost(0), r.budget.readCost()) {
		return answer{err: errUntaken}
	}
	taken := recording{most: r.config.maxBytes(), keep: true}
	if err := r.flight.write(&taken); err != nil {
		return answer{err: err}
	}
	if taken.n > taken.most {
		return answer{err: errUntaken}
	}
	return answer{recording: &taken.Buffer}
}
