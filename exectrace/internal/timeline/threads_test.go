// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package timeline

import (
	"testing"
	"time"

	exptrace "golang.org/x/exp/trace"
)

// threadsTest makes the events of recordings, with times in microseconds.
type threadsTest struct {
	*testing.T
	threadsReading
}

func (t *threadsTest) add(e exptrace.Event, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
	t.event(&e)
}

// read begins the first part of a recording.
func (t *threadsTest) read(us int64) {
	t.Helper()
	t.threadsReading = threadsReading{Threads: t.Threads}
	t.next(us)
}

// next begins another part.
func (t *threadsTest) next(us int64) {
	t.Helper()
	t.add(exptrace.MakeEvent(exptrace.EventConfig[exptrace.Sync]{
		Kind: exptrace.EventSync, Time: exptrace.Time(us * 1000),
		Details: exptrace.Sync{N: 1, ClockSnapshot: &exptrace.ClockSnapshot{Trace: exptrace.Time(us * 1000), Mono: uint64(us * 1000)}},
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
	if got, ok := t.SpanAt(thread, t.wall.Epoch.Add(time.Duration(us)*time.Microsecond)); got != span || ok != known {
		t.Errorf("thread %d has span %q at %d us, known: %v; want %q, %v", thread, got, us, ok, span, known)
	}
}

const spanA, spanB = "00000000000000aa", "00000000000000bb"

// A thread writes 10 ms late that it took the processor of a goroutine in a system call. The
// reader moves that goroutine's older events behind it.
func TestMovedEvents(t *testing.T) {
	m := threadsTest{T: t, threadsReading: threadsReading{Threads: new(Threads)}}
	m.read(0)
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

// A recording without the last part of the one before lacks some time in between. That holds
// even if it begins before the end of that part.
func TestRecordingsThatTouch(t *testing.T) {
	m := threadsTest{T: t, threadsReading: threadsReading{Threads: new(Threads)}}
	m.read(0)
	m.becomes(64_000, 1, exptrace.NoGoroutine, 10, exptrace.GoRunnable, exptrace.GoRunning)
	m.next(640)
	m.mark(704_000, 1, 10, spanA)
	m.becomes(1_280_000, 2, exptrace.NoGoroutine, 20, exptrace.GoRunnable, exptrace.GoRunning)
	m.part = m.newest // at the end

	m.read(640)
	m.mark(704_000, 1, 10, spanA)
	m.becomes(1_280_000, 2, exptrace.NoGoroutine, 20, exptrace.GoRunnable, exptrace.GoRunning)
	m.next(1270)
	m.becomes(1_920_000, 2, 20, 21, exptrace.GoNotExist, exptrace.GoRunnable)
	m.part = m.newest
	m.want(1, 1900, spanA, true)

	m.read(1910)
	m.mark(1_915_000, 1, 10, spanB) // before the end of the part before
	m.becomes(2_560_000, 2, 20, 22, exptrace.GoNotExist, exptrace.GoRunnable)
	m.want(1, 1900, "", false)
	m.want(1, 2500, spanB, true)
}
