// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

//go:build live

package exectrace_test

import (
	"context"
	"encoding/json"
	rtrace "runtime/trace"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"

	"github.com/spanprof/spanprof"
	"github.com/spanprof/spanprof/exectrace"
	"github.com/spanprof/spanprof/internal/livetest"
	"github.com/spanprof/spanprof/store"
)

// slow is the threshold of slow spans.
const slow = 10 * time.Millisecond

// deadline bounds a test's wait for an event within seconds.
const deadline = livetest.Most

// recorded is a program with a recorder of its slow spans.
type recorded struct {
	*exectrace.Recorder
	store  *store.Store
	tracer trace.Tracer
}

// record starts a Recorder. The test fails where an execution trace is on: the runtime has
// one flight recorder.
func record(t *testing.T, options ...exectrace.Option) *recorded {
	t.Helper()
	s, err := store.New()
	if err != nil {
		t.Fatal(err)
	}
	tp := spanprof.NewTracerProvider(sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(s.SpanProcessor())))
	r := recordOf(t, tp, s, options...)
	r.tracer = tp.Tracer("test")
	return r
}

// recordOf starts a Recorder for a provider and a store.
func recordOf(t *testing.T, tp exectrace.TracerProvider, s *store.Store, options ...exectrace.Option) *recorded {
	t.Helper()
	r, err := exectrace.Start(tp, s, options...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := r.Shutdown(context.Background()); err != nil {
			t.Error(err)
		}
		if err := s.Shutdown(context.Background()); err != nil {
			t.Error(err)
		}
	})
	return &recorded{Recorder: r, store: s}
}

func (r *recorded) counter(t *testing.T, name string) uint64 {
	t.Helper()
	for got, n := range r.Counters() {
		if got == "exact times: "+name {
			return n
		}
	}
	t.Fatalf("there is no counter %q", name)
	return 0
}

// outcomes returns for how many slow spans it is known what became of them.
func (r *recorded) outcomes() (sum uint64) {
	for name, n := range r.Counters() {
		if strings.HasPrefix(name, "exact times: slow spans ") {
			sum += n
		}
	}
	return sum
}

// until waits until done returns true.
func (r *recorded) until(t *testing.T, what string, done func() bool) {
	t.Helper()
	timeout := time.After(deadline)
	for !done() {
		select {
		case <-timeout:
			for name, n := range r.Counters() {
				t.Logf("%s: %d", name, n)
			}
			t.Fatalf("%s did not happen; %+v", what, r.Status())
		case <-time.After(10 * time.Millisecond):
		}
	}
}

// spanTimes is the JSON of a span in the store.
type spanTimes struct {
	Start time.Time `json:"start"`
	exectrace.Span
	Omitted bool `json:"omitted"`
}

// times returns the exact times of a span, nil if there are none.
func (r *recorded) times(t *testing.T, span trace.Span) *spanTimes {
	t.Helper()
	v, err := r.store.View(t.Context(), time.Time{}, time.Time{})
	if err != nil {
		t.Fatal(err)
	}
	defer v.Close()
	list, err := v.Spans(store.SpanQuery{ID: span.SpanContext().SpanID().String(), Exact: true})
	if err != nil {
		t.Fatal(err)
	}
	if len(list.Spans) == 0 || list.Spans[0].ExactTimes == nil {
		return nil
	}
	data := list.Spans[0].ExactTimes
	var times spanTimes
	if err := json.Unmarshal(data, &times); err != nil {
		t.Fatal(err)
	}
	return &times
}

// waitForLock has a span wait for a mutex that another one holds.
func (r *recorded) waitForLock(t *testing.T) (waits, holds trace.Span) {
	t.Helper()
	var mu sync.Mutex
	held, done := make(chan struct{}), make(chan struct{})
	_, holds = r.tracer.Start(t.Context(), "refresh cache")
	go func() {
		defer close(done)
		mu.Lock()
		defer mu.Unlock()
		close(held)
		for timeout := time.Now().Add(deadline); !waitsInLock(t); time.Sleep(time.Millisecond) {
			if time.Now().After(timeout) {
				t.Error("nothing waits for the lock")
				return
			}
		}
		time.Sleep(2 * slow)
	}()
	<-held
	_, waits = r.tracer.Start(t.Context(), "GET /checkout")
	lock(&mu)
	waits.End()
	mu.Unlock()
	<-done
	holds.End()
	return waits, holds
}

//go:noinline
func lock(mu *sync.Mutex) { mu.Lock() }

// waitsInLock reports whether a goroutine is parked in function lock: it does not spin.
func waitsInLock(t *testing.T) bool {
	t.Helper()
	return slices.ContainsFunc(strings.Split(stacks(t), "\n\n"), func(goroutine string) bool {
		return strings.Contains(goroutine, "[sync.Mutex.Lock") && strings.Contains(goroutine, "exectrace_test.lock(")
	})
}

// The store gets the exact times of a slow span, with the span that held the lock. Shutdown has the
// runtime trace nothing more, and may be called again.
func TestRecorder(t *testing.T) {
	r := record(t, exectrace.WithThreshold(slow), exectrace.WithBudget(1))
	waits, holds := r.waitForLock(t)
	_, quick := r.tracer.Start(t.Context(), "quick", trace.WithTimestamp(time.Now()))
	quick.End(trace.WithTimestamp(time.Now().Add(time.Microsecond)))
	r.until(t, "exact times of two spans", func() bool {
		if r.times(t, waits) != nil && r.times(t, holds) != nil {
			return true
		}
		// The second may come a second after the first, and is too late then.
		if r.outcomes() == r.counter(t, "slow spans") {
			waits, holds = r.waitForLock(t)
		}
		return false
	})

	x := r.times(t, waits)
	if x.Name != "GET /checkout" || x.ID != waits.SpanContext().SpanID().String() || x.Omitted {
		t.Errorf("exact times %+v", x)
	}
	started := waits.(sdktrace.ReadOnlySpan).StartTime()
	if x.Start.Before(started.Add(-time.Minute)) || x.Start.After(started.Add(time.Minute)) {
		t.Errorf("it began at %v, by the trace at %v", started, x.Start)
	}
	i := slices.IndexFunc(x.Waits, func(w exectrace.Wait) bool { return w.State == "mutex" })
	if i < 0 || len(x.Waits[i].Blockers) == 0 {
		t.Fatalf("waits %+v, want one for a mutex", x.Waits)
	}
	if b := x.Waits[i].Blockers[0]; b.Span != "refresh cache" || b.SpanID != holds.SpanContext().SpanID().String() {
		t.Errorf("ended by %+v, want span refresh cache", b)
	}
	if r.times(t, quick) != nil {
		t.Error("a span below the threshold has exact times")
	}
	r.until(t, "an outcome of each slow span", func() bool { return r.outcomes() == r.counter(t, "slow spans") })
	if r.counter(t, "slow spans with exact times") < 2 || r.counter(t, "recordings read") == 0 {
		t.Errorf("%d spans with exact times, %d recordings read, want 2 and 1", r.counter(t, "slow spans with exact times"), r.counter(t, "recordings read"))
	}
	r.records(t)

	for range 2 {
		if err := r.Shutdown(t.Context()); err != nil {
			t.Error(err)
		}
	}
	if got := r.Status(); rtrace.IsEnabled() || got.Recording || got.Err != nil {
		t.Errorf("after Shutdown: got status %+v, a trace is on: %t", got, rtrace.IsEnabled())
	}
	before := r.counter(t, "slow spans")
	r.waitForLock(t)
	if got := r.counter(t, "slow spans"); got != before {
		t.Errorf("%d slow spans after Shutdown", got-before)
	}
}

// records waits until r records: it begins anew after a recording that the runtime wrote badly.
func (r *recorded) records(t *testing.T) {
	t.Helper()
	r.until(t, "a recording", func() bool {
		got := r.Status()
		if got.Recording && got.Err != nil {
			t.Fatalf("status %+v, want no error while it records", got)
		}
		return got.Recording
	})
}
