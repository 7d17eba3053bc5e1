// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

// Package test has a test that fails if an endpoint costs more than it did.
//
//	COSTS=costs.json go test -v ./examples/test            # writes the file
//	COSTS=costs.json go test -v ./examples/test            # passes
//	COSTS=costs.json ITEMS=200 go test -v ./examples/test  # fails: GET /checkout: +98 % CPU (noise ±6 %)
package test

import (
	"cmp"
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"strconv"
	"testing"

	"go.opentelemetry.io/contrib/instrumentation/net/http/otelhttp"
	"go.opentelemetry.io/otel/trace"

	"github.com/spanprof/spanprof"
	"github.com/spanprof/spanprof/spanproftest"
)

// checkout sends the items of a cart: 100, or ITEMS.
func checkout(w http.ResponseWriter, _ *http.Request) {
	n, _ := strconv.Atoi(cmp.Or(os.Getenv("ITEMS"), "100"))
	items := make([]map[string]string, n)
	for i := range items {
		items[i] = map[string]string{"name": "item " + strconv.Itoa(i), "price": "9.99"}
	}
	_ = json.NewEncoder(w).Encode(items)
}

func TestCost(t *testing.T) {
	file := os.Getenv("COSTS")
	if file == "" {
		t.Skip("it measures for five seconds: COSTS names the file with the costs of an earlier run")
	}
	spanproftest.Guard(t, file, func(ctx context.Context, tp trace.TracerProvider) {
		mux := http.NewServeMux()
		mux.Handle("GET /checkout", otelhttp.NewHandler(spanprof.Handler(http.HandlerFunc(checkout)), "GET /checkout", otelhttp.WithTracerProvider(tp)))
		mux.ServeHTTP(httptest.NewRecorder(), httptest.NewRequestWithContext(ctx, http.MethodGet, "/checkout", http.NoBody))
	})
}
