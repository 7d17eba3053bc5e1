// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

// Package livelabels tells which labels of a goroutine hold: those of a span that
// has ended stay on the goroutines that it started, such as an HTTP client's for
// its connections.
//
// Package spanprof knows that, by what it keeps with the label sets that it
// makes, and package profiler asks. Neither imports the other.
package livelabels

import (
	"math"
	"sync/atomic"

	"github.com/spanprof/spanprof/internal/goruntime"
)

// Hook answers At for sets that are not nil.
type Hook func(set *goruntime.LabelSet, nanotime int64) (held *goruntime.LabelSet, endedSpanID string)

var registered atomic.Pointer[Hook]

// Register sets what Of and At ask, from any goroutine. The hook must not change any
// more.
func Register(hook *Hook) { registered.Store(hook) }

// Of returns the label set of runtime/pprof that holds now on a goroutine which carries
// set: set itself unless it is of a span that has ended. Both may be nil. It may be
// called from any goroutine, and does not change what the goroutine carries.
func Of(set *goruntime.LabelSet) *goruntime.LabelSet {
	held, _ := At(set, math.MaxInt64)
	return held
}

// At returns the label set that held at a time, as goruntime.Nanotime tells it, on a
// goroutine that carried set then: set itself unless it is of a span which had ended
// before that time. Then it is what the goroutine goes back to, by the same
// rule, and endedSpanID is the span's id in 16 hex digits; "" where the span is not
// labelled with an id. Both sets may be nil. At may be called from any goroutine, soon
// or late after the time.
//
// Work of a span that has ended is still its work on goroutines that it has been
// given to, by spanprof.Do, spanprof.Go or a child span: their labels hold.
//
// The answer differs from what held then in these cases:
//   - Labels that a goroutine goes back to are those of today: of a span that was renamed
//     after the time, they have its last name.
//   - A goroutine that was started within a spanprof.Do, and goes on after it and
//     after the span, has the labels until the last Do with them returns, also
//     between two of them.
//   - Where a Do with labels of a span that has ended begins after the time, what
//     the goroutine goes back to may be of a span below that one.
//   - Labels that a pprof.Do within the span added stay; where such a copy has no span_id
//     or trace_id, as of a span that is not sampled, it is not known to be of a span.
//
// The first nanoseconds after the end of a span, until its labels are off the goroutine,
// count for the span.
func At(set *goruntime.LabelSet, nanotime int64) (held *goruntime.LabelSet, endedSpanID string) {
	hook := registered.Load()
	if hook == nil || set == nil {
		return set, ""
	}
	return (*hook)(set, nanotime)
}
