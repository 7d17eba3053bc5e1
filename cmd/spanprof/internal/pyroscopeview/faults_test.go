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

// A client that disconnects cancels its calls to the server.
func TestClientGoesAway(t *testing.T) {
	called := make(chan struct{})
	gone := make(chan struct{})
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body) // The server sees the end of the connection after that.
		close(called)
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
	<-called
	cancel()
	<-done
	<-gone
	if w.Code != http.StatusServiceUnavailable {
		t.Errorf("status %d: %s", w.Code, w.Body)
	}
}
