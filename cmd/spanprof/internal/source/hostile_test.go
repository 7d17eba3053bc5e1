// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package source_test

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
)

// A server does not decide how many requests are made.
func TestTooManyProfiles(t *testing.T) {
	server := serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, one := `{"process":[%s]}`, `{"type":"cpu","query":".cpu","service":"s%d"}`
		if r.Method == http.MethodPost {
			body, one = `{"labelsSet":[%s]}`, `{"labels":[{"name":"__profile_type__","value":"process_cpu:cpu:nanoseconds:cpu:nanoseconds"},{"name":"service_name","value":"s%d"}]}`
		}
		w.Header().Set("Content-Type", "application/json")
		var all []string
		for i := range 1001 {
			all = append(all, fmt.Sprintf(one, i))
		}
		_, _ = io.WriteString(w, fmt.Sprintf(body, strings.Join(all, ",")))
	}))
	for _, address := range []string{server.URL + "/debug/spanprof/", "pyroscope+" + server.URL + "?query={}"} {
		if _, err := read(t, address); err == nil || !strings.Contains(err.Error(), "more than 1000 profiles") {
			t.Errorf("%s: %v", address, err)
		}
	}
}
