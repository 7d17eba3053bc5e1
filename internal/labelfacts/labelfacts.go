// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

// Package labelfacts tells what labels the spans of this process, and how many.
//
// Package spanprof registers its TracerProviders and SpanProcessors, and the self-check
// reads what they do. Neither imports the other.
package labelfacts

import (
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"weak"

	"go.opentelemetry.io/otel/trace"
)

// Labeller is what is known of a TracerProvider or SpanProcessor of package spanprof. Its
// maker sets the exported fields before Register; they are not changed after that.
type Labeller struct {
	// Provider is the TracerProvider, nil for a SpanProcessor.
	Provider trace.TracerProvider
	// Disabled says that the environment has switched it off.
	Disabled bool
	// NoProfileID says that labelled spans do not get the attribute
	// pyroscope.profile.id.
	NoProfileID bool
	// EverySpan says that every sampled span has a profile of its own, though it does not
	// get that attribute; RecordOnly, that so have those that are recorded and not sampled.
	EverySpan, RecordOnly bool
	// PublicAPI says that runtime/pprof's public API alone sets labels.
	PublicAPI bool
	// MaxNames is how many span names are told apart, NamesFull whether there are as
	// many.
	MaxNames  int
	NamesFull func() bool
	// EndsElsewhere is how many labelled spans ended on another goroutine.
	EndsElsewhere func() uint64
	// NoRoom is how many spans got no labels because too many were open.
	NoRoom func() uint64

	sampled, unsampled atomic.Uint64
}

// every is the part of the traces that is counted. One span in so many writes to memory
// that all processors share; the others read a byte.
const every = 64

// Count counts a span that has started. Its cost is next to nothing: of the traces one in
// 64 is counted, by bits of its id that samplers look at last.
func (l *Labeller) Count(id trace.TraceID, sampled bool) {
	// Not 0, the byte of an invalid id.
	if id[len(id)-1]%every != 1 {
		return
	}
	if sampled {
		l.sampled.Add(every)
	} else {
		l.unsampled.Add(every)
	}
}

// Counts returns about how many spans were started that were sampled and that were not.
func (l *Labeller) Counts() (sampled, unsampled uint64) { return l.sampled.Load(), l.unsampled.Load() }

var (
	mu  sync.Mutex
	all []weak.Pointer[Labeller]

	// How many of all have EverySpan, by whether they have RecordOnly.
	everySampled, everyRecorded atomic.Int64
)

// Register adds l to All, for as long as something else refers to l.
func Register(l *Labeller) {
	mu.Lock()
	defer mu.Unlock()
	if len(all) == cap(all) {
		all = slices.DeleteFunc(all, func(p weak.Pointer[Labeller]) bool { return p.Value() == nil })
	}
	all = append(all, weak.Make(l))
	if !l.EverySpan || l.Disabled {
		return
	}
	n := &everySampled
	if l.RecordOnly {
		n = &everyRecorded
	}
	n.Add(1)
	runtime.AddCleanup(l, func(n *atomic.Int64) { n.Add(-1) }, n)
}

// EverySpan reports whether a span that a SpanProcessor sees has a profile of its own though
// no attribute says so. It does not tell spans of one provider from those of
// another: it is true of all while there is a labeller with EverySpan.
func EverySpan(sampled bool) bool {
	return sampled && everySampled.Load() > 0 || everyRecorded.Load() > 0
}

// All returns what labels spans in this process, the oldest first.
func All() []*Labeller {
	mu.Lock()
	defer mu.Unlock()
	var alive []*Labeller
	for _, p := range all {
		if l := p.Value(); l != nil {
			alive = append(alive, l)
		}
	}
	return alive
}
