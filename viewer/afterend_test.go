// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package viewer_test

import (
	"strings"
	"testing"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/trace"

	"github.com/spanprof/spanprof/exporter"
	"github.com/spanprof/spanprof/store"
	"github.com/spanprof/spanprof/viewer"
)

// newPair returns a store with a span of a second and its child. Both have samples, and the
// child has samples after its end.
func newPair(t *testing.T) (s *store.Store, root, child string) {
	t.Helper()
	s = newStore(t)
	tracer := newTracer(s, shop)
	at := func(d time.Duration) trace.SpanEventOption { return trace.WithTimestamp(epoch.Add(d)) }
	ctx, first := tracer.Start(t.Context(), "GET /", at(0))
	_, second := tracer.Start(ctx, "query", at(500*time.Millisecond))
	second.SetAttributes(attribute.String("pyroscope.profile.id", "x"), attribute.String("db.query.text", "SELECT")) // As spans with labels of their own have it.
	second.End(at(700 * time.Millisecond))
	first.End(at(time.Second))
	root, child = first.SpanContext().SpanID().String(), second.SpanContext().SpanID().String()

	b := newProfileBuilder()
	b.add(3, map[string][]string{"profile_id": {root}, "span_id": {root}, "span_name": {"GET /"}}, "main.first", "main.serve")
	b.add(1, map[string][]string{"profile_id": {child}, "span_id": {child}, "span_name": {"query"}}, "main.query", "main.serve")
	b.add(30, map[string][]string{"ended_span_id": {child}}, "main.later")
	window := exporter.Window{Kind: exporter.KindCPU, Start: epoch, Duration: time.Second, Resource: shop}
	if err := s.Export(t.Context(), exporter.NewParsedProfile(window, b.profile)); err != nil {
		t.Fatal(err)
	}
	return s, root, child
}

func TestAfterEnd(t *testing.T) {
	s, root, child := newPair(t)
	h := viewer.Handler(s)
	a := profileOf(t, h, byID(root))
	if a.Span.CPUAfterEnd != 0 {
		t.Errorf("after the end of the root: %v", a.Span.CPUAfterEnd)
	}

	a = profileOf(t, h, byID(child))
	query := `shop.cpu{ended_span_id="` + child + `"}`
	if a.Span.CPUAfterEnd != 300e6 || a.Total != 1e7 || a.Span.CPU != 1e7 {
		t.Fatalf("total %d, span %+v", a.Total, a.Span)
	}
	text := get(t, h, target("/", "query", byID(child), "format", "text")).Body.String()
	if want := "         db.query.text=SELECT\nafter    cpu 300 ms in 30 samples, in goroutines that it had started\n         " + query; !strings.Contains(text, want) {
		t.Errorf("no %q in\n%s", want, text)
	}
	list := listOf(t, h)
	for _, span := range list.Spans {
		if (span.CPUAfterEnd > 0) != (span.ProfileID == child) {
			t.Errorf("in the list: %+v", span)
		}
	}

	// What it caused after its end has a page of its own.
	a = profileOf(t, h, query)
	if a.Total != 300e6 || a.Samples != 30 || a.Title != "After the end of query" || a.Baseline != nil || !strings.Contains(a.Note, "in no other number of the span") {
		t.Errorf("%d in %d samples, title %q, baseline %+v, note %q", a.Total, a.Samples, a.Title, a.Baseline, a.Note)
	}
}
