// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

// Package report keeps failures of other people's code from doing harm. [Contain]
// turns a panic of a call into an error. A [Reporter] gives errors to otel.Handle
// without waiting for the program's handler.
package report

import (
	"context"
	"fmt"
	"maps"
	"reflect"
	"regexp"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"go.opentelemetry.io/otel"

	"github.com/spanprof/spanprof/internal/goruntime"
)

const (
	// apart is the least time between two reports of one cause.
	apart = time.Minute
	// maxCauses bounds the causes. A server may return another text each time.
	maxCauses = 64
	// maxCause is how many bytes of an error's first line distinguish causes, after the ids
	// are folded; maxLine is how many are folded.
	maxCause, maxLine = 200, 1000
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
	idle    chan struct{} // closed when no report is running; nil when none is
}

// cause is a set of errors with texts that differ only in ids.
type cause struct {
	reported time.Time // the last time
	since    int       // errors without a report since then
	newest   error     // the last of them
}

// Report returns immediately. It reports an error at most once a minute per cause, with
// the number of errors in between. Otherwise a server that refuses every profile would
// fill the log. Two errors have one cause if their first lines differ only in numbers.
// When maxReports errors are waiting, err is dropped.
func (r *Reporter) Report(err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	now := time.Now()
	c := r.cause(causeOf(err), now)
	if now.Sub(c.reported) < apart {
		c.since++
		c.newest = err
		return
	}
	r.reportOf(c, err, now)
}

// reportOf reports err with the number of errors before it; the caller holds r.mu.
func (r *Reporter) reportOf(c *cause, err error, now time.Time) {
	if c.since > 0 {
		err = fmt.Errorf("%w (and %d more like it since %s)", err, c.since, c.reported.Format(time.TimeOnly))
	}
	*c = cause{reported: now}
	r.add(err)
}

// flush reports the errors that were held back; the caller holds r.mu.
func (r *Reporter) flush() {
	for _, text := range slices.Sorted(maps.Keys(r.causes)) {
		if c := r.causes[text]; c.since > 0 {
			c.since-- // newest is reported itself
			r.reportOf(c, c.newest, time.Now())
		}
	}
}

// cause returns the cause with a text; the caller holds r.mu. Errors beyond the bound have one
// cause in common.
func (r *Reporter) cause(text string, now time.Time) *cause {
	if r.causes == nil {
		r.causes = make(map[string]*cause)
	}
	if r.causes[text] == nil && len(r.causes) >= maxCauses {
		maps.DeleteFunc(r.causes, func(_ string, c *cause) bool { return now.Sub(c.reported) >= apart })
		if len(r.causes) >= maxCauses {
			text = ""
		}
	}
	if r.causes[text] == nil {
		r.causes[text] = new(cause)
	}
	return r.causes[text]
}

// ids matches UUIDs and runs of hexadecimal digits with a decimal digit: numbers and ids of
// requests, traces and pods.
var ids = regexp.MustCompile(`(?i)[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}|[a-f]*[0-9][0-9a-f]*`)

// causeOf returns the first line of an error with 0 for each number and id.
func causeOf(err error) string {
	line, _, _ := strings.Cut(err.Error(), "\n")
	line = ids.ReplaceAllString(line[:min(len(line), maxLine)], "0")
	return line[:min(len(line), maxCause)]
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
	if len(r.waiting) < maxReports {
		r.waiting = append(r.waiting, err)
	}
	if r.idle == nil {
		r.idle = make(chan struct{})
		r.next()
	}
}

// next starts the next report, if there is one; the caller holds r.mu.
func (r *Reporter) next() {
	if len(r.waiting) == 0 {
		close(r.idle)
		r.idle = nil
		return
	}
	err := r.waiting[0]
	r.waiting = slices.Delete(r.waiting, 0, 1)
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

// Wait reports the errors that were held back. It returns when every error has been reported,
// ctx ends or reportGrace is over: the caller may be the error handler.
func (r *Reporter) Wait(ctx context.Context) {
	r.mu.Lock()
	r.flush()
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

// Contain calls f and turns a panic or a runtime.Goexit into an error. The error
// includes the stack, which shows where the exporter failed.
//
// f runs on its own goroutine because nothing stops a Goexit: it would end the worker.
func Contain(f func() error) error {
	result := make(chan error, 1)
	go func() {
		var (
			err      error
			returned bool
		)
		defer func() {
			if v := recover(); v != nil {
				err = fmt.Errorf("panic: %v\n%s", v, debug.Stack())
			} else if !returned {
				err = fmt.Errorf("the call ended its goroutine by runtime.Goexit, as t.FailNow does\n%s", debug.Stack())
			}
			result <- err
		}()
		err = f()
		returned = true
	}()
	return <-result
}

// IsNil reports whether v is nil or a nil pointer.
func IsNil(v any) bool {
	r := reflect.ValueOf(v)
	return v == nil || r.Kind() == reflect.Pointer && r.IsNil()
}
