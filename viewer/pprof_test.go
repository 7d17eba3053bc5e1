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
		{target("/", "query", `.cpu{profile_id!="none",span_id=~"|`+slowID+`"}`, "format", "pprof"), false},
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
	h := viewer.Handler(newTestStore(t))
	start, span := epoch.Add(time.Second), "shop.cpu."+slowID
	for _, test := range []struct {
		address, name string
		start         time.Time
		duration      time.Duration
		total         int64
	}{
		{target("/profile", "query", byID(slowID)), span, start, 800 * time.Millisecond, 55e7},
		{target("/", "query", byID(slowID), "format", "pprof"), span, start, 800 * time.Millisecond, 55e7},
		// go tool pprof fetches it from a server without a path.
		{target("/debug/pprof/profile", "query", byID(slowID), "format", "pprof"), span, start, 800 * time.Millisecond, 55e7},
		{target("/profile", "query", `.cpu{profile_id="nightly #7"}`), "spanprof.cpu.nightly__7", epoch, 10 * time.Second, 7e7}, // It is no span.
		{target("/profile", "query", `.cpu{}`), "spanprof.cpu.all", epoch, 10 * time.Second, 77e7},
	} {
		w := get(t, h, test.address)
		if got, want := w.Header().Get("Content-Disposition"), `attachment; filename="`+test.name+`.pb.gz"`; got != want {
			t.Errorf("GET %s: disposition %s, want %s", test.address, got, want)
		}
		p, err := profile.Parse(w.Body)
		if err != nil {
			t.Fatal(err)
		}
		total := int64(0)
		for _, s := range p.Sample {
			total += s.Value[1]
		}
		if p.DurationNanos != test.duration.Nanoseconds() || p.TimeNanos != test.start.UnixNano() || total != test.total {
			t.Errorf("GET %s: %d in %s from %s, want %+v", test.address, total, time.Duration(p.DurationNanos), time.Unix(0, p.TimeNanos).UTC(), test)
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
