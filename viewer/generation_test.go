// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package viewer_test

import (
	"net/http"
	"slices"
	"strings"
	"testing"

	sdktrace "go.opentelemetry.io/otel/sdk/trace"

	"github.com/spanprof/spanprof"
	"github.com/spanprof/spanprof/viewer"
	"github.com/spanprof/spanprof/viewer/internal/answer"
)

// An unchanged list is not sent again.
func TestUnchangedList(t *testing.T) {
	s := newTestStore(t)
	h := viewer.Handler(s, viewer.WithStatus(func() viewer.Status { return viewer.Status{Running: true} }))
	list := listOf(t, h)
	ask := func(pairs ...string) (got answer.Unchanged) {
		t.Helper()
		getJSON(t, h, target("/", append(pairs, "format", "json")...), http.StatusOK, &got)
		return got
	}
	if got := ask("since", list.Generation); !got.Unchanged || got.Generation != list.Generation || got.Status == nil {
		t.Errorf("got %+v, want nothing new since %s", got, list.Generation)
	}
	// A time before now may select other spans later.
	if ask("since", list.Generation, "from", "now-1h").Unchanged {
		t.Error("the spans of the last hour are unchanged after an hour")
	}
	// Other handlers may have other stores.
	var other answer.Unchanged
	getJSON(t, viewer.Handler(s), target("/", "format", "json", "since", list.Generation), http.StatusOK, &other)
	if other.Unchanged {
		t.Error("two handlers have the same generation")
	}

	endSpan(t, s, "GET /new", 0, 1)
	got := ask("since", list.Generation)
	if got.Unchanged || got.Generation == list.Generation {
		t.Errorf("after a span: %+v", got)
	}
	exportSecond(t, s, 10, newProfileBuilder())
	if after := ask("since", got.Generation); after.Unchanged {
		t.Errorf("after a profile: %+v", after)
	}

	// A span that runs is on the next list, and then its duration changes all the time.
	list = listOf(t, h)
	tp := spanprof.NewTracerProvider(sdktrace.NewTracerProvider(sdktrace.WithResource(shop), sdktrace.WithSpanProcessor(s.SpanProcessor())))
	_, span := tp.Tracer("test").Start(t.Context(), "nightly report")
	defer span.End()
	id := span.SpanContext().SpanID().String()
	after := listOf(t, h)
	if !slices.ContainsFunc(after.Spans, func(s answer.Span) bool { return s.ProfileID == id && s.Running && !s.Complete }) {
		t.Errorf("the list lacks the span that runs: %+v", after.Spans)
	}
	if text := get(t, h, "/?format=text").Body.String(); !strings.Contains(text, "nightly report [running]") {
		t.Errorf("the list is\n%s", text)
	}
	a := profileOf(t, h, byID(id))
	if !a.Waiting || !strings.Contains(a.Empty, "are not in yet") {
		t.Errorf("waiting %t, empty because %q", a.Waiting, a.Empty)
	}
	if got = ask("since", ask().Generation); got.Unchanged {
		t.Errorf("with a running span: %+v", got)
	}
}
