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
	"github.com/spanprof/spanprof/store"
	"github.com/spanprof/spanprof/viewer"
	"github.com/spanprof/spanprof/viewer/internal/answer"
)

// exportVersion exports a window of a version, as so many others are before it.
func exportVersion(t *testing.T, s *store.Store, before int, service, version string, b *profileBuilder) {
	t.Helper()
	res := resource.NewSchemaless(attribute.String("service.name", service), attribute.String("service.version", version))
	exportAt(t, s, 10*before, res, exporter.KindCPU, b.profile)
}

func TestTimeline(t *testing.T) {
	s := newStore(t)
	for i, version := range []string{"1.0", "1.0", "1.1"} {
		b := newProfileBuilder()
		b.add(int64(10*(i+1)), labels(slowID, "GET /search"), "main.search", "main.serve")
		b.add(5, labels(fastID, "GET /cheap"), "main.cheap", "main.serve")
		b.add(1, nil, "runtime.gcBgMarkWorker")
		exportVersion(t, s, i, "shop", version, b)
	}
	h := viewer.Handler(s)
	var got answer.Timeline
	getJSON(t, h, target("/timeline", "query", ".cpu"), http.StatusOK, &got)
	want := answer.Timeline{
		Query: ".cpu{}", Measure: "CPU time", Unit: termtext.Nanoseconds,
		Names: []string{"GET /search", "GET /cheap"},
		Buckets: []answer.Bucket{
			{Start: epoch, DurationNs: 1e10, Values: []int64{1e8, 5e7}, Rest: 1e7},
			{Start: epoch.Add(10 * time.Second), DurationNs: 1e10, Values: []int64{2e8, 5e7}, Rest: 1e7},
			{Start: epoch.Add(20 * time.Second), DurationNs: 1e10, Values: []int64{3e8, 5e7}, Rest: 1e7},
		},
		Versions: &answer.Versions{
			Title: "Version 1.1 against 1.0",
			Left:  `.cpu{service_name="shop",service_version="1.0"}`, Right: `.cpu{service_name="shop",service_version="1.1"}`,
		},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}

	// Two versions are two sides of a comparison, and so are two ranges.
	for name, address := range map[string]string{
		"versions": target("/comparison-diff", "leftQuery", want.Versions.Left, "rightQuery", want.Versions.Right, "format", "json"),
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

func versions(t *testing.T, s store.Source, query string) *answer.Versions {
	t.Helper()
	var line answer.Timeline
	getJSON(t, viewer.Handler(s), target("/timeline", "query", query), http.StatusOK, &line)
	return line.Versions
}

// The newest version of a service is compared with the version before.
func TestVersionsOfConditionsOnServices(t *testing.T) {
	s := newStore(t)
	for i, of := range [][2]string{{"cart", "v1"}, {"cart", "v1"}, {"cart", "v2"}, {"shop", "v3"}} {
		b := newProfileBuilder()
		b.add(int64(i+1), labels(slowID, "GET /search"), "main.search")
		exportVersion(t, s, i, of[0], of[1], b)
	}
	for query, want := range map[string]string{
		`.cpu{service_name="cart"}`: `.cpu{service_name="cart",service_version="v2"}`,
		`cart.cpu`:                  `cart.cpu{service_name="cart",service_version="v2"}`,
		`.cpu{service_name=~"ca.*",service_version=~"v.",span_name="GET /search"}`: `.cpu{span_name="GET /search",service_name="cart",service_version="v2"}`,
	} {
		v := versions(t, s, query)
		if v == nil || v.Title != "Version v2 against v1" || v.Right != want {
			t.Errorf("%s: %+v", query, v)
			continue
		}
		var c answer.Comparison
		getJSON(t, viewer.Handler(s), target("/comparison-diff", "format", "json", "leftQuery", v.Left, "rightQuery", v.Right), http.StatusOK, &c)
		if c.Left.Samples != 3 || c.Right.Samples != 3 {
			t.Errorf("%s: %d samples and %d", query, c.Left.Samples, c.Right.Samples)
		}
	}
	if v := versions(t, s, `.cpu{service_version="v1"}`); v != nil {
		t.Errorf("one version is compared with another: %+v", v)
	}
}
