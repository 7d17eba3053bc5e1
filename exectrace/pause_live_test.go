// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

//go:build live

package exectrace_test

import (
	"context"
	"errors"
	rtrace "runtime/trace"
	"strings"
	"sync"
	"testing"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/metric/noop"

	"github.com/spanprof/spanprof/exectrace"
)

// flood writes megabytes into the execution trace, until the test ends. However slow the
// machine is, 2 MB come within a window, and not more than its reader keeps up with: the
// runtime holds what is not read without a bound.
func flood(t *testing.T) {
	t.Helper()
	stop, done := make(chan struct{}), make(chan struct{})
	message := strings.Repeat("m", 1000)
	go func() {
		defer close(done)
		for {
			for range 2000 {
				rtrace.Log(context.Background(), "flood", message)
			}
			select {
			case <-time.After(400 * time.Millisecond):
			case <-stop:
				return
			}
		}
	}()
	t.Cleanup(func() {
		close(stop)
		<-done
	})
}

// Where the trace costs more than is allowed, or takes more bytes, nothing is recorded for a
// time.
func TestPause(t *testing.T) {
	for _, test := range []struct {
		name    string
		options []exectrace.Option
		bytes   bool
	}{
		{"for the budget", []exectrace.Option{exectrace.WithBudget(0.0001)}, false},
		{"for the bytes", []exectrace.Option{exectrace.WithBudget(1), exectrace.WithMaxBytes(1 << 20)}, true},
	} {
		t.Run(test.name, func(t *testing.T) {
			m := &meterProvider{sums: map[string]int64{}}
			r := record(t, append(test.options, exectrace.WithThreshold(slow), exectrace.WithWindow(time.Minute), exectrace.WithMeterProvider(m))...)
			flood(t)
			r.until(t, "a pause", func() bool { return r.counter(t, "pauses for the budget") == 1 })
			r.until(t, "the end of the trace", func() bool { return !rtrace.IsEnabled() && r.Status().State != exectrace.Recording })
			got := r.Status()
			var err *exectrace.BudgetError
			if got.State != exectrace.Paused || !errors.As(got.Err, &err) || time.Until(got.Until) <= 0 || err.Pause <= 0 || err.BytesPerSecond <= 0 {
				t.Fatalf("status %+v, want a pause for a BudgetError", got)
			}
			if (err.MaxBytes > 0) != test.bytes || err.Error() == "" {
				t.Errorf("%v", err)
			}
			_, span := r.tracer.Start(t.Context(), "while it pauses")
			<-time.After(slow)
			span.End()
			if got := r.counter(t, "slow spans not recorded, or lost with the recording"); got != 1 {
				t.Errorf("%d slow spans that were not recorded, want 1", got)
			}
			m.mu.Lock()
			defer m.mu.Unlock()
			if m.sums["spanprof.exectrace.event pause"] != 1 || m.sums["spanprof.exectrace.span not_recording"] != 1 {
				t.Errorf("metrics: %v", m.sums)
			}
		})
	}
}

// While another execution trace keeps the recording from being stopped, it costs what it
// costs: the pause becomes longer by that.
func TestPauseBesideAForeignTrace(t *testing.T) {
	r := record(t, exectrace.WithBudget(0.0005), exectrace.WithWindow(time.Minute)) // a pause below an hour
	end := sync.OnceValue(foreign(t))
	t.Cleanup(func() { end() }) // before that of the recorder, whatever fails
	flood(t)
	r.until(t, "a pause", func() bool { return r.Status().State != exectrace.Recording })
	first := r.Status()
	why, ok := errors.AsType[*exectrace.BudgetError](first.Err)
	if !ok || !errors.Is(first.Err, exectrace.ErrForeignTrace) {
		t.Errorf("status %+v, want a BudgetError and ErrForeignTrace", first)
	}
	r.until(t, "a longer pause", func() bool { return r.Status().Until.After(first.Until) })
	if got := r.Status(); !errors.Is(got.Err, why) || !errors.Is(got.Err, exectrace.ErrForeignTrace) || !rtrace.IsEnabled() {
		t.Errorf("status %+v, want the errors %v", got, first.Err)
	}
	end()
	r.until(t, "the end of the trace", func() bool { return !rtrace.IsEnabled() })
	if got := r.counter(t, "pauses for the budget"); got != 1 {
		t.Errorf("%d pauses, want 1", got)
	}
}

// meterProvider adds up what its counters are given, by their names and attributes, so that
// the module does without the metrics SDK.
type meterProvider struct {
	noop.MeterProvider

	mu   sync.Mutex
	sums map[string]int64
}

func (p *meterProvider) Meter(string, ...metric.MeterOption) metric.Meter { return meter{provider: p} }

type meter struct {
	noop.Meter
	provider *meterProvider
}

func (m meter) Int64Counter(name string, _ ...metric.Int64CounterOption) (metric.Int64Counter, error) {
	return sum{provider: m.provider, name: name}, nil
}

type sum struct {
	noop.Int64Counter
	provider *meterProvider
	name     string
}

func (s sum) Add(_ context.Context, n int64, options ...metric.AddOption) {
	s.provider.mu.Lock()
	defer s.provider.mu.Unlock()
	set := metric.NewAddConfig(options).Attributes()
	for _, key := range []attribute.Key{"outcome", "event"} {
		if v, ok := set.Value(key); ok {
			s.provider.sums[s.name+" "+v.AsString()] += n
		}
	}
}
