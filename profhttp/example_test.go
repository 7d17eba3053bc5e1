// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package profhttp_test

import (
	"context"
	"fmt"
	"log"
	"net/http"
	"net/http/httptest"

	"github.com/spanprof/spanprof/internal/exportertest"
	"github.com/spanprof/spanprof/profhttp"
	"github.com/spanprof/spanprof/profiler"
)

func Example() {
	p, err := profiler.New(new(exportertest.Recorder)) // or a store, a network exporter, ...
	if err != nil {
		log.Fatal(err)
	}
	defer p.Shutdown(context.Background()) //nolint:errcheck // the program ends

	mux := http.NewServeMux()
	mux.Handle("/debug/pprof/", profhttp.Handler(p))

	answer := httptest.NewRecorder()
	mux.ServeHTTP(answer, httptest.NewRequest(http.MethodGet, "/debug/pprof/profile?seconds=0.1", http.NoBody))
	fmt.Println(answer.Code, answer.Header().Get("Content-Disposition")) // 200 attachment; filename="profile"
}
