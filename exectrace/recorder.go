// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package exectrace

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	rtrace "runtime/trace"
	"sync"
	"time"

	sdktrace "go.opentelemetry.io/otel/sdk/trace"

	"github.com/spanprof/spanprof/internal/env"
	"github.com/spanprof/spanprof/internal/goruntime"
	"github.com/spanprof/spanprof/internal/report"
	"github.com/spanprof/spanprof/store"
)

const (
	// lookEvery is how often the recording's size is looked at, which is what it costs.
	lookEvery = time.Second
	// lookBefore is the time between a look at a recording's size and its reading, which
	// needs its growth. A reading is put off as long while the growth is too fast.
	lookBefore = 100 * time.Millisecond
	// retryAfter is how long to wait for another flight recorder.
	retryAfter = 2 * time.Second
	// stopEvery is how often to try to stop while another execution trace is on.
	stopEvery = 10 * time.Millisecond
	// shutdownGrace is how long Shutdown goes on after the end of its context, for what takes
	// a moment.
	shutdownGrace = time.Second
)

// TracerProvider is what Start needs of a tracer provider: the place to register a span
// processor. *spanprof.TracerProvider and *sdktrace.TracerProvider have it.
type TracerProvider interface {
	RegisterSpanProcessor(sdktrace.SpanProcessor)
	UnregisterSpanProcessor(sdktrace.SpanProcessor)
}

// State is what a Recorder does.
type State string

const (
	// Recording means that the flight recorder is on.
	Recording State = "recording"
	// Paused ends at Status.Until. The flight recorder is off then, unless
	// Status.Err is ErrForeignTrace too.
	Paused State = "paused"
	// Off is Paused after pauses again and again before there was a window of recording:
	// they become longer, up to an hour.
	Off State = "off"
	// Stopped is the state after Shutdown, and where the environment switches everything off.
	// The flight recorder is off, unless Status.Err is ErrForeignTrace.
	Stopped State = "stopped"
)

// Status is what a Recorder does, and why.
type Status struct {
	State State
	// Err is why it does not record, for errors.Is and errors.As: a *BudgetError, a *ParseError,
	// a *FormatError, ErrSecondRecorder or ErrForeignStop. It is ErrForeignTrace, too or alone,
	// while another execution trace keeps the flight recorder on. While the Recorder records it
	// is nil.
	Err   error
	Until time.Time // of a pause
	// BytesPerSecond of execution trace, and the Share of a core that they are reckoned
	// to cost, at the last look.
	BytesPerSecond int64
	Share          float64
}

// Recorder has the exact times of slow spans, out of the flight recorder of the process, in
// a store. It is safe for concurrent use.
type Recorder struct {
	config    recorderConfig
	tp        TracerProvider
	processor processor
	store     *store.Store
	slowness  slowness
	pending   pending
	accounts  *accounts
	reporter  report.Reporter
	steps     clockSteps

	wake    chan struct{}
	asks    chan ask      // for the recording
	stop    chan struct{} // closed when Shutdown is called
	foreign chan struct{} // closed when another execution trace keeps end from stopping
	done    chan struct{} // closed when run has ended
	once    sync.Once

	mu     sync.Mutex
	status Status

	// What follows belongs to run.

	flight flight
	budget *budget
	last   time.Time // of the last look
	look   time.Time // of the next one
	resume time.Time // of the end of a pause
	why    error     // of a pause; nil while it records

	underway  *underway // nil while nothing is read
	readAfter time.Time // before which nothing is read
}

// Start turns the process's flight recorder on. When a slow local root of tp ends, it reads
// the recording. The span's times by state go to s. Spans have their ids in the recording where spanprof.NewTracerProvider or
// spanprof.NewSpanProcessor are on their way.
//
// Where the environment has OTEL_SDK_DISABLED=true or SPANPROF_DISABLED=true nothing is
// recorded. The error names an option that is wrong, or what is missing.
func Start(tp TracerProvider, s *store.Store, options ...Option) (*Recorder, error) {
	c, err := newRecorderConfig(options)
	if err != nil {
		return nil, err
	}
	if v := reflect.ValueOf(tp); tp == nil || v.Kind() == reflect.Pointer && v.IsNil() {
		return nil, errors.New("exectrace: no tracer provider: give it the provider of the program's spans")
	}
	if s == nil {
		return nil, errors.New("exectrace: no store: give it the store of inprocess.Start, by Profiling.Store")
	}
	r := &Recorder{
		config: c, tp: tp, store: s,
		slowness: slowness{threshold: c.threshold},
		pending:  pending{window: c.window, closed: true},
		budget:   newBudget(c.share, c.window),
		wake:     make(chan struct{}, 1), asks: make(chan ask), stop: make(chan struct{}), foreign: make(chan struct{}), done: make(chan struct{}),
		status: Status{State: Stopped},
	}
	if r.accounts, err = newAccounts(c.meterProvider); err != nil {
		return nil, err
	}
	if env.Off(c.optIn) {
		close(r.done)
		return r, nil
	}
	r.processor = processor{r}
	tp.RegisterSpanProcessor(r.processor) // first: it keeps long names out of the trace
	r.begin(time.Now())
	go r.run()
	return r, nil
}

// Status returns what the Recorder does now.
func (r *Recorder) Status() Status {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.status
}

// Shutdown turns the flight recorder off, by the end of ctx and a second more at most. While
// another execution trace is on, it waits for that one's end. If ctx ends first the error is
// ErrForeignTrace. It is ctx's error if the runtime does not answer, because the writer of
// the other trace has stopped. The flight recorder then stays on until it can be
// turned off, and another call waits for that. The error is ctx's, too, if the flight
// recorder is off and a recording is still being read.
func (r *Recorder) Shutdown(ctx context.Context) error {
	r.once.Do(func() { close(r.stop) })
	defer r.reporter.Wait(ctx)
	select {
	case <-r.done:
		return nil
	case <-ctx.Done():
	}
	for foreign, grace := r.foreign, time.After(shutdownGrace); ; {
		select {
		case <-r.done:
			return nil
		case <-foreign:
			if err := r.Status().Err; err != nil {
				return err
			}
			foreign = nil // that trace has ended
		case <-grace:
			switch got := r.Status(); {
			case got.State == Stopped && got.Err != nil:
				return got.Err
			case got.State == Stopped:
				return fmt.Errorf("exectrace: the flight recorder is off, and a recording is still being read: %w", context.Cause(ctx))
			}
			return fmt.Errorf("exectrace: the flight recorder is on for longer: the runtime does not answer, as when another execution trace is written to what takes no more: %w", context.Cause(ctx))
		}
	}
}

func (r *Recorder) count(c counter, n int) { r.accounts.count(c, n) }

// set sets the Recorder's state.
func (r *Recorder) set(state State, err error, until time.Time) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.status = Status{State: state, Err: err, Until: until, BytesPerSecond: r.budget.bytesPerSecond, Share: r.budget.lastShare}
}

// run does everything but the looks at spans that end. It begins with the labels of the
// goroutine that called Start.
func (r *Recorder) run() {
	defer close(r.done)
	goruntime.ClearLabels()
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		select {
		case <-r.stop:
			r.end()
			r.tp.UnregisterSpanProcessor(r.processor)
			return
		case <-r.wake:
		case to := <-r.asks:
			r.answer(to)
		case done := <-r.underway.outcome():
			r.hasRead(time.Now(), done)
		case <-timer.C:
		}
		timer.Reset(time.Until(r.step(time.Now())))
	}
}

// begin turns the flight recorder on.
func (r *Recorder) begin(now time.Time) {
	err := r.flight.start(rtrace.FlightRecorderConfig{MinAge: r.config.window, MaxBytes: uint64(r.config.maxBytes)})
	if err != nil {
		r.count(secondRecorders, 1)
		r.reporter.Report(err)
		r.resume, r.why = now.Add(retryAfter), err
		r.set(Paused, err, r.resume)
		return
	}
	r.budget.begin(now)
	r.last, r.look, r.why = now, now.Add(lookEvery), nil
	r.set(Recording, nil, time.Time{})
	r.pending.open()
}

// records reports whether slow spans are recorded.
func (r *Recorder) records() bool { return r.flight.on() && r.why == nil }

// halt turns the flight recorder off for a time, and drops the slow spans that wait.
func (r *Recorder) halt(now time.Time, err error, pause time.Duration) {
	r.count(unread(err), r.pending.close())
	r.reporter.Report(err)
	r.resume, r.why, r.look = now.Add(pause), err, now.Add(lookEvery)
	state := Paused
	if _, over := errors.AsType[*BudgetError](err); over && r.budget.hopeless() {
		state = Off
	}
	r.flight.stop() // step tries again
	r.setPause(state)
	r.pay(now)
}

// prolong has a pause last until a time at least.
func (r *Recorder) prolong(until time.Time) {
	if until.After(r.resume) {
		r.resume = until
	}
	r.setPause(r.Status().State)
}

// setPause sets a state of pause, and its cause.
func (r *Recorder) setPause(state State) {
	err := r.why
	if r.flight.on() {
		err = fmt.Errorf("%w; %w", err, ErrForeignTrace)
	}
	r.set(state, err, r.resume)
}

// end turns the flight recorder off for good.
func (r *Recorder) end() {
	r.count(notRecording, r.pending.close())
	r.tellOlder()
	if r.underway != nil {
		r.underway.abandon(errNotRecording)
		defer func() { <-r.underway.ended }()
	}
	if !r.flight.stop() {
		r.set(Stopped, ErrForeignTrace, time.Time{})
		close(r.foreign)
		for !r.flight.stop() {
			<-time.After(stopEvery)
		}
	}
	r.set(Stopped, nil, time.Time{})
}
