// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package exectrace

import "time"

// Analysis is the content of an execution trace by spans. Its JSON is the output of
// `spanprof trace -json`. Times in the trace are relative to its first event.
type Analysis struct {
	Duration time.Duration `json:"durationNs"`
	// Start is the wall clock at the first event, zero for traces of Go before 1.25.
	Start time.Time `json:"start,omitzero"`
	// Cut is set if memory ran out after Duration. The rest of the trace was not read.
	Cut bool `json:"cut,omitempty"`
	// Spans are the selected local roots, the slowest first.
	Spans []Span `json:"spans"`
	// Roots is the number of local roots. Marked is the number with an id: 0 without spanprof.
	Roots  int `json:"roots"`
	Marked int `json:"marked"`
	// BeganBefore is the number of spans of any kind that began before the trace and ended in it.
	BeganBefore int `json:"beganBefore"`
}

// Span is where the time of a local root went. The store keeps its JSON with two more fields:
// "start" by the wall clock, and "omitted". The last is true if lists were shortened for
// store.MaxExactTimes.
type Span struct {
	ID       string        `json:"id,omitempty"` // 16 hex digits, "" if it is not marked
	Name     string        `json:"name"`
	Start    time.Duration `json:"startNs"`
	Duration time.Duration `json:"durationNs"`
	// Open is set if the trace ends before the span.
	Open bool `json:"open,omitempty"`
	// Cut is set if there were too many events. Then Goroutines after the first, and Blockers,
	// are incomplete.
	Cut bool `json:"cut,omitempty"`
	// AllocatedBytes is about what the goroutines allocated. In a trace of a busy process the
	// median error is 2 % at 1 MB, 45 % at 20 kB.
	AllocatedBytes int64 `json:"allocatedBytes,omitempty"`
	// Goroutines did the work, at most 100. The first is where the span began: its States and
	// the Holes add up to Duration.
	Goroutines        []Goroutine `json:"goroutines"`
	GoroutinesOmitted int         `json:"goroutinesOmitted,omitempty"`
	// Holes are times without information, each with a Reason.
	Holes []Part `json:"holes,omitempty"`
	// Waits of all goroutines, summed by place and blocker, the longest first, at most 100.
	Waits        []Wait `json:"waits"`
	WaitsOmitted int    `json:"waitsOmitted,omitempty"`
}

// Part is a part of a span's time.
//
// A State is "running", or "gc assist" if it marks for the garbage collector. It is "runnable"
// if it is ready, without a thread, and "stop-the-world" if the runtime also stopped all
// goroutines. Waits are:
//
//	mutex rwmutex channel select cond waitgroup semaphore network
//	syscall cgo sleep gc wait other wait
type Part struct {
	State    string        `json:"state,omitempty"`
	Reason   string        `json:"reason,omitempty"` // of a hole
	Child    string        `json:"child,omitempty"`  // the innermost span, "" for the local root
	Start    time.Duration `json:"startNs"`          // since the span's start; 0 in sums
	Duration time.Duration `json:"durationNs"`
}

// Goroutine is the work of one goroutine for a span.
type Goroutine struct {
	ID       int64  `json:"id"`
	Function string `json:"function,omitempty"` // its first function, "" if unknown
	// Child is the innermost span of its longest time in one state, "" for the local root.
	Child string        `json:"child,omitempty"`
	Start time.Duration `json:"startNs"` // since the span's start
	End   time.Duration `json:"endNs"`
	// States are sums, the longest first.
	States []Part `json:"states"`
}

// Wait is a sum of waits of one goroutine at one place, ended by one goroutine for one local
// root.
type Wait struct {
	State     string        `json:"state"`
	Duration  time.Duration `json:"durationNs"`
	Count     int           `json:"count"`
	Goroutine int64         `json:"goroutine"`
	Child     string        `json:"child,omitempty"` // the innermost span, "" for the local root
	Stack     []Frame       `json:"stack,omitempty"`
	// Ended is the stack of the goroutine that ended the waits.
	Ended []Frame `json:"ended,omitempty"`
	// Blockers caused the wait. The first ended it. If it waited for a second goroutine
	// itself, that time belongs to the second, and so on. Timers, the network, system calls and
	// the garbage collector are no blockers.
	Blockers []Blocker `json:"blockers,omitempty"`
}

// Blocker is a goroutine that others waited for.
type Blocker struct {
	Goroutine int64  `json:"goroutine"`
	Function  string `json:"function,omitempty"`
	// SpanID and Span are its local root, "" if it had none.
	SpanID string `json:"spanId,omitempty"`
	Span   string `json:"span,omitempty"`
	// Same is set if the waiting span is its own.
	Same     bool          `json:"same,omitempty"`
	Duration time.Duration `json:"durationNs"`
	// Did has its states during the wait, by child span, the longest first.
	Did []Part `json:"did"`
}

// Frame is a call of a stack, leaf first.
type Frame struct {
	Func string `json:"func"`
	File string `json:"file"`
	Line int    `json:"line"`
}
