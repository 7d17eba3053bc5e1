// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package exectrace

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"runtime"
	rtrace "runtime/trace"
	"sync"
	"sync/atomic"
	"time"

	sdktrace "go.opentelemetry.io/otel/sdk/trace"

	"github.com/spanprof/spanprof/exectrace/internal/timeline"
	"github.com/spanprof/spanprof/internal/env"
	"github.com/spanprof/spanprof/internal/goruntime"
	"github.com/spanprof/spanprof/internal/report"
	"github.com/spanprof/spanprof/store"
)

// ErrBudget is the error of Status if the budget has no reading left, or if a recording is too
// large. Recording is off until Status.Until. Then a minute of the budget is saved up.
// After a recording without any use it is off for an hour.
var ErrBudget = errors.New("exectrace: the execution trace exceeds WithBudget")

const (
	// retryAfter is the time between tries while another flight recorder or trace is on.
	retryAfter = time.Second
	// shutdownGrace is the time that Shutdown takes after the end of its context.
	shutdownGrace = time.Second
)

// TracerProvider registers span processors. *spanprof.TracerProvider and
// *sdktrace.TracerProvider implement it.
type TracerProvider interface {
	RegisterSpanProcessor(sdktrace.SpanProcessor)
	UnregisterSpanProcessor(sdktrace.SpanProcessor)
}

// Status is the state of a Recorder.
type Status struct {
	Recording bool
	// Err is the reason if it does not record. It wraps ErrBudget, ErrForeignTrace, or has a
	// text. It is nil while it records, and after Shutdown.
	Err   error
	Until time.Time // the end of a pause
}

// Recorder gives a store the exact times of slow spans, from the flight recorder of the
// process. It is safe for concurrent use.
type Recorder struct {
	config    config
	tp        TracerProvider
	processor processor
	store     *store.Store
	slowness  slowness
	inbox     inbox
	counts    [counters]atomic.Uint64
	reporter  report.Reporter

	asks chan chan<- answer
	stop chan struct{} // closed by Shutdown
	done chan struct{} // closed at the end of run
	once sync.Once

	mu     sync.Mutex
	status Status

	// Fields of run.
	flight   flight
	budget   *budget
	next     time.Time // of the next step
	nextRead time.Time // no reading before
	cause    error     // of a pause, nil while it records
}

// Start turns the process's flight recorder on. After the end of a slow local root of tp it reads
// the recording, at most once in 10 s. Store s gets the exact times. Spans have ids in the
// recording if spanprof.NewTracerProvider or spanprof.NewSpanProcessor is in use.
//
// Nothing is recorded if the environment has OTEL_SDK_DISABLED=true or SPANPROF_DISABLED=true.
// The error names a wrong option or a missing argument.
func Start(tp TracerProvider, s *store.Store, options ...Option) (*Recorder, error) {
	c, err := newConfig(options)
	if err != nil {
		return nil, err
	}
	if v := reflect.ValueOf(tp); tp == nil || v.Kind() == reflect.Pointer && v.IsNil() {
		return nil, errors.New("exectrace: no tracer provider: pass the provider of the program's spans")
	}
	if s == nil {
		return nil, errors.New("exectrace: no store: pass Profiling.Store of inprocess.Start")
	}
	r := &Recorder{
		config: c, tp: tp, store: s,
		slowness: slowness{threshold: c.threshold},
		budget:   newBudget(c.share, c.window),
		asks:     make(chan chan<- answer), stop: make(chan struct{}), done: make(chan struct{}),
	}
	if env.Off(c.optIn) {
		close(r.done)
		return r, nil
	}
	r.processor = processor{r}
	tp.RegisterSpanProcessor(r.processor) // before the trace: it shortens long names
	r.begin(time.Now())
	go r.run()
	return r, nil
}

// Status returns the state of the Recorder.
func (r *Recorder) Status() Status {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.status
}

// Shutdown turns the flight recorder off. It takes a second longer than ctx at most. Then the
// error is ErrForeignTrace if another execution trace is on, otherwise the error of ctx. The
// flight recorder is turned off later, and another call waits for that.
func (r *Recorder) Shutdown(ctx context.Context) error {
	r.once.Do(func() { close(r.stop) })
	defer r.reporter.Wait(ctx)
	select {
	case <-r.done:
		return nil
	case <-ctx.Done():
	}
	select {
	case <-r.done:
		return nil
	case <-time.After(shutdownGrace):
	}
	if err := r.Status().Err; errors.Is(err, ErrForeignTrace) {
		return err
	}
	return fmt.Errorf("exectrace: the flight recorder is still on: %w", context.Cause(ctx))
}

// run does all work except the processor's. It clears the labels of the goroutine that called
// Start.
func (r *Recorder) run() {
	defer close(r.done)
	goruntime.ClearLabels()
	for {
		timer := time.NewTimer(time.Until(r.next))
		select {
		case <-r.stop:
			timer.Stop()
			r.end()
			r.tp.UnregisterSpanProcessor(r.processor)
			return
		case to := <-r.asks:
			to <- r.answer(time.Now())
		case <-timer.C:
			r.step(time.Now())
		}
		timer.Stop()
	}
}

// step does what is due, and sets the time of the next step.
func (r *Recorder) step(now time.Time) {
	switch {
	case r.cause == nil && r.flight.interrupted():
		r.count(failures, 1)
		r.pause(now, errForeignStop, 0)
	case r.cause == nil:
		r.look(now)
	case r.flight.on(): // because of another trace
		r.pause(now, r.cause, max(r.Status().Until.Sub(now), 0))
	default:
		r.begin(now)
	}
}

// set sets the status.
func (r *Recorder) set(recording bool, err error, until time.Time) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.status = Status{Recording: recording, Err: err, Until: until}
}

// begin turns the flight recorder on.
func (r *Recorder) begin(now time.Time) {
	err := r.flight.start(rtrace.FlightRecorderConfig{MinAge: r.config.window, MaxBytes: uint64(r.config.maxBytes())})
	if err != nil {
		if !errors.Is(r.cause, errSecondRecorder) {
			r.reporter.Report(err)
		}
		r.cause, r.next = err, now.Add(retryAfter)
		r.set(false, err, r.next)
		return
	}
	r.budget.begin(now)
	r.cause, r.next = nil, now.Add(leastLook)
	r.set(true, nil, time.Time{})
	r.inbox.open(true)
}

// pause turns the flight recorder off for a time, and drops the slow spans that wait.
func (r *Recorder) pause(now time.Time, err error, length time.Duration) {
	if r.cause == nil {
		r.count(unrecorded, r.inbox.open(false))
		r.reporter.Report(err)
	}
	until := now.Add(length)
	r.cause, r.next = err, until
	if !r.flight.stop() {
		err, r.next = fmt.Errorf("%w; %w", err, ErrForeignTrace), now.Add(retryAfter)
	}
	r.set(false, err, until)
}

// failed pauses after a failed reading.
func (r *Recorder) failed(now time.Time, err error) {
	pause := time.Duration(0)
	if errors.Is(err, timeline.ErrFormat) {
		pause = longPause // until the program is built with another Go
	}
	r.count(failures, 1)
	r.pause(now, err, pause)
}

// end turns the flight recorder off for good.
func (r *Recorder) end() {
	r.count(unrecorded, r.inbox.open(false))
	for !r.flight.stop() {
		r.set(false, ErrForeignTrace, time.Time{})
		<-time.After(10 * time.Millisecond)
	}
	r.set(false, nil, time.Time{})
}

// look pays for the recording since the last look, and reads it if a reading is due. It
// pauses if there would be no money for the next reading.
func (r *Recorder) look(now time.Time) {
	since, waits := r.inbox.waits(r.config.window)
	due := waits && !now.Before(r.nextRead) && now.Sub(since) >= gather
	until := now.Add(-edge) // later spans may lack their end
	data := recording{most: r.config.maxBytes(), keep: due}
	err := r.flight.write(&data)
	now = time.Now() // the runtime may take long
	goroutines := runtime.NumGoroutine()
	r.next = now.Add(r.budget.nextLook(goroutines))
	if err != nil {
		r.count(failures, 1)
		r.pause(now, err, retryAfter)
		return
	}
	r.budget.look(now, data.n, goroutines)
	lasts := data.n <= data.most && r.budget.lasts(r.nextRead.Sub(now))
	if waits && !due && !lasts { // the last moment
		data = recording{most: data.most, keep: true}
		due = r.flight.write(&data) == nil
	}
	if due && data.n <= data.most && r.budget.pay(now, r.budget.readCost(), 0) {
		if r.flight.interrupted() {
			r.next = now
			return
		}
		r.nextRead = now.Add(readApart)
		err := r.read(&data.Buffer, until)
		now = time.Now()
		if err != nil {
			r.failed(now, err)
			return
		}
		r.budget.useful = true
		lasts = r.budget.lasts(readApart) // the next reading, before recording goes on
	}
	if !lasts {
		pause := r.budget.pause(now)
		r.pause(now, fmt.Errorf("%w: it takes %.1f MB a second, about %.3g %% of a core: recording is off for %v",
			ErrBudget, r.budget.bytesPerSecond/1e6, 100*r.budget.cost, pause.Round(time.Second)), pause)
		return
	}
	r.set(true, nil, time.Time{})
}
