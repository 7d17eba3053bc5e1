// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

//go:build live

package exectrace

import (
	"testing"
	"time"

	sdktrace "go.opentelemetry.io/otel/sdk/trace"

	"github.com/spanprof/spanprof/store"
)

// It gets them while recording pauses, and when it ends, too: it needs no recording.
func TestOlderSpansWithoutRecording(t *testing.T) {
	for _, ends := range []bool{false, true} {
		now := time.Now()
		r := recordByHand(t, now)
		var err error
		if r.store, err = store.New(); err != nil {
			t.Fatal(err)
		}
		tracer := sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(r.store.SpanProcessor())).Tracer("test")
		_, span := tracer.Start(t.Context(), "older")
		span.End()
		r.pending.add(slowSpan{id: span.SpanContext().SpanID().String(), ended: now, duration: time.Minute})
		if ends {
			r.end()
		} else {
			r.halt(now, &BudgetError{}, leastPause)
			if now = r.next(); !now.Before(r.resume) {
				t.Error("nothing is due before the end of the pause")
			}
			r.step(now)
		}
		if got := r.accounts.values[olderThanWindow].Load(); got != 1 || timesOf(t, r.store, span.SpanContext().SpanID().String()) == nil {
			t.Errorf("recording ends: %t: counted %d times, want once, with the reason", ends, got)
		}
	}
}
