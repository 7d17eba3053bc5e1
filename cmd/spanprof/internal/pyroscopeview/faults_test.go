// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package pyroscopeview

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
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
	r, err := queriertest.Load("v2")
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
	huge := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", r.Header.Get("Content-Type"))
		for r.Context().Err() == nil {
			if _, err := w.Write(make([]byte, 1<<16)); err != nil {
				return
			}
		}
	})
	breaks := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", asProto)
		w.Header().Set("Content-Length", "1000")
		_, _ = io.WriteString(w, "abc")
	})
	for name, test := range map[string]struct {
		server http.Handler
		want   string
	}{
		"a limit":           {answers(400, "application/json", `{"code":"invalid_argument","message":"the query time range exceeds the limit (max_query_length, actual: 48h0m0s, limit: 24h0m0s)"}`), "Series: the server answers 400 Bad Request: the query time range exceeds the limit"},
		"too many requests": {answers(429, "text/plain", "slow down"), "Series: the server answers 429 Too Many Requests: slow down"},
		"no password":       {answers(401, "text/html", "<html><body>log in"), "Series: the server answers 401 Unauthorized: an HTML page (credentials come from the environment"},
		"a redirect":        {answers(302, "text/plain", ""), "Series: the server answers 302 Found (such redirects are not followed"},
		"a page to log in":  {answers(200, "text/html", "<html>log in"), "and not one of a Pyroscope server (is a proxy in between"},
		"not JSON":          {answers(200, "application/json", "{"), "the answer to Series is not one of a Pyroscope server"},
		"other JSON":        {answers(200, "application/json", `{"labelsSet":7}`), "the answer to Series is not one of a Pyroscope server"},
		"endless":           {huge, "the answer has more than 1 MiB: ask for less"},
		"endless profile":   {except(t, merge, huge), "the answer has more than 1 MiB"},
		"half a profile":    {except(t, merge, breaks), "the answer breaks off"},
		"no profile":        {except(t, merge, answers(200, asProto, "\xff\xff\xff")), "it is no protobuf message"},
		"a long field":      {except(t, merge, answers(200, asProto, "\x2a\xff\xff\xff\x7f")), "it is no protobuf message"},
		"a bad profile":     {except(t, merge, answers(200, asProto, "\x2a\x06\x0a\x04\x12\x02\x0a\x00")), "the answer to SelectMergeStacktraces"},
		"an old server":     {except(t, merge, answers(200, asProto, "\x0a\x02\x18\x01")), "not in the pprof format: a Pyroscope server has that since version 2.2"},
		"no such method":    {except(t, merge, answers(404, "text/plain", "404 page not found")), "SelectMergeStacktraces: the server answers 404 Not Found: 404 page not found"},
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

// A server with very many services, names and spans gets a bounded number of calls.
func TestManyValues(t *testing.T) {
	var calls atomic.Int64
	server := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		calls.Add(1)
		w.Header().Set("Content-Type", r.Header.Get("Content-Type"))
		switch r.URL.Path[strings.LastIndexByte(r.URL.Path, '/')+1:] {
		case "Series":
			var sets []string
			for i := range 5000 {
				sets = append(sets, fmt.Sprintf(`{"labels":[{"name":"service_name","value":"s%d"},{"name":"__profile_type__","value":"process_cpu:cpu:nanoseconds:cpu:nanoseconds"}]}`, i))
			}
			_, _ = fmt.Fprintf(w, `{"labelsSet":[%s]}`, strings.Join(sets, ","))
		case "LabelValues":
			var names []string
			for i := range 250 {
				names = append(names, fmt.Sprintf(`"n%d"`, i))
			}
			_, _ = fmt.Fprintf(w, `{"names":[%s]}`, strings.Join(names, ","))
		case "SelectMergeStacktraces":
			if r.Header.Get("Content-Type") == "application/json" {
				_, _ = io.WriteString(w, `{"flamegraph":{"total":"10000000"}}`)
			}
		default:
			_, _ = io.WriteString(w, "{}")
		}
	})
	h := over(t, server, 8<<20)
	for _, query := range []string{byID("s7", "cpu", "00000000000000aa"), "s7.cpu"} {
		calls.Store(0)
		if w := get(t, h, "/", "query", query, "format", "json"); w.Code != http.StatusOK || calls.Load() > maxCalls {
			t.Errorf("%s: status %d after %d calls: %s", query, w.Code, calls.Load(), w.Body)
		}
	}
	calls.Store(0)
	if w := get(t, h, "/", "format", "json"); w.Code != http.StatusOK || calls.Load() > 5 {
		t.Errorf("spans: status %d after %d calls", w.Code, calls.Load())
	}
}
