// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

// Package reporttest reads what package report has given to otel.Handle.
package reporttest

import (
	"fmt"
	"runtime/pprof"
	"strings"
	"time"

	"go.opentelemetry.io/otel"

	"github.com/spanprof/spanprof/internal/report"
)

// Handle makes handle the error handler until the end of the test t. Reports are made in
// place: no test must wait for them. handle must not use the component that reports.
func Handle(t interface{ Cleanup(func()) }, handle func(error)) {
	before := otel.GetErrorHandler()
	otel.SetErrorHandler(otel.ErrorHandlerFunc(handle))
	restore := report.Synchronous(handle)
	t.Cleanup(func() {
		restore()
		otel.SetErrorHandler(before)
	})
}

// patience is how long a busy machine may leave a report without a CPU.
const patience = time.Minute

// Settle returns when the error handler has all reports of this process. Shutdown, which a
// program calls, waits half a second for that: on a busy machine its goroutine may get no CPU
// for so long. Where the handler hangs, Settle gives up after a minute.
func Settle() {
	for d, waited := time.Millisecond, time.Duration(0); reporting() && waited < patience; d *= 2 {
		<-time.After(d)
		waited += d
	}
}

// reporting reports whether a goroutine gives a report to the handler. One that has not run
// yet is known by what has created it alone, which the form of debug=1 does not tell.
func reporting() bool {
	var stacks strings.Builder
	_ = pprof.Lookup("goroutine").WriteTo(&stacks, 2) // a Builder takes everything
	return strings.Contains(stacks.String(), "report.(*Reporter)")
}

// Times returns how many errors a reported one stands for: itself, and those like it
// that came within the minute.
func Times(text string) uint64 {
	i := strings.LastIndex(text, " (and ")
	if i < 0 {
		return 1
	}
	var more uint64
	_, _ = fmt.Sscanf(text[i:], " (and %d more like it", &more)
	return 1 + more
}
