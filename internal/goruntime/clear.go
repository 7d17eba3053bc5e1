// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package goruntime

import (
	"context"
	"runtime/pprof"
	"runtime/trace"
)

// TraceMarkLabel is the category of messages in an execution trace that set what the
// goroutine carries from then on: the value of the label span_id, or nothing.
const TraceMarkLabel = "spanprof.label"

// ClearLabels removes the labels that the calling goroutine, which works for no span, has
// inherited. It marks that in the execution trace, if one is on: otherwise a reader would
// count the goroutine's CPU time for its creator's span.
func ClearLabels() {
	pprof.SetGoroutineLabels(context.Background())
	if trace.IsEnabled() {
		trace.Log(context.Background(), TraceMarkLabel, "")
	}
}
