// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package report

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"go.opentelemetry.io/otel"

	"github.com/spanprof/spanprof/internal/goruntime"
)

const (
	// maxReports is how many errors may wait for an error handler that
	// does not return.
	maxReports = 16
	// reportGrace is how long Shutdown waits for the error handler, so that
	// a program which ends hears of what failed last.
	reportGrace = 500 * time.Millisecond
)

// Reporter gives errors to otel.Handle, one at a time and in order, from
// goroutines of its own. The program's error handler may do anything there: it
// may shut down what has failed, and that waits for the queue's worker. The
// zero value is ready to use.
type Reporter struct {
	mu      sync.Mutex
	causes  map[string]*cause
	waiting []error
	missed  int           // errors that found no room since the last report
	idle    chan struct{} // closed when no report is running; nil when none is
}

// Report returns at once. An error is reported at most once a minute for each cause,
// with how many there were in between: a server that refuses every profile would fill
// the log otherwise. Two errors have one cause if their first lines differ in numbers
// alone. When maxReports errors are waiting, err is counted and the number is
// reported in its turn.
func (r *Reporter) Report(err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if err = r.limit(err, time.Now()); err != nil {
		r.add(err)
	}
}

// synchronous is the handler of [Synchronous], nil in a program.
var synchronous atomic.Pointer[func(error)]

// Synchronous is for tests. Until restore is called, every Reporter of the process calls
// handle in place of otel.Handle, and Report returns after it. The limit of one report
// a minute stays. handle must not use the component that reports.
func Synchronous(handle func(error)) (restore func()) {
	before := synchronous.Swap(&handle)
	return func() { synchronous.Store(before) }
}

// add reports err in its turn; the caller holds r.mu.
func (r *Reporter) add(err error) {
	if handle := synchronous.Load(); handle != nil {
		(*handle)(err)
		return
	}
	if len(r.waiting) == maxReports {
		r.missed++
		return
	}
	r.waiting = append(r.waiting, err)
	if r.idle == nil {
		r.idle = make(chan struct{})
		r.next()
	}
}

// next starts the next report, if there is one; the caller holds r.mu.
func (r *Reporter) next() {
	var err error
	switch {
	case len(r.waiting) > 0:
		err = r.waiting[0]
		r.waiting = slices.Delete(r.waiting, 0, 1)
	case r.missed > 0:
		err = fmt.Errorf("%d more error(s) are not reported: the error handler was busy", r.missed)
		r.missed = 0
	default:
		close(r.idle)
		r.idle = nil
		return
	}
	go r.handle(err)
}

func (r *Reporter) handle(err error) {
	// Deferred, for a handler that ends its goroutine, as t.Fatal does.
	defer func() {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.next()
	}()
	// The goroutine inherits the labels of the call that had an error to
	// report, which may work for a span.
	goruntime.ClearLabels()
	otel.Handle(err)
}

// Wait flushes, and returns when every error has been reported. It does not wait longer than
// reportGrace, for it may be the error handler that calls.
func (r *Reporter) Wait(ctx context.Context) {
	r.Flush()
	r.mu.Lock()
	idle := r.idle
	r.mu.Unlock()
	if idle == nil {
		return
	}
	timer := time.NewTimer(reportGrace)
	defer timer.Stop()
	select {
	case <-idle:
	case <-timer.C:
	case <-ctx.Done():
	}
}
