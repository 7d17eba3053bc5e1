// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package viewer_test

import (
	"net/http"
	"slices"
	"strings"
	"testing"

	"go.opentelemetry.io/otel/trace"

	"github.com/spanprof/spanprof/viewer"
	"github.com/spanprof/spanprof/viewer/internal/answer"
)

// listedIDs returns the ids of the spans of a list.
func listedIDs(t *testing.T, h http.Handler, params ...string) (ids []string) {
	t.Helper()
	var list answer.SpanList
	getJSON(t, h, target("/", append(params, "format", "json")...), http.StatusOK, &list)
	for _, s := range list.Spans {
		ids = append(ids, s.ProfileID)
	}
	return ids
}

func TestFilters(t *testing.T) {
	h := viewer.Handler(newTestStore(t))
	for _, test := range []struct {
		params []string
		want   []string
	}{
		{[]string{"filter", "SEARCH"}, []string{slowID, fastID, shortID}},
		{[]string{"filter", "search", "min", "1ms"}, []string{slowID, fastID}},
		{[]string{"error", "true"}, []string{evilID}},
		{[]string{"error", "false", "name", "GET /late"}, []string{openID}},
		{[]string{"trace", "010000000000000000000000000000a2"}, []string{fastID}},
		{[]string{"service", "other"}, nil},
		{[]string{"min", "1ns", "from", "1793534404"}, []string{openID, evilID}},
		{[]string{"min", "1ns", "until", "1793534401"}, []string{slowID}},
	} {
		if got := listedIDs(t, h, append(test.params, "order", "slowest")...); !slices.Equal(got, test.want) {
			t.Errorf("%v: %v, want %v", test.params, got, test.want)
		}
	}
}

// Spans have a kind in lists where spans of their name have several.
func TestSpanKinds(t *testing.T) {
	s := newTestStore(t)
	tracer := newTracer(s, shop)
	for kind, name := range map[trace.SpanKind]string{trace.SpanKindClient: "GET", trace.SpanKindServer: "GET", trace.SpanKindProducer: "send"} {
		_, span := tracer.Start(t.Context(), name, trace.WithSpanKind(kind))
		span.End()
	}
	h := viewer.Handler(s)
	list := listOf(t, h)
	got := make(map[string]int)
	for _, s := range list.Spans {
		got[s.Name+" "+s.Kind]++
	}
	for of, n := range map[string]int{"GET client": 1, "GET server": 1, "send ": 1, "GET /search ": 3} {
		if got[of] != n {
			t.Errorf("%q: %d, want %d of %v", of, got[of], n, got)
		}
	}
	if text := get(t, h, "/?format=text").Body.String(); !strings.Contains(text, "GET [client]") || !strings.Contains(text, "GET [server]") {
		t.Error(text)
	}
}
