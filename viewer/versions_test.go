// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package viewer_test

import (
	"net/http"
	"testing"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/sdk/resource"

	"github.com/spanprof/spanprof/exporter"
	"github.com/spanprof/spanprof/store"
	"github.com/spanprof/spanprof/viewer"
	"github.com/spanprof/spanprof/viewer/internal/answer"
)

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
		window := exporter.Window{
			Kind: exporter.KindCPU, Start: epoch.Add(time.Duration(i) * 10 * time.Second), Duration: 10 * time.Second,
			Resource: resource.NewSchemaless(attribute.String("service.name", of[0]), attribute.String("service.version", of[1])),
		}
		if err := s.Export(t.Context(), exporter.NewParsedProfile(window, b.profile)); err != nil {
			t.Fatal(err)
		}
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
