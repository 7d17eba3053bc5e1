// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

// Package spanproftest guards the cost of endpoints in go test: CPU time, allocated bytes and
// waits for locks, for each span name.
//
//	func TestCost(t *testing.T) {
//		spanproftest.Guard(t, "testdata/cost.json", func(ctx context.Context, tp trace.TracerProvider) {
//			mux := http.NewServeMux() // otelhttp names spans by the route
//			mux.Handle("GET /checkout", otelhttp.NewHandler(spanprof.Handler(checkout), "", otelhttp.WithTracerProvider(tp)))
//			mux.ServeHTTP(httptest.NewRecorder(), httptest.NewRequestWithContext(ctx, "GET", "/checkout", nil))
//		})
//	}
//
// The first run writes the file. Later runs are compared with it, and fail like this:
//
//	GET /checkout: +31 % CPU (noise ±6 %)
//
// A growth counts if a second run has it too. Delete the file to accept a new cost. Commit it if
// all runs are on machines of one kind.
// Directory examples/test has a test to try.
package spanproftest
