// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package spanprof

import (
	"context"
	"runtime/pprof"
	rtrace "runtime/trace"
	"unsafe" // an id as a string, without a copy

	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"

	"github.com/spanprof/spanprof/internal/goruntime"
)

// The SDK makes a task of package runtime/trace of each recording span while an execution
// trace is on: its start, end, parent and name are in the trace, its id is not. Module
// exectrace finds a local root's id by a log message of one of these categories: its 8 bytes.
const (
	// traceMarkSpan is for messages in the span's task.
	traceMarkSpan = "spanprof.span"
	// traceMarkNext is for messages just before the span's task begins on the same
	// goroutine: the SDK calls span processors before.
	traceMarkNext = "spanprof.next"
)

// markTrace writes the id of s, a local root whose labels the goroutine carries now, into the
// execution trace, if one is on. ctx is the context that the SDK returned for span.
func (s *spanState) markTrace(ctx context.Context, span trace.Span) {
	if rtrace.IsEnabled() {
		s.writeTraceMark(ctx, span)
	}
}

func (s *spanState) writeTraceMark(ctx context.Context, span trace.Span) {
	_, hasTask := span.(sdktrace.ReadOnlySpan) // otherwise the one in ctx is another span's
	if hasTask {
		category := traceMarkSpan
		if s.byProcessor {
			category = traceMarkNext
		}
		// The runtime copies the message. A string that is made of the id would be allocated.
		rtrace.Log(ctx, category, unsafe.String(&s.labelID[0], len(s.labelID)))
	}
	switch {
	case !s.profiled:
		logLabel("")
	case !hasTask:
		logLabel(s.by.labeler.profileID(s))
	}
}

// logLabel writes what the goroutine carries now. The mark is part of no task.
func logLabel(id string) { rtrace.Log(context.Background(), goruntime.TraceMarkLabel, id) }

// putLabels makes labels what the goroutine carries instead of found, and marks that in the
// execution trace, if one is on and the span is another. The labels are put first: a trace
// that begins in between has them unknown, not wrong.
func putLabels(found, labels *labelMap) {
	goruntime.SetLabels(labels)
	if rtrace.IsEnabled() {
		if id := spanIDOf(labels); id != spanIDOf(found) {
			logLabel(id)
		}
	}
}

// putPublic is putLabels by the public API, for the labels of ctx. It cannot tell what the
// goroutine carried.
func putPublic(ctx context.Context) {
	pprof.SetGoroutineLabels(ctx)
	if rtrace.IsEnabled() {
		logLabel(labelIn(ctx, LabelSpanID))
	}
}

// crashesTrace reports whether the process would die of a span with this name.
func crashesTrace(name string) bool {
	return goruntime.LongTaskNamesCrash && len(name) > goruntime.MaxTaskName && rtrace.IsEnabled()
}

// startLongName is Start for a name that crashesTrace. The sampler and the processors see
// the beginning of the name, the span has all of it again before it is returned.
func (t *tracer) startLongName(ctx context.Context, name string, options []trace.SpanStartOption) (context.Context, trace.Span) {
	ctx, span := t.Start(ctx, goruntime.CutTaskName(name), options...)
	span.SetName(name)
	return ctx, span
}
