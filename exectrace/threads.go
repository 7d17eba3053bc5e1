// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package exectrace

import (
	"bytes"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/spanprof/spanprof/exectrace/internal/timeline"
	"github.com/spanprof/spanprof/internal/goruntime"
)

const (
	// lookLasts is how long a call of Threads.Look holds.
	lookLasts = time.Minute
	// readThreadsApart is how long at least the recording is not read again, whatever is asked.
	readThreadsApart = 200 * time.Millisecond
)

// mostWait is how long the caller of a method of Threads may have to wait for the recording.
const mostWait = 5 * time.Second

// errLate says that the runtime does not answer.
var errLate = errors.New("the flight recorder did not answer, as when another execution trace is written to what takes no more")

// errNotRecording says that the flight recorder is off: Status says why.
var errNotRecording = errors.New("exectrace: nothing is recorded")

// Threads tells which span was on which thread of the process when, while somebody looks at
// the page: it is the Timelines of package ebpfbridge/receiver. It is safe for concurrent use.
type Threads struct {
	recorder *Recorder
	looked   atomic.Pointer[time.Time] // when Look was called

	mu   sync.Mutex
	read timeline.Threads
	next time.Time // when the recording may be read again
}

// Threads returns what tells which span was on which thread. It knows what the flight
// recorder has and spans that are labelled by package spanprof.
//
//	threads := r.Threads()
//	bridge, err := receiver.New(p.Store(), receiver.LookupIn(p.Store()), receiver.WithTimelines(threads))
//	...
//	page := p.Handler()
//	mux.HandleFunc("/debug/spanprof/", func(w http.ResponseWriter, r *http.Request) {
//		threads.Look()
//		page.ServeHTTP(w, r)
//	})
//
// To answer it reads the whole recording, once for each message of an agent: some 20 ms a
// megabyte, beside WithBudget, and keeps up to eight times the bytes of WithMaxBytes. So it does
// that only for a minute after each call of Look. The recording has to reach back to the agent's last message: WithWindow should be longer than the
// agent's interval, by 2 s or more.
func (r *Recorder) Threads() *Threads { return &Threads{recorder: r} }

// Look says that somebody looks: for a minute from now on, threads are known.
func (t *Threads) Look() {
	now := time.Now()
	t.looked.Store(&now)
}

// SpanAt returns the id of the span whose labels a thread had at a time, as 16 hexadecimal
// digits, "" for none. known is false where that is not certain: where nobody looks, nothing is
// recorded, the span began before the recording, the time is within microseconds of
// a change, or the system's wall clock was set in the last four minutes: the agent may take
// three to notice. The thread's id is that of the operating system, in the process's own pid namespace.
//
// Labels that other code puts on goroutines, by pprof.Do say, are not known of.
func (t *Threads) SpanAt(thread int64, at time.Time) (id string, known bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.reach(at)
	return t.read.SpanAt(thread, at)
}

// ThreadsOf returns the threads that had the labels of a span at a time, in order, as far as
// that is certain.
func (t *Threads) ThreadsOf(id string, at time.Time) []int64 {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.reach(at)
	var list []int64
	for _, thread := range t.read.IDs() {
		if on, known := t.read.SpanAt(thread, at); known && on == id {
			list = append(list, thread)
		}
	}
	return list
}

// reach reads the recording if what was read ends before a time that has come. One message asks
// for many times, and the first reading is enough. Where it was not, as it failed, there is
// none for as long as it took.
func (t *Threads) reach(at time.Time) {
	now, looked := time.Now(), t.looked.Load()
	if looked == nil || now.Sub(*looked) > lookLasts {
		t.read = timeline.Threads{} // which may be large
		return
	}
	if t.recorder.steps.doubtful(now) {
		t.read = timeline.Threads{}
		return
	}
	if t.read.Until().After(at) || at.After(now) || now.Before(t.next) {
		return
	}
	err := goruntime.Unknown()
	if err == nil {
		err = t.readOn()
	}
	if err != nil && !errors.Is(err, errNotRecording) {
		t.recorder.reporter.Report(fmt.Errorf("exectrace: threads: %w", err))
	}
	t.next = now.Add(readThreadsApart)
	if end := time.Now(); !t.read.Until().After(at) {
		t.next = end.Add(max(end.Sub(now), readThreadsApart))
	}
}

// errCut says that there is no room for all that threads ran.
var errCut = errors.New("what threads ran in the recording takes more memory than there is room for: the oldest is forgotten; WithMaxBytes allows more")

// readOn reads the recording.
func (t *Threads) readOn() error {
	recording, err := t.recorder.take()
	if err != nil {
		return err
	}
	cut, err := t.read.Read(recording, keptPerByte*t.recorder.config.maxBytes)
	if cut {
		t.recorder.count(cutThreads, 1)
		return errors.Join(err, errCut)
	}
	return err
}

// ask is a recording that somebody waits for.
type ask chan<- answer

type answer struct {
	recording *bytes.Buffer
	err       error
}

// take returns what the flight recorder has.
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
			return nil, errNotRecording
		case <-r.done: // without Shutdown: the environment switches everything off
			return nil, errNotRecording
		case <-late:
			return nil, errLate
		}
	}
}

// answer gives whoever asks the recording. It belongs to run.
func (r *Recorder) answer(to ask) {
	if !r.records() || r.flight.interrupted() {
		to <- answer{err: errNotRecording}
		return
	}
	taken := recording{most: r.config.maxBytes}
	_, err := r.flight.write(&taken)
	to <- answer{&taken.Buffer, err}
}

const (
	// agentsNotice is how long an agent may go on with the wall clock as it was before a step:
	// OpenTelemetry's compares the clocks each three minutes.
	agentsNotice = 4 * time.Minute
	// leastStep is by how much the wall clock is set at least. Between two looks at clocks that
	// a sandbox keeps on its own they may drift apart by less.
	leastStep = 100 * time.Microsecond
	// mostClockError is when a reading of the clocks is of no use.
	mostClockError = 10 * time.Microsecond
)

// clockSteps notices steps of the wall clock. It is safe for concurrent use.
type clockSteps struct {
	mu   sync.Mutex
	last timeline.Clock
	over time.Time // when agents have noticed the last step
}

// doubtful looks at the clocks, and reports whether the times of an agent's samples may be wrong.
func (s *clockSteps) doubtful(now time.Time) bool {
	if goruntime.Unknown() != nil {
		return false // nothing is known of threads
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if c := timeline.ReadClock(); c.Error <= mostClockError {
		if !s.last.Epoch.IsZero() && c.Epoch.Sub(s.last.Epoch).Abs() > leastStep {
			s.over = now.Add(agentsNotice)
		}
		s.last = c
	}
	return now.Before(s.over)
}
