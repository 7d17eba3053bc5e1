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
	// maxReports is how many errors may wait for a blocked error handler.
	maxReports = 16
	// reportGrace is how long Shutdown waits for the error handler, to report
	// the last failures of a program that ends.
	reportGrace = 500 * time.Millisecond
)

// Reporter gives errors to otel.Handle, one at a time and in order, from
// goroutines of its own. The error handler may call back into this package: it may
// shut down the failed component, and that waits for the queue's worker. The
// zero value is ready to use.
type Reporter struct {
	mu      sync.Mutex
	causes  map[string]*cause
	waiting []error
	missed  int           // errors that found no room since the last report
	idle    chan struct{} // closed when no report is running; nil when none is
}

// Report returns immediately. It reports an error at most once a minute per cause, with
// the number of errors in between. Otherwise a server that refuses every profile would
// fill the log. Two errors have one cause if their first lines differ only in numbers.
// When maxReports errors are waiting, err is only counted, and the count is reported in
// its turn.
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
// handle in place of otel.Handle before Report returns. The limit of one report per
// minute stays. handle must not use the component that reports.
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
	// Deferred because a handler may end its goroutine, as t.Fatal does.
	defer func() {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.next()
	}()
	// The goroutine inherits the labels of the caller of Report, which may work
	// for a span.
	goruntime.ClearLabels()
	otel.Handle(err)
}

// Wait flushes. It returns when every error has been reported, ctx ends or reportGrace is
// over: the caller may be the error handler.
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
