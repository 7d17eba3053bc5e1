// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package spanlabels

import (
	"context"
	"runtime/pprof"
	"runtime/trace"
	"unsafe"

	"github.com/spanprof/spanprof/internal/goruntime"
)

// While an execution trace is on, the SDK makes a task of each recording span, without
// its id. A log message of one of these categories has the 8 bytes of a local root's.
const (
	// MarkSpan is for messages in the span's task.
	MarkSpan = "spanprof.span"
	// MarkNext is for messages on the same goroutine just before the span's task
	// begins: the SDK calls span processors before.
	MarkNext = "spanprof.next"
	// MarkLabel is for messages with the value of span_id that the goroutine
	// carries from now on; empty for none.
	MarkLabel = goruntime.TraceMarkLabel
)

// MarkRoot writes the id of a local root into the execution trace. Call it after
// Start if trace.IsEnabled. ctx is the context that the SDK returned for the span.
// hasTask reports whether the span has a task of its own.
func (b *Block) MarkRoot(ctx context.Context, hasTask bool) {
	carried := valueIn(b.labels(), keySpan)
	if hasTask {
		category := MarkSpan
		if b.processor {
			category = MarkNext
		}
		// The runtime copies the message; a conversion would allocate one more.
		trace.Log(ctx, category, unsafe.String(&b.root[0], len(b.root)))
	}
	if carried == "" || !hasTask {
		trace.Log(context.Background(), MarkLabel, carried) // of no task
	}
}

// put replaces found by labels on the calling goroutine, and marks a change of the
// span in an execution trace. The labels come first: a trace that begins in between
// lacks the mark instead of having a wrong one.
func put(found, labels *labelSet) {
	goruntime.SetLabels(labels)
	if trace.IsEnabled() {
		if id := spanID(labels); id != spanID(found) {
			trace.Log(context.Background(), MarkLabel, id)
		}
	}
}

// putPublic is put by the public API. It cannot read what the goroutine carries.
func putPublic(ctx context.Context) {
	pprof.SetGoroutineLabels(ctx)
	if trace.IsEnabled() {
		id, _ := pprof.Label(ctx, keySpan)
		trace.Log(context.Background(), MarkLabel, id)
	}
}
