// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

// Package reporttest reads what package report has given to otel.Handle.
package reporttest

import (
	"runtime/pprof"
	"slices"
	"strings"
	"sync"
	"time"

	"go.opentelemetry.io/otel"

	"github.com/spanprof/spanprof/internal/report"
)

// Handle makes handle the error handler until the end of the test t. Reports are
// synchronous: tests need not wait. handle must not use the component that reports.
func Handle(t interface{ Cleanup(func()) }, handle func(error)) {
	before := otel.GetErrorHandler()
	otel.SetErrorHandler(otel.ErrorHandlerFunc(handle))
	restore := report.Synchronous(handle)
	t.Cleanup(func() {
		restore()
		otel.SetErrorHandler(before)
	})
}

// Collect returns a function for the texts of the errors reported during the test t so far.
func Collect(t interface{ Cleanup(func()) }) func() []string {
	var mu sync.Mutex
	var texts []string
	Handle(t, func(err error) {
		mu.Lock()
		defer mu.Unlock()
		texts = append(texts, err.Error())
	})
	return func() []string {
		mu.Lock()
		defer mu.Unlock()
		return slices.Clone(texts)
	}
}

// patience is how long a report may lack a CPU on a busy machine.
const patience = time.Minute

// Settle returns when the error handler has all reports of this process. Shutdown waits
// only half a second for that: on a busy machine its goroutine may get no CPU for so
// long. If the handler hangs, Settle returns after a minute.
func Settle() {
	for d, waited := time.Millisecond, time.Duration(0); reporting() && waited < patience; d *= 2 {
		<-time.After(d)
		waited += d
	}
}

// reporting reports whether a goroutine gives a report to the handler. Before its first
// run only its creator identifies it. The form of debug=1 lacks the creator.
func reporting() bool {
	var stacks strings.Builder
	_ = pprof.Lookup("goroutine").WriteTo(&stacks, 2) // a Builder never fails
	return strings.Contains(stacks.String(), "report.(*Reporter)")
}
