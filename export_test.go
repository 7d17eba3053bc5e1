// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package spanprof

import (
	"unsafe"

	sdktrace "go.opentelemetry.io/otel/sdk/trace"

	"github.com/spanprof/spanprof/internal/goruntime"
)

// SpanStateSize is what a span takes beside its labels and what the SDK keeps.
const SpanStateSize = unsafe.Sizeof(spanState{})

// LabelBlockSize is what the labels of a span take.
const LabelBlockSize = unsafe.Sizeof(labelBlock{})

// ReadsGoroutineLabels reports whether the labels of goroutines can be read.
func ReadsGoroutineLabels() bool { return goruntime.Unknown() == nil }

// WithUnknownRuntime makes err the result of the check of the runtime.
func WithUnknownRuntime(err error) Option {
	return optionFunc(func(c *config) { c.unknownRuntime = func() error { return err } })
}

// EndsElsewhere returns how many spans ended on another goroutine than the labelled one. of
// is a TracerProvider or a processor of NewSpanProcessor.
func EndsElsewhere(of any) uint64 {
	if tp, ok := of.(*TracerProvider); ok {
		return tp.labelling.endsElsewhere.Load()
	}
	return of.(*spanProcessor).labelling.endsElsewhere.Load()
}

// Unlabelled returns how many spans a processor has not labelled, as too many were open.
func Unlabelled(processor sdktrace.SpanProcessor) uint64 {
	return processor.(*spanProcessor).unlabelled.Load()
}
