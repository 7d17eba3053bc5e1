// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package viewer_test

import (
	"net/http"
	"testing"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/sdk/resource"

	"github.com/google/go-cmp/cmp"

	"github.com/spanprof/spanprof/exporter"
	"github.com/spanprof/spanprof/internal/termtext"
	"github.com/spanprof/spanprof/viewer"
	"github.com/spanprof/spanprof/viewer/internal/answer"
	"github.com/spanprof/spanprof/viewer/internal/sums"
)

func TestTimeline(t *testing.T) {
	s := newStore(t)
	for i, version := range []string{"1.0", "1.0", "1.1"} {
		b := newProfileBuilder()
		b.add(int64(10*(i+1)), labels(slowID, "GET /search"), "main.search", "main.serve")
		b.add(5, labels(fastID, "GET /cheap"), "main.cheap", "main.serve")
		b.add(1, nil, "runtime.gcBgMarkWorker")
		window := exporter.Window{
			Kind: exporter.KindCPU, Start: epoch.Add(time.Duration(i) * 10 * time.Second), Duration: 10 * time.Second,
			Resource: resource.NewSchemaless(attribute.String("service.name", "shop"), attribute.String("service.version", version)),
		}
		if err := s.Export(t.Context(), exporter.NewParsedProfile(window, b.profile)); err != nil {
			t.Fatal(err)
		}
	}
	h := viewer.Handler(s)
	var got answer.Timeline
	getJSON(t, h, target("/timeline", "query", ".cpu"), http.StatusOK, &got)
	want := answer.Timeline{
		Query: ".cpu{}", Measure: "CPU time", Unit: termtext.Nanoseconds,
		Timeline: &sums.Timeline{Names: []string{"GET /search", "GET /cheap"}, Buckets: []sums.Bucket{
			{Start: epoch, DurationNs: 1e10, Values: []int64{1e8, 5e7}, Rest: 1e7},
			{Start: epoch.Add(10 * time.Second), DurationNs: 1e10, Values: []int64{2e8, 5e7}, Rest: 1e7},
			{Start: epoch.Add(20 * time.Second), DurationNs: 1e10, Values: []int64{3e8, 5e7}, Rest: 1e7},
		}},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}

	// Two versions are two sides of a comparison, and so are two ranges.
	for name, address := range map[string]string{
		"versions": target("/comparison-diff", "leftQuery", `.cpu{service_version="1.0"}`, "rightQuery", `.cpu{service_version="1.1"}`, "format", "json"),
		"ranges":   target("/comparison-diff", "query", ".cpu{}", "leftUntil", "1793534419998", "rightFrom", "1793534420001", "format", "json"),
	} {
		var c answer.Comparison
		getJSON(t, h, address, http.StatusOK, &c)
		if c.Left.Total != 42e7 || c.Right.Total != 36e7 {
			t.Errorf("%s: totals %d and %d", name, c.Left.Total, c.Right.Total)
		}
	}
}

func TestEmptyTimeline(t *testing.T) {
	h := viewer.Handler(newStore(t))
	var got answer.Timeline
	getJSON(t, h, target("/timeline", "query", ".cpu"), http.StatusOK, &got)
	if got.Buckets == nil || got.Names == nil || got.Unit != termtext.Nanoseconds {
		t.Errorf("got %+v", got)
	}
}
