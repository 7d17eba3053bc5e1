// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package goruntime

import (
	"context"
	"runtime/pprof"
	"runtime/trace"
)

// TraceMarkLabel is the category of messages in an execution trace that say what the
// goroutine carries from now on: the value of the label span_id, or nothing.
const TraceMarkLabel = "spanprof.label"

// ClearLabels takes all labels off the calling goroutine, which it has inherited and which
// works for no span, and marks that in the execution trace, if one is on: a reader would
// count its CPU time for the span that its creator worked for.
func ClearLabels() {
	pprof.SetGoroutineLabels(context.Background())
	if trace.IsEnabled() {
		trace.Log(context.Background(), TraceMarkLabel, "")
	}
}
