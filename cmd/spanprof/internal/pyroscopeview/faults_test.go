// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package pyroscopeview

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/spanprof/spanprof/internal/queriertest"
)

// answers is a server that sends the same answer to every request.
func answers(status int, contentType, body string) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", contentType)
		w.WriteHeader(status)
		_, _ = io.WriteString(w, body)
	})
}

// except answers as recorded; another server answers one method.
func except(t *testing.T, method string, other http.Handler) http.Handler {
	t.Helper()
	r, err := queriertest.Load()
	if err != nil {
		t.Fatal(err)
	}
	return http.HandlerFunc(func(w http.ResponseWriter, request *http.Request) {
		if strings.HasSuffix(request.URL.Path, "/"+method) {
			other.ServeHTTP(w, request)
			return
		}
		r.ServeHTTP(w, request)
	})
}

// Faulty answers of a server become text on the page.
func TestFaults(t *testing.T) {
	const merge, asProto = "SelectMergeStacktraces", "application/proto"
	for name, test := range map[string]struct {
		server http.Handler
		want   string
	}{
		"a limit":       {answers(400, "application/json", `{"code":"invalid_argument","message":"the query time range exceeds the limit (max_query_length, actual: 48h0m0s, limit: 24h0m0s)"}`), "Series: the server answers 400 Bad Request: the query time range exceeds the limit"},
		"an old server": {except(t, merge, answers(200, asProto, "\x0a\x02\x18\x01")), "not in the pprof format: a Pyroscope server has that since version 2.2"},
	} {
		t.Run(name, func(t *testing.T) {
			h := over(t, test.server, 1<<20)
			for _, format := range []string{"json", "text", "pprof"} {
				w := get(t, h, "/", "query", "codesearch.cpu", "format", format)
				if w.Code != http.StatusInternalServerError || !strings.Contains(w.Body.String(), test.want) || w.Body.Len() > 2000 {
					t.Errorf("%s: status %d: %s, want %q", format, w.Code, w.Body, test.want)
				}
			}
		})
	}
}

// A client that disconnects cancels its calls to the server.
func TestClientGoesAway(t *testing.T) {
	asked := make(chan struct{})
	gone := make(chan struct{})
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body) // The server sees the end of the connection after that.
		close(asked)
		<-r.Context().Done()
		close(gone)
	}))
	defer server.Close()
	h := Handler(newClient(t, server.URL, 1<<20))
	ctx, cancel := context.WithCancel(t.Context())
	r := httptest.NewRequestWithContext(ctx, http.MethodGet, "http://localhost/?query=.cpu&format=json", nil)
	w := httptest.NewRecorder()
	done := make(chan struct{})
	go func() {
		defer close(done)
		h.ServeHTTP(w, r)
	}()
	<-asked
	cancel()
	<-done
	<-gone
	if w.Code != http.StatusServiceUnavailable {
		t.Errorf("status %d: %s", w.Code, w.Body)
	}
}
