// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package spanlabels

import (
	"sync/atomic"

	"go.opentelemetry.io/otel/trace"
)

// Counts are the counters of this process, for the self-check.
var Counts struct {
	// Sampled and Unsampled are about how many spans were started: see Count.
	Sampled, Unsampled atomic.Uint64
	// Wiped counts labelled spans that ended on the goroutine where they started, with their
	// labels replaced. A later goroutine with the same number counts as that goroutine.
	Wiped atomic.Uint64
	// NoRoom counts spans without labels because a SpanProcessor had too many open.
	NoRoom atomic.Uint64
	// NamesFull is the limit on different span names, once it was reached.
	NamesFull atomic.Int64
	// NoProfileID is set once the spans of a provider lack the attribute
	// pyroscope.profile.id. EverySpan is set once it gives every sampled span a profile
	// without that attribute.
	NoProfileID, EverySpan atomic.Bool
}

// every is the share of traces that Count counts, by bits of the id that samplers use
// last: one in 64. It counts as many spans exactly before that.
const every = 64

// Count counts a span that has started.
func Count(id trace.TraceID, sampled bool) {
	n := &Counts.Unsampled
	if sampled {
		n = &Counts.Sampled
	}
	switch few := n.Load() < every; {
	case few && id.IsValid():
		n.Add(1)
	case !few && id[len(id)-1]%every == 1: // not 0, the byte of an invalid id
		n.Add(every)
	}
}
