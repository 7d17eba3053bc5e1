// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package viewer_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/sdk/resource"

	"github.com/spanprof/spanprof/exporter"
	"github.com/spanprof/spanprof/store"
	"github.com/spanprof/spanprof/viewer"
)

// The two sides of a comparison have one budget for their expressions; the questions of one
// page about the same expression cost once.
func TestPriceOfRequest(t *testing.T) {
	s, err := store.New()
	if err != nil {
		t.Fatal(err)
	}
	b := newProfileBuilder()
	for i := range 50_000 {
		b.add(1, labels(fmt.Sprintf("%016x", i+1), "GET /search"), "main.search", "main.serve")
	}
	export(t, s, resource.NewSchemaless(attribute.String("service.name", "shop")), exporter.KindCPU, b.profile)
	h := viewer.Handler(s)
	// Long, though nothing begins like that: 60 % of the budget each.
	one, other := `.cpu{span_id=~"x[0-9a-f]{60}"}`, `.cpu{span_id=~"y[0-9a-f]{60}"}`
	for _, test := range []struct {
		address string
		status  int
	}{
		{target("/", "query", one, "format", "json"), http.StatusOK},
		{target("/", "query", other, "format", "json"), http.StatusOK},
		{target("/", "query", one, "format", "pprof"), http.StatusOK},
		{target("/timeline", "query", one, "format", "json"), http.StatusOK},
		{target("/comparison", "leftQuery", one, "rightQuery", one, "format", "json"), http.StatusOK},
		{target("/comparison", "leftQuery", one, "rightQuery", ".cpu", "format", "json"), http.StatusOK},
		{target("/comparison", "leftQuery", one, "rightQuery", other, "format", "json"), http.StatusBadRequest},
		{target("/comparison", "leftQuery", one, "rightQuery", other, "format", "text"), http.StatusBadRequest},
		{target("/comparison", "leftQuery", one, "rightQuery", other, "format", "folded"), http.StatusBadRequest},
		{target("/comparison", "leftQuery", one, "rightQuery", other, "format", "pprof"), http.StatusBadRequest},
		{target("/graph", "of", "right", "leftQuery", one, "rightQuery", other, "format", "json"), http.StatusBadRequest},
	} {
		w := get(t, h, test.address)
		if w.Code != test.status {
			t.Errorf("GET %s: status %d, want %d: %.200s", test.address, w.Code, test.status, w.Body)
		}
		if test.status == http.StatusBadRequest && !strings.Contains(w.Body.String(), "million is the budget") {
			t.Errorf("GET %s: the price is told as %s", test.address, w.Body)
		}
	}
}
