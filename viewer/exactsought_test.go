// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package viewer_test

import (
	"encoding/json"
	"net/http"
	"testing"
	"time"

	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"

	"github.com/spanprof/spanprof/viewer"
	"github.com/spanprof/spanprof/viewer/internal/answer"
)

// Exact times of a name are found behind many slower spans that have none.
func TestExactTimesBehindSlowerSpans(t *testing.T) {
	s, root, _ := newTimedFamily(t)
	tracer := sdktrace.NewTracerProvider(sdktrace.WithResource(shop), sdktrace.WithSpanProcessor(s.SpanProcessor())).Tracer("test")
	for range 300 {
		_, span := tracer.Start(t.Context(), "GET /", trace.WithTimestamp(epoch))
		span.End(trace.WithTimestamp(epoch.Add(2 * time.Second)))
	}
	if err := s.AddExactTimes(root, json.RawMessage(exactTimes)); err != nil {
		t.Fatal(err)
	}
	var a answer.Profile
	getJSON(t, viewer.Handler(s), target("/", "query", `.cpu{span_name="GET /"}`, "format", "json"), http.StatusOK, &a)
	if a.ExactByName == nil || a.ExactByName.Spans != 1 {
		t.Errorf("exact times by name: %+v, want those of one span", a.ExactByName)
	}
}
