// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package querier

import (
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

// An outage is reported once, and its end too.
func TestReportTo(t *testing.T) {
	var status atomic.Int32
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		if status.Load() == 0 {
			panic(http.ErrAbortHandler)
		}
		w.Header().Set("Content-Type", asJSON)
		w.WriteHeader(int(status.Load()))
		_, _ = w.Write([]byte("{}"))
	}))
	defer server.Close()
	address, err := url.Parse(server.URL)
	if err != nil {
		t.Fatal(err)
	}
	c, err := New(address, 1<<20)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	c.ReportTo(func(text string) { got = append(got, strings.TrimPrefix(text, server.URL)) })
	for _, code := range []int32{http.StatusServiceUnavailable, 0, http.StatusNotFound, http.StatusOK, 0} {
		status.Store(code)
		_, _ = c.Series(t.Context(), "", nil, time.Now(), time.Now())
	}
	want := []string{": it answers 503 Service Unavailable; pages show errors", ": it answers again", ": it answers nothing: EOF; pages show errors"}
	if len(got) != len(want) {
		t.Fatalf("reported %q, want %q", got, want)
	}
	for i := range want {
		if !strings.HasPrefix(got[i], want[i]) {
			t.Errorf("reported %q, want %q", got[i], want[i])
		}
	}
}
