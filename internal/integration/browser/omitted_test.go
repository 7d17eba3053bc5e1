// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package browser

import (
	"errors"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"go.opentelemetry.io/otel/codes"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"

	"github.com/spanprof/spanprof/store"
	"github.com/spanprof/spanprof/viewer"
)

// TestOmittedException has a failed span with so many events that its exception is not among
// those that are looked at: the list, the page and the text say that something is left out.
// Where the exception is looked at, they show it and say nothing.
func TestOmittedException(t *testing.T) {
	s, err := store.New()
	if err != nil {
		t.Fatal(err)
	}
	limits := sdktrace.NewSpanLimits()
	limits.EventCountLimit = -1
	tracer := sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(s.SpanProcessor()), sdktrace.WithRawSpanLimits(limits)).Tracer("")
	server := httptest.NewServer(viewer.Handler(s))
	t.Cleanup(server.Close)
	b := newBrowser(t)
	const leftOut = "Some attributes are left out"
	for name, one := range map[string]struct {
		at      int
		omitted bool
	}{"hidden": {200, true}, "shown": {399, false}} {
		_, span := tracer.Start(t.Context(), name)
		for i := range 400 {
			if i == one.at || i == 0 && !one.omitted {
				span.RecordError(errors.New("connection refused"))
			} else {
				span.AddEvent("message")
			}
		}
		span.SetStatus(codes.Error, "declined")
		span.End()
		query := `.cpu{profile_id="` + span.SpanContext().SpanID().String() + `"}`
		page := server.URL + "/?view=details&query=" + url.QueryEscape(query)
		b.run("the list", navigate(server.URL+"/?name="+name), visible(`.spans tbody tr`))
		row := b.text(`.spans tbody tr`)
		b.run("its page", navigate(page), visible(`.status`))
		heading, attributes, text := b.text(`header.head`), b.text(`.described`), textOf(t, page)
		for place, got := range map[string]string{"the list": row, "the heading": heading, "the attributes": attributes, "the text": text} {
			said := strings.Contains(strings.ToLower(got), "left out")
			if said != one.omitted || strings.Contains(got, "connection refused") == one.omitted {
				t.Errorf("%s, %s: %q", name, place, got)
			}
		}
		if one.omitted && !strings.Contains(heading, leftOut) {
			t.Errorf("%s: the heading is %q", name, heading)
		}
	}
	b.check(server.URL + "/")
}
