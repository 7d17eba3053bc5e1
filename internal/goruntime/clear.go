// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package goruntime

import (
	"context"
	"runtime/pprof"
	"runtime/trace"
	"strings"
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

// MaxTaskName is how long the name of a task of package runtime/trace may be. While a trace is
// on, the runtime before Go 1.27 dies of a bit more than 65,000 bytes.
const MaxTaskName = 60_000

// CutTaskName returns the beginning of a name that is longer than MaxTaskName.
func CutTaskName(name string) string { return strings.ToValidUTF8(name[:MaxTaskName], "") }
