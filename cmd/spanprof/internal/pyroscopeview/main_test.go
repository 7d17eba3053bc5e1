// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package pyroscopeview

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"net/url"
	"testing"
	"time"

	"github.com/spanprof/spanprof/cmd/spanprof/internal/querier"
	"github.com/spanprof/spanprof/internal/queriertest"
)

// recorded returns the page over a server with recorded answers: of one span, with a profile
// by two replicas of a service and one of another.
func recorded(t *testing.T) (http.Handler, *queriertest.Recording) {
	t.Helper()
	r, err := queriertest.Load()
	if err != nil {
		t.Fatal(err)
	}
	return over(t, r, 64<<20), r
}

// over returns the page over a server.
func over(t *testing.T, server http.Handler, maxBytes int64) http.Handler {
	t.Helper()
	s := httptest.NewServer(server)
	t.Cleanup(s.Close)
	return Handler(newClient(t, s.URL, maxBytes))
}

func newClient(t *testing.T, address string, maxBytes int64) *querier.Client {
	t.Helper()
	u, err := url.Parse(address)
	if err != nil {
		t.Fatal(err)
	}
	c, err := querier.New(u, maxBytes)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c
}

// get requests a path of the page with the parameters key, value, ...
func get(t *testing.T, h http.Handler, path string, params ...string) *httptest.ResponseRecorder {
	t.Helper()
	values := url.Values{}
	for i := 0; i < len(params); i += 2 {
		values.Set(params[i], params[i+1])
	}
	r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "http://localhost"+path+"?"+values.Encode(), nil)
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w
}

func getJSON(t *testing.T, h http.Handler, to any, path string, params ...string) {
	t.Helper()
	w := get(t, h, path, append(params, "format", "json")...)
	if w.Code != http.StatusOK {
		t.Fatalf("GET %s %q: status %d: %s", path, params, w.Code, w.Body)
	}
	if err := json.Unmarshal(w.Body.Bytes(), to); err != nil {
		t.Fatalf("GET %s %q: %v", path, params, err)
	}
}

// times returns the parameters of a recording's time.
func times(r *queriertest.Recording) []string {
	return []string{"from", r.From.Format(time.RFC3339Nano), "until", r.Until.Format(time.RFC3339Nano)}
}
