// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package timeline

import (
	"strings"
	"testing"
	"time"

	exptrace "golang.org/x/exp/trace"
)

// threadsTest makes the events of recordings, with times in microseconds.
type threadsTest struct {
	*testing.T
	*reading
}

func newThreadsTest(t *testing.T) threadsTest {
	s := newReading()
	s.threads = map[int64]*thread{}
	return threadsTest{t, s}
}

func (t *threadsTest) add(e exptrace.Event, err error) {
	t.Helper()
	adder(t.T, t.reading)(e, err)
}

// begin begins a recording.
func (t *threadsTest) begin() {
	t.Helper()
	t.add(exptrace.MakeEvent(exptrace.EventConfig[exptrace.Sync]{
		Kind:    exptrace.EventSync,
		Details: exptrace.Sync{N: 1, ClockSnapshot: &exptrace.ClockSnapshot{}},
	}))
}

// becomes has a goroutine on a thread go from one state to another.
func (t *threadsTest) becomes(ns int64, thread exptrace.ThreadID, of, g exptrace.GoID, from, to exptrace.GoState) {
	t.Helper()
	t.add(exptrace.MakeEvent(exptrace.EventConfig[exptrace.StateTransition]{
		Kind: exptrace.EventStateTransition, Time: exptrace.Time(ns), Thread: thread, Goroutine: of,
		Details: exptrace.MakeGoStateTransition(g, from, to),
	}))
}

// mark has a goroutine on a thread mark its label.
func (t *threadsTest) mark(ns int64, thread exptrace.ThreadID, g exptrace.GoID, id string) {
	t.Helper()
	t.add(exptrace.MakeEvent(exptrace.EventConfig[exptrace.Log]{
		Kind: exptrace.EventLog, Time: exptrace.Time(ns), Thread: thread, Goroutine: g,
		Details: exptrace.Log{Category: markLabel, Message: id},
	}))
}

func (t *threadsTest) want(thread, us int64, span string, known bool) {
	t.Helper()
	read := Threads{threads: t.threads, zero: int64(t.zero), until: t.End}
	if got, ok := read.SpanAt(thread, read.wall.epoch.Add(time.Duration(us)*time.Microsecond)); got != span || ok != known {
		t.Errorf("thread %d has span %q at %d us, known: %v; want %q, %v", thread, got, us, ok, span, known)
	}
}

const spanA, spanB = "00000000000000aa", "00000000000000bb"

// A thread writes 10 ms late that it took the processor of a goroutine in a system call. The
// reader moves that goroutine's older events behind it.
func TestMovedEvents(t *testing.T) {
	m := newThreadsTest(t)
	m.begin()
	m.becomes(64_000, 1, 10, 11, exptrace.GoRunnable, exptrace.GoRunning)
	m.becomes(128_000, 2, exptrace.NoGoroutine, 20, exptrace.GoRunnable, exptrace.GoRunning)
	m.mark(192_000, 2, 20, spanA)
	m.becomes(256_000, 2, 20, 20, exptrace.GoRunning, exptrace.GoSyscall)

	const late = 10_240_000
	m.add(exptrace.MakeEvent(exptrace.EventConfig[exptrace.StateTransition]{
		Kind: exptrace.EventStateTransition, Time: late, Thread: 1, Goroutine: 10,
		Details: exptrace.MakeProcStateTransition(3, exptrace.ProcRunning, exptrace.ProcIdle),
	}))
	m.add(exptrace.MakeEvent(exptrace.EventConfig[exptrace.StateTransition]{
		Kind: exptrace.EventStateTransition, Time: late + 1, Thread: 2, Goroutine: 20,
		Details: exptrace.MakeProcStateTransition(4, exptrace.ProcIdle, exptrace.ProcRunning),
	}))
	m.becomes(late+2, 2, 20, 20, exptrace.GoSyscall, exptrace.GoRunnable)
	m.becomes(late+3, 2, exptrace.NoGoroutine, 20, exptrace.GoRunnable, exptrace.GoRunning)
	for ns := int64(4); ns < 130; ns++ { // some are moved to possible times of others
		m.mark(late+ns, 2, 20, []string{spanA, spanB}[ns%2])
	}
	m.mark(late+64_000, 2, 20, spanB)
	m.becomes(late+128_000, 1, 10, 12, exptrace.GoNotExist, exptrace.GoRunnable)

	m.want(2, 220, spanA, true)
	for us := int64(300); us < 10_240; us += 100 {
		m.want(2, us, "", false)
	}
	m.want(2, 10_260, spanB, true)
}

// A span from before the recording is unknown until the next mark.
func TestSpanFromBeforeTheRecording(t *testing.T) {
	m := newThreadsTest(t)
	m.begin()
	m.becomes(64_000, 1, exptrace.NoGoroutine, 10, exptrace.GoUndetermined, exptrace.GoRunning)
	m.mark(640_000, 1, 10, spanA)
	m.mark(6_400_000, 1, 10, "")
	m.becomes(64_000_000, 1, 10, 11, exptrace.GoNotExist, exptrace.GoRunnable)
	m.want(1, 300, "", false)
	m.want(1, 3000, spanA, true)
	m.want(1, 30_000, "", true)
	m.want(1, 70_000, "", false) // after the recording
}

// After a step of the wall clock nothing is certain for four minutes. A failed reading in between
// does not hide it.
func TestClockStep(t *testing.T) {
	var read Threads
	now := time.Unix(1e9, 0)
	for n, offset := range []time.Duration{0, leastStep, time.Second} {
		if read.Read(strings.NewReader("no trace"), 1<<20) == nil {
			t.Fatal("it was read")
		}
		read.set(clock{epoch: now.Add(offset), bound: time.Microsecond}, now)
		if want := n == 2; read.doubtful.IsZero() == want {
			t.Errorf("step %d: doubtful until %v", n, read.doubtful)
		}
	}
	if read.doubtful.Sub(now) != agentsNotice {
		t.Errorf("doubtful until %v", read.doubtful)
	}
	read.threads, read.until = map[int64]*thread{1: {changes: []change{{at: 1, label: label{held: heldNone}}}}}, int64(time.Hour)
	for at, want := range map[time.Duration]bool{agentsNotice - time.Second: false, agentsNotice + time.Second: true} {
		if _, known := read.SpanAt(1, now.Add(at)); known != want {
			t.Errorf("at %v: known %t, want %t", at, known, want)
		}
	}
}
