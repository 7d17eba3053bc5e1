// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package spanprof_test

import (
	"bytes"
	"context"
	"io"
	rtrace "runtime/trace"
	"strings"
	"testing"

	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"go.opentelemetry.io/otel/trace"

	"github.com/spanprof/spanprof"
	"github.com/spanprof/spanprof/internal/loudskip"
)

// tracing runs f while an execution trace is written to w.
func tracing(t *testing.T, w io.Writer, f func()) {
	t.Helper()
	if err := rtrace.Start(w); err != nil {
		loudskip.Test(t, "go test -trace has an execution trace on already: "+err.Error())
	}
	defer rtrace.Stop()
	f()
}

// Local roots have their id in an execution trace, by the wrapper and by the processor.
// Children have not: they are below their parent's task.
func TestMarksLocalRoots(t *testing.T) {
	for _, test := range []struct {
		name, category string
		provider       trace.TracerProvider
	}{
		{"wrapper", "spanprof.span", spanprof.NewTracerProvider(sdktrace.NewTracerProvider())},
		{"processor", "spanprof.next", sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(spanprof.NewSpanProcessor()))},
	} {
		t.Run(test.name, func(t *testing.T) {
			var log bytes.Buffer
			var root, child trace.SpanID
			tracing(t, &log, func() {
				ctx, r := test.provider.Tracer("test").Start(context.Background(), "root")
				_, c := test.provider.Tracer("test").Start(ctx, "child")
				root, child = r.SpanContext().SpanID(), c.SpanContext().SpanID()
				c.End()
				r.End()
			})
			if !bytes.Contains(log.Bytes(), []byte(test.category)) || !bytes.Contains(log.Bytes(), root[:]) {
				t.Errorf("the trace has no mark %q with id %v", test.category, root)
			}
			if !bytes.Contains(log.Bytes(), []byte("spanprof.label")) {
				t.Error("the trace does not tell when the root's labels are off the goroutine")
			}
			if bytes.Contains(log.Bytes(), child[:]) {
				t.Errorf("the trace has the id %v of a child", child)
			}
		})
	}
}

// The mark of a span takes no memory beside the trace's own.
func TestMarkAllocatesNothing(t *testing.T) {
	if spanprof.RaceEnabled() || !spanprof.ReadsGoroutineLabels() {
		t.Skip("the race detector and the public API allocate")
	}
	bare := sdktrace.NewTracerProvider()
	tracing(t, io.Discard, func() {
		with := spanAllocations(spanprof.NewTracerProvider(bare, spanprof.WithoutProfileIDAttribute()), false)
		without := spanAllocations(bare, false)
		most := 2.0 // as with no trace: TestAllocations
		if with-without > most {
			t.Errorf("%v allocations above the SDK's %v while a trace is on, want at most %v", with-without, without, most)
		}
	})
}

// Go before 1.27 dies of the long name of a task: this test would not end.
func TestLongNamesInExecutionTraces(t *testing.T) {
	name := strings.Repeat("é", 1<<19)
	recorder := tracetest.NewSpanRecorder()
	processor := sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(spanprof.NewSpanProcessor()))
	wrapper := spanprof.NewTracerProvider(sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(recorder)))
	for _, provider := range []trace.TracerProvider{wrapper, processor} {
		tracing(t, io.Discard, func() {
			ctx, root := provider.Tracer("test").Start(context.Background(), name)
			if got := root.(sdktrace.ReadOnlySpan).Name(); got != name && provider != processor {
				t.Errorf("Start returns a span with a name of %d bytes, want %d", len(got), len(name))
			}
			_, child := provider.Tracer("test").Start(ctx, name)
			child.End()
			root.End()
		})
	}
	for _, s := range recorder.Ended() {
		if s.Name() != name {
			t.Errorf("a span ended with a name of %d bytes, want %d", len(s.Name()), len(name))
		}
	}
}
