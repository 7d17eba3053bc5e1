// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package viewer_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"

	"github.com/spanprof/spanprof/store"
	"github.com/spanprof/spanprof/viewer"
)

func ExampleHandler() {
	s, err := store.New()
	if err != nil {
		fmt.Println(err)
		return
	}
	mux := http.NewServeMux()
	mux.Handle("/debug/spanprof/", viewer.Handler(s))

	r := httptest.NewRequest(http.MethodGet, "http://localhost:6060/debug/spanprof/?format=text", nil)
	w := httptest.NewRecorder()
	mux.ServeHTTP(w, r)
	fmt.Print(w.Body)
	// Output:
	// service (none yet): 0 listed; 0 spans and 0 windows held
	// no span has ended yet; samples come when the next profile ends
}
