// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package source_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
)

// A server does not decide how many requests are made.
func TestTooManyProfiles(t *testing.T) {
	server := serve(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		var all []string
		for i := range 1001 {
			all = append(all, fmt.Sprintf(`{"labels":[{"name":"__profile_type__","value":"process_cpu:cpu:nanoseconds:cpu:nanoseconds"},{"name":"service_name","value":"s%d"}]}`, i))
		}
		_, _ = fmt.Fprintf(w, `{"labelsSet":[%s]}`, strings.Join(all, ","))
	}))
	if _, err := read(t, "pyroscope+"+server.URL+"?query={}"); err == nil || !strings.Contains(err.Error(), "more than 1000 profiles") {
		t.Error(err)
	}
}
