// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package viewer_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/pprof/profile"

	"github.com/spanprof/spanprof/store"
	"github.com/spanprof/spanprof/viewer"
	"github.com/spanprof/spanprof/viewer/internal/answer"
)

// A pprof has ids only if the request has them. It always has the other labels.
func TestIDsInPprof(t *testing.T) {
	h := viewer.Handler(newTestStore(t))
	for _, test := range []struct {
		address string
		ids     bool
	}{
		{target("/", "query", ".cpu", "format", "pprof"), false},
		{target("/profile", "query", `.cpu{span_name="GET /search"}`), false},
		{target("/", "query", ".cpu", "format", "pprof", "labels", "ids"), true},
		{target("/", "query", byID(slowID), "format", "pprof"), true},
		{target("/", "query", `.cpu{trace_id!=""}`, "format", "pprof"), false},
		{target("/", "query", `.cpu{span_id=~".+"}`, "format", "pprof"), false},
		{target("/", "query", `.cpu{profile_id!~"none|other"}`, "format", "pprof"), false},
		{target("/", "query", `.cpu{profile_id=~"`+slowID+`|none"}`, "format", "pprof"), true},
		{target("/", "query", `.cpu{trace_id!=""}`, "format", "pprof", "labels", "ids"), true},
	} {
		w := get(t, h, test.address)
		p, err := profile.Parse(w.Body)
		if err != nil {
			t.Fatalf("GET %s: %v", test.address, err)
		}
		ids, names := 0, 0
		for _, s := range p.Sample {
			for _, label := range []string{"profile_id", "span_id", "trace_id"} {
				ids += len(s.Label[label])
			}
			names += len(s.Label["span_name"])
		}
		if (ids > 0) != test.ids || names == 0 {
			t.Errorf("GET %s: %d ids and %d names", test.address, ids, names)
		}
	}
}

// Tools divide the samples by the duration: the profile of a span lasts as long as the span.
func TestDurationInPprof(t *testing.T) {
	s := newTestStore(t)
	h := viewer.Handler(s)
	view, err := s.View(t.Context(), time.Time{}, time.Time{})
	if err != nil {
		t.Fatal(err)
	}
	defer view.Close()
	list, err := view.Spans(store.SpanQuery{ID: slowID})
	if err != nil {
		t.Fatal(err)
	}
	slow := list.Spans[0]
	for address, want := range map[string]struct {
		start    time.Time
		duration time.Duration
	}{
		target("/profile", "query", byID(slowID)):                    {slow.Start, 800 * time.Millisecond},
		target("/profile", "query", `.cpu{profile_id="nightly #7"}`): {epoch, 10 * time.Second}, // It is no span.
		target("/profile", "query", `.cpu{}`):                        {epoch, 10 * time.Second},
	} {
		p, err := profile.Parse(get(t, h, address).Body)
		if err != nil {
			t.Fatal(err)
		}
		if p.DurationNanos != want.duration.Nanoseconds() || p.TimeNanos != want.start.UnixNano() {
			t.Errorf("GET %s: %s from %s, want %s from %s", address, time.Duration(p.DurationNanos), time.Unix(0, p.TimeNanos).UTC(), want.duration, want.start)
		}
	}
}

// A pprof with the ids of a whole store would take gigabytes.
func TestTooManyIDsForPprof(t *testing.T) {
	s := newStore(t)
	b := newProfileBuilder()
	for i := range answer.MaxIDSamples + 1 {
		b.add(1, labels(fmt.Sprintf("%016x", i+1), "GET /search"), "main.search")
	}
	exportSecond(t, s, 0, b)
	h := viewer.Handler(s)
	for address, want := range map[string]int{
		target("/", "query", ".cpu", "format", "pprof", "labels", "ids"):               http.StatusBadRequest,
		target("/", "query", ".cpu", "format", "pprof"):                                http.StatusOK,
		target("/", "query", `.cpu{span_id!=""}`, "format", "pprof"):                   http.StatusOK,
		target("/", "query", byID("0000000000000007"), "format", "pprof"):              http.StatusOK,
		target("/", "query", ".cpu", "format", "folded", "labels", "ids"):              http.StatusOK,
		target("/", "query", ".cpu", "format", "pprof", "labels", "ids", "until", "1"): http.StatusOK,
	} {
		w := get(t, h, address)
		if w.Code != want {
			t.Errorf("GET %s: status %d, want %d", address, w.Code, want)
		}
		if want == http.StatusBadRequest && !strings.Contains(w.Body.String(), "50000 samples with ids: ask for fewer") {
			t.Errorf("GET %s: %s", address, w.Body)
		}
	}
}
