// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package store_test

import (
	"testing"
)

// TestLookup finds spans that have ended and no others.
func TestLookup(t *testing.T) {
	s := newStore(t)
	_, span := newTracerProvider(s).Tracer("test").Start(t.Context(), "GET /search", at(1))
	if _, _, ok := s.Lookup(idOf(span)); ok {
		t.Error("a span is found that runs")
	}
	span.SetName("GET /search/{q}")
	span.End(at(2))
	if name, traceID, ok := s.Lookup(idOf(span)); name != "GET /search/{q}" || traceID != span.SpanContext().TraceID().String() || !ok {
		t.Errorf("got %q of the trace %q, %v", name, traceID, ok)
	}
	for _, id := range []string{"", "0000000000000000", "00f067aa0ba902b7", "no hex at all :-)"} {
		if _, _, ok := s.Lookup(id); ok {
			t.Errorf("%q is found", id)
		}
	}
}
