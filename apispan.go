// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package spanprof

import (
	"time"

	"go.opentelemetry.io/otel/trace"
)

// apiSpan is a span that is not a recording one of the SDK: of a provider of
// another make, or one that is not recorded and labelled all the same.
type apiSpan struct {
	trace.Span
	state spanState
	// start is set where the URLs of the span need it: the span does not tell.
	start time.Time
}

// End restores the goroutine's labels and ends the span.
func (s *apiSpan) End(options ...trace.SpanEndOption) {
	if s.state.ended.Load() || !s.IsRecording() {
		s.state.finish(s.Span)
		s.Span.End(options...)
		return
	}
	// recover works only here, in the function that is deferred.
	if r := recover(); r != nil {
		defer panic(r)
		s.state.finish(s.Span)
		endInPanic(s.Span, r, options)
		return
	}
	s.state.finish(s.Span)
	s.Span.End(options...)
}

// SetName renames the span, and its label with it.
func (s *apiSpan) SetName(name string) {
	s.Span.SetName(name)
	s.state.setName(name)
}

// TracerProvider returns the wrapping provider, so that spans which are made
// from this span are labelled too.
func (s *apiSpan) TracerProvider() trace.TracerProvider { return s.state.by.provider }
