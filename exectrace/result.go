// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package exectrace

import "time"

// Analysis is what an execution trace says of its spans. Times within the trace count from
// its first event.
type Analysis struct {
	// Format is that of the trace, such as "go 1.26": the Go that wrote it may be newer.
	Format   string        `json:"format"`
	Duration time.Duration `json:"durationNs"`
	// Start is the wall clock's time of the first event. It is zero for traces of Go
	// before 1.25.
	Start time.Time `json:"start,omitzero"`
	// Cut says that the trace goes on after Duration: it has more events than
	// WithMaxBytes has room for.
	Cut bool `json:"cut,omitempty"`

	// Spans are local roots, the slowest first: those that WithSlowest or WithSpanIDs
	// asks for.
	Spans []Span `json:"spans"`
	// Roots counts all local roots of the trace, and BeganBefore the spans of any kind
	// that ended in it and began before, of which nothing is known.
	Roots       int `json:"roots"`
	BeganBefore int `json:"beganBefore"`
	// Marked counts the local roots with an id. It is 0 for a program without spanprof.
	Marked int `json:"marked"`
	// Names sums up the local roots that began and ended in the trace, by name, those
	// with the longest waits for others first.
	Names []Name `json:"names"`
}

// Span is where the time of a local root went.
type Span struct {
	ID       string        `json:"id,omitempty"` // 16 hex digits; "" where it is not marked
	Name     string        `json:"name"`
	Start    time.Duration `json:"startNs"` // since the beginning of the trace
	Duration time.Duration `json:"durationNs"`
	// Open says that the span had not ended when the trace did, or where that is Cut.
	Open bool `json:"open,omitempty"`

	// Cut says that there were too many events to look at all: what is said of other
	// goroutines than the first may lack some, and so may Blockers, Runners and Path.
	Cut bool `json:"cut,omitempty"`

	// Goroutines have what each goroutine did for the span. The first is the one that
	// the span began on, whose states and Holes add up to Duration.
	Goroutines        []Goroutine `json:"goroutines"`
	GoroutinesOmitted int         `json:"goroutinesOmitted,omitempty"`
	// Holes are times that nothing is known of.
	Holes []Hole `json:"holes,omitempty"`
	// Waits are the waits of all its goroutines, summed up by where and for whom, the
	// longest first.
	Waits        []Wait `json:"waits"`
	WaitsOmitted int    `json:"waitsOmitted,omitempty"`
	// Runners ran while the first goroutine was ready and did not, the longest first.
	Runners []Runner `json:"runners,omitempty"`
	// RunnersCut says that Runners are those of a part of the time alone: it was ready
	// more than 16 times, or there were too many events to look at.
	RunnersCut bool `json:"runnersCut,omitempty"`
	// Path is the critical path: what the span's end waited for, from the start to the
	// end. Its durations add up to Duration, but for holes and what is omitted.
	Path        []Step        `json:"path"`
	PathOmitted time.Duration `json:"pathOmittedNs,omitempty"`
}

// Goroutine is what a goroutine did for a span.
type Goroutine struct {
	ID       int64  `json:"id"`
	Function string `json:"function,omitempty"` // that it began with; "" where the trace does not tell
	// Child is the name of the child of the local root that most of its time was for, in
	// spans below that too; "" for the root itself, and for the first goroutine.
	Child  string        `json:"child,omitempty"`
	Start  time.Duration `json:"startNs"` // since the span's start
	End    time.Duration `json:"endNs"`
	States []StateTime   `json:"states"` // the longest first
	// Intervals are what it did when, in order: what is shorter than a 120th of the span is
	// joined with what is beside it, and has the state that took the most. The goroutines of
	// a span have at most 2,000 together: one that has no room for all of its own has none.
	Intervals []Interval `json:"intervals,omitempty"`
}

// Interval is a time in which a goroutine worked for a span.
type Interval struct {
	State    string        `json:"state"`
	Start    time.Duration `json:"startNs"` // since the span's start
	Duration time.Duration `json:"durationNs"`
}

// StateTime is time in a state: "running", "runnable" (ready, no thread free), "gc stop"
// (ready while the world was stopped), "gc assist" and "gc sweep" (running for the garbage
// collector), or a wait: "mutex", "rwmutex", "channel", "select", "cond", "waitgroup",
// "semaphore", "network", "syscall", "cgo", "sleep", "gc wait", "other wait".
type StateTime struct {
	State    string        `json:"state"`
	Duration time.Duration `json:"durationNs"`
}

// Hole is a part of a span's duration that its goroutine was not seen to spend on it.
type Hole struct {
	Reason   string        `json:"reason"`
	Start    time.Duration `json:"startNs"` // since the span's start
	Duration time.Duration `json:"durationNs"`
}

// Wait sums up waits of one goroutine in one place that one goroutine ended, for one local
// root.
type Wait struct {
	State     string        `json:"state"`
	Duration  time.Duration `json:"durationNs"`
	Count     int           `json:"count"`
	Goroutine int64         `json:"goroutine"`
	Child     string        `json:"child,omitempty"` // the innermost span, where it is not the root
	Stack     []Frame       `json:"stack,omitempty"`
	// Ended is where the goroutine was that ended the waits.
	Ended []Frame `json:"ended,omitempty"`
	// Blockers are what was waited for: first the goroutine that ended the waits. Where
	// that one waited for a third, the third's time is its own, and so on. Timers, the
	// network, calls of the system and the garbage collector are none.
	Blockers []Blocker `json:"blockers,omitempty"`
}

// Blocker is a goroutine that others waited for.
type Blocker struct {
	Goroutine int64  `json:"goroutine"`
	Function  string `json:"function,omitempty"`
	// SpanID and Span are those of the local root that it worked for; "" if there was none.
	SpanID string `json:"spanId,omitempty"`
	Span   string `json:"span,omitempty"`
	// Same says that this is the span that waited.
	Same     bool          `json:"same,omitempty"`
	Duration time.Duration `json:"durationNs"` // of the waits, that was this one's
	Did      []Activity    `json:"did"`
}

// Activity is what a goroutine did, and in which child span.
type Activity struct {
	StateTime
	Child string `json:"child,omitempty"`
}

// Runner is what ran while a span's goroutine was ready and did not.
type Runner struct {
	SpanID   string        `json:"spanId,omitempty"`
	Span     string        `json:"span,omitempty"`     // the local root
	Function string        `json:"function,omitempty"` // of a goroutine without span
	Same     bool          `json:"same,omitempty"`
	Duration time.Duration `json:"durationNs"` // on all threads
}

// Step is a part of the critical path on one goroutine, in one span.
type Step struct {
	Goroutine int64         `json:"goroutine"`
	Function  string        `json:"function,omitempty"`
	Child     string        `json:"child,omitempty"`
	Start     time.Duration `json:"startNs"` // since the span's start
	Duration  time.Duration `json:"durationNs"`
	States    []StateTime   `json:"states"`
}

// Name sums up the local roots of one name.
type Name struct {
	Name     string        `json:"name"`
	Spans    int           `json:"spans"`
	Duration time.Duration `json:"durationNs"`
	States   []StateTime   `json:"states"` // of the goroutines that they began on
	// Blocked is the time that they waited for other spans, the longest first.
	Blocked []BlockedBy `json:"blocked,omitempty"`
}

// BlockedBy is time that spans waited for a span of another local root.
type BlockedBy struct {
	State    string        `json:"state"`
	Span     string        `json:"span"` // the name of the local root that ended the waits
	Duration time.Duration `json:"durationNs"`
	Count    int           `json:"count"`
}

// Frame is one call of a stack, leaf first.
type Frame struct {
	Func string `json:"func"`
	File string `json:"file"`
	Line int    `json:"line"`
}
