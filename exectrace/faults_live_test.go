// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

//go:build live

package exectrace_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/pprof"
	rtrace "runtime/trace"
	"strings"
	"sync"
	"testing"
	"time"

	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"

	"github.com/spanprof/spanprof/exectrace"
	"github.com/spanprof/spanprof/store"
)

const slow = 10 * time.Millisecond

// works has a span wait for a lock until one has exact times: readings are 10 s apart.
func (r *recorded) works(t *testing.T) {
	t.Helper()
	before := r.counter(t, "spans with exact times")
	r.until(t, "another span with exact times", func() bool {
		r.waitForLock(t)
		return r.counter(t, "spans with exact times") > before
	})
}

// foreign turns an execution trace on that is not the recorder's, and returns how to end it
// and look at it, which returns false if the runtime wrote it badly.
func foreign(t *testing.T) (end func() bool) {
	t.Helper()
	var log bytes.Buffer
	timeout := time.After(deadline)
	for err := rtrace.Start(&log); err != nil; err = rtrace.Start(&log) {
		select { // while the recorder stops, it has a trace of its own on
		case <-timeout:
			t.Fatal(err)
		case <-time.After(time.Millisecond):
		}
	}
	return func() bool {
		t.Helper()
		if !rtrace.IsEnabled() {
			t.Error("the foreign trace has ended before its time")
		}
		_, last := begin("the last")
		last()
		rtrace.Stop()
		a := readable(t, log.Bytes(), exectrace.WithName("the last"))
		if a == nil {
			return false
		}
		if len(a.Spans) != 1 || a.Spans[0].Open {
			t.Error("the end of the foreign trace is missing")
		}
		return true
	}
}

// A foreign Stop ends the recording, and another one begins.
func TestForeignStop(t *testing.T) {
	r := record(t, exectrace.WithThreshold(slow), exectrace.WithBudget(1))
	rtrace.Stop()
	r.until(t, "a foreign stop that is counted", func() bool { return r.counter(t, "recordings ended by a foreign trace.Stop") == 1 })
	r.works(t)
	r.records(t)
	if got := r.counter(t, "recordings ended by a foreign trace.Stop"); got != 1 {
		t.Errorf("%d foreign stops, want 1", got)
	}
}

// A foreign Stop without a Start, and then a Start: the recording goes on in a foreign trace
// with a gap. No span gets times of it, and the foreign trace is not ended by ours.
func TestForeignStopAndStart(t *testing.T) { again(t, testForeignStopAndStart) }

func testForeignStopAndStart(t *testing.T) bool {
	// What is before the gap stays in the recording.
	r := record(t, exectrace.WithThreshold(slow), exectrace.WithBudget(1), exectrace.WithWindow(time.Minute))
	r.waitForLock(t)
	rtrace.Stop()
	end := foreign(t)
	if r.counter(t, "recordings read") > 0 {
		t.Log("the recorder has read a recording before the gap")
		end()
		return false
	}
	first, second := r.waitForLock(t)
	r.until(t, "a status with an error", func() bool {
		return r.Status().Err != nil || r.counter(t, "recordings ended by a foreign trace.Stop") > 0
	})
	// The recorder may have looked just between Stop and Start.
	if r.counter(t, "recordings ended by a foreign trace.Stop") == 0 {
		if r.times(t, first) != nil || r.times(t, second) != nil {
			t.Error("spans have times of a recording with a gap")
		}
		if r.counter(t, "slow spans") != r.outcomes() || r.counter(t, "recordings that are damaged") != 1 {
			t.Errorf("%d slow spans and %d in the other counters; %d damaged recordings, want 1", r.counter(t, "slow spans"), r.outcomes(), r.counter(t, "recordings that are damaged"))
		}
	}
	readable := end()
	r.works(t)
	return readable
}

// Shutdown does not end a foreign trace either, whatever it was before.
func TestShutdownBesideAForeignTrace(t *testing.T) {
	for _, test := range []struct {
		name  string
		stops bool
	}{{"beside", false}, {"after a foreign stop", true}} {
		t.Run(test.name, func(t *testing.T) {
			again(t, func(t *testing.T) bool { return testShutdownBesideAForeignTrace(t, test.stops) })
		})
	}
}

func testShutdownBesideAForeignTrace(t *testing.T, stops bool) bool {
	r := record(t)
	if stops {
		rtrace.Stop()
	}
	end := sync.OnceValue(foreign(t))
	t.Cleanup(func() { end() }) // before that of the recorder, whatever fails
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	var err error
	r.until(t, "an answer to Shutdown", func() bool { // it waits for a second, which may be too short on a busy machine
		err = r.Shutdown(ctx)
		return err == nil || errors.Is(err, exectrace.ErrForeignTrace)
	})
	if err == nil && r.counter(t, "recordings ended by a foreign trace.Stop") > 0 {
		t.Log("the recorder has seen that its recording was stopped, and was about to begin anew")
		end()
		return false
	}
	if !errors.Is(err, exectrace.ErrForeignTrace) {
		t.Errorf("error %v, want ErrForeignTrace", err)
	}
	readable := end()
	if err := r.Shutdown(t.Context()); err != nil {
		t.Error(err)
	}
	if rtrace.IsEnabled() {
		t.Error("a trace is on after Shutdown")
	}
	return readable
}

// Shutdown waits for the end of a foreign trace.
func TestShutdownAfterAForeignTrace(t *testing.T) { again(t, testShutdownAfterAForeignTrace) }

func testShutdownAfterAForeignTrace(t *testing.T) bool {
	r := record(t)
	end, done := foreign(t), make(chan error, 1)
	go func() { done <- r.Shutdown(context.Background()) }()
	r.until(t, "the state stopped", func() bool { return r.Status().State == exectrace.Stopped })
	readable := end()
	if err := <-done; err != nil || rtrace.IsEnabled() {
		t.Errorf("error %v; a trace is on: %t", err, rtrace.IsEnabled())
	}
	return readable
}

// /debug/pprof/trace and the recorder run at the same time.
func TestBesideDebugPprofTrace(t *testing.T) {
	r := record(t, exectrace.WithThreshold(slow), exectrace.WithBudget(1))
	server := httptest.NewServer(http.HandlerFunc(pprof.Trace))
	defer server.Close()
	client := server.Client()
	defer client.CloseIdleConnections()
	again(t, func(t *testing.T) bool {
		r.works(t)
		var recording []byte
		r.until(t, "the other trace", func() bool {
			response, err := client.Get(server.URL + "?seconds=1")
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = response.Body.Close() }()
			if recording, err = io.ReadAll(response.Body); err != nil {
				t.Fatal(err)
			}
			// While the recorder stops, it has a trace of its own on.
			if response.StatusCode == http.StatusInternalServerError && strings.Contains(string(recording), "already enabled") {
				return false
			}
			if response.StatusCode != http.StatusOK {
				t.Fatalf("the other trace: %s, %s", response.Status, recording)
			}
			return true
		})
		a := readable(t, recording)
		if a == nil {
			return false
		}
		if a.Duration < time.Second/2 {
			t.Errorf("the other trace has %v, want about a second", a.Duration)
		}
		r.works(t)
		return true
	})
}

// Beside another flight recorder there is none, and it is tried again.
func TestSecondRecorder(t *testing.T) { again(t, testSecondRecorder) }

func testSecondRecorder(t *testing.T) bool {
	other := rtrace.NewFlightRecorder(rtrace.FlightRecorderConfig{})
	if err := other.Start(); err != nil {
		t.Fatal(err)
	}
	defer other.Stop()
	r := record(t, exectrace.WithThreshold(slow), exectrace.WithBudget(1))
	if got := r.Status(); got.State != exectrace.Paused || !errors.Is(got.Err, exectrace.ErrSecondRecorder) {
		t.Errorf("status %+v, want a pause for ErrSecondRecorder", got)
	}
	r.waitForLock(t)
	if got := r.counter(t, "slow spans not recorded, or lost with the recording"); got == 0 {
		t.Error("slow spans are not counted")
	}
	var log bytes.Buffer
	if _, err := other.WriteTo(&log); err != nil {
		t.Fatal(err)
	}
	a := readable(t, log.Bytes())
	other.Stop()
	r.until(t, "a recording of its own", func() bool { return r.Status().State == exectrace.Recording })
	if got := r.counter(t, "starts refused for another flight recorder"); got == 0 {
		t.Error("no start that was refused is counted")
	}
	r.works(t)
	return a != nil
}

// The runtime of Go before 1.27 would die of the name of a span.
func TestLongNames(t *testing.T) {
	name := strings.Repeat("é", 1<<19)
	r := record(t, exectrace.WithThreshold(time.Nanosecond), exectrace.WithBudget(1))
	x := r.exact(t, func() trace.Span {
		_, span := r.tracer.Start(t.Context(), name)
		span.End()
		return span
	})
	if got := x.Name; got == "" || !strings.HasPrefix(name, got) {
		t.Errorf("the name in the trace has %d bytes", len(got))
	}
}

// Neither does a program whose provider is not wrapped.
func TestLongNamesOfTheSDK(t *testing.T) {
	s, err := store.New()
	if err != nil {
		t.Fatal(err)
	}
	tp := sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(s.SpanProcessor()))
	r := recordOf(t, tp, s, exectrace.WithThreshold(time.Nanosecond), exectrace.WithBudget(1))
	r.until(t, "a span that is not in the trace", func() bool {
		// It has no id in the trace: nobody but spanprof writes one.
		if r.counter(t, "slow spans that are not in the trace") > 0 {
			return true
		}
		if r.outcomes() == r.counter(t, "slow spans") {
			_, span := tp.Tracer("test").Start(t.Context(), strings.Repeat("n", 1<<20))
			span.End()
		}
		return false
	})
	if got := r.counter(t, "spans with exact times"); got != 0 {
		t.Errorf("%d spans have exact times", got)
	}
}

// Shutdown may come at any time, also while the recording is written.
func TestShutdownAtAnyTime(t *testing.T) {
	for i := range 20 {
		r := record(t, exectrace.WithThreshold(time.Nanosecond), exectrace.WithWindow(time.Second))
		stop := make(chan struct{})
		done := make(chan struct{})
		go func() {
			defer close(done)
			for {
				select {
				case <-stop:
					return
				default:
					// A bit longer than the window, by its own word: it is read at once.
					_, span := r.tracer.Start(context.Background(), "span", trace.WithTimestamp(time.Now().Add(-3*time.Second/2)))
					span.End()
				}
			}
		}()
		for range i {
			<-time.After(5 * time.Millisecond)
		}
		if err := r.Shutdown(t.Context()); err != nil {
			t.Error(err)
		}
		close(stop)
		<-done
		if got, sum := r.counter(t, "slow spans"), r.outcomes(); got != sum {
			t.Errorf("%d slow spans, and %d in the other counters", got, sum)
		}
	}
}
