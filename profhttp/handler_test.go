// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package profhttp_test

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/spanprof/spanprof/internal/exportertest"
	"github.com/spanprof/spanprof/profhttp"
	"github.com/spanprof/spanprof/profiler"
)

const endless = time.Hour

// newProfiler returns a profiler that the end of the test shuts down.
func newProfiler(t *testing.T, opts ...profiler.Option) (*profiler.Profiler, *exportertest.Recorder) {
	t.Helper()
	rec := new(exportertest.Recorder)
	p, err := profiler.New(rec, append(opts, profiler.WithWindow(endless))...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := p.Shutdown(context.Background()); err != nil {
			t.Error(err)
		}
	})
	return p, rec
}

// serve returns the URL of a server of p under a prefix.
func serve(t *testing.T, p *profiler.Profiler) string {
	t.Helper()
	mux := http.NewServeMux()
	mux.Handle("/debug/pprof/", profhttp.Handler(p))
	server := httptest.NewServer(mux)
	t.Cleanup(server.Close)
	return server.URL + "/debug/pprof/"
}

// ask makes a request with the Host of a pod and returns its answer.
func ask(t *testing.T, method, url, body string) (*http.Response, string) {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), method, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	request.Host = "10.1.2.3:6060"
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close() //nolint:errcheck // it has been read
	defer http.DefaultClient.CloseIdleConnections()
	answer, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	if got := response.Header.Get("X-Content-Type-Options"); got != "nosniff" {
		t.Errorf("%s: X-Content-Type-Options %q, want nosniff", url, got)
	}
	return response, string(answer)
}

// refused checks that an answer is an error as text, without a trace of what was
// planned.
func refused(t *testing.T, url string, status int, text string) {
	t.Helper()
	response, body := ask(t, http.MethodGet, url, "")
	if response.StatusCode != status || !strings.Contains(body, text) {
		t.Errorf("%s: %s %q, want %d and %q", url, response.Status, body, status, text)
	}
	if got := response.Header; got.Get("Content-Type") != "text/plain; charset=utf-8" || got.Get("X-Go-Pprof") != "1" || got.Get("Content-Disposition") != "" {
		t.Errorf("%s: %v", url, got)
	}
}

func TestWrongRequests(t *testing.T) {
	p, _ := newProfiler(t)
	base := serve(t, p)
	for _, name := range []string{"profile", "trace", "heap", "goroutine"} {
		for _, value := range []string{"0", "-1", "x", "NaN", "Inf", "86401", "1e300", "99999999999999999999"} {
			refused(t, base+name+"?seconds="+value, http.StatusBadRequest, `invalid value "`+value+`" for "seconds"`)
		}
	}
	for _, value := range []string{"x", "-1", "1.5"} {
		for _, name := range []string{"heap?gc=", "heap?debug=", "heap?seconds=1&debug=", "heap?seconds=1&gc=", "goroutine?debug=", "delta_heap?gc="} {
			refused(t, base+name+value, http.StatusBadRequest, `invalid value "`+value+`"`)
		}
	}
	refused(t, base+"heap?debug="+strings.Repeat("9", 1000), http.StatusBadRequest, strings.Repeat("9", 50)+`" for "debug"`)
	refused(t, base+"heap?seconds=1&debug=1", http.StatusBadRequest, "debug")
	refused(t, base+"delta_heap?seconds=1", http.StatusBadRequest, `use "heap"`)
	refused(t, base+"nothing", http.StatusNotFound, "unknown profile")
	refused(t, base+"wall?seconds=1", http.StatusNotFound, "profiler.WithKinds")

	if response, body := ask(t, http.MethodPost, base+"heap", ""); response.StatusCode != http.StatusMethodNotAllowed {
		t.Errorf("POST heap: %s %s", response.Status, body)
	}
	// One byte too many. Where a server leaves more unread, it resets the connection half a second
	// after its answer, which a busy client may not have read by then.
	if response, body := ask(t, http.MethodPost, base+"symbol", strings.Repeat("0x1+", 1<<18)+"0"); response.StatusCode != http.StatusBadRequest {
		t.Errorf("a large POST of symbol: %s %s", response.Status, body)
	}
}

func TestSymbol(t *testing.T) {
	p, _ := newProfiler(t)
	pc, _, _, _ := runtime.Caller(0)
	hex := "0x" + strconv.FormatUint(uint64(pc), 16)
	for _, test := range []struct{ method, query, body string }{
		{http.MethodGet, "?" + hex, ""},
		{http.MethodPost, "", "0x0+junk+" + hex},
	} {
		_, body := ask(t, test.method, serve(t, p)+"symbol"+test.query, test.body)
		if want := hex + " github.com/spanprof/spanprof/profhttp_test.TestSymbol\n"; !strings.HasSuffix(body, want) {
			t.Errorf("%s: %q, want %q", test.method, body, want)
		}
	}
}

// Any path is a prefix, also none at all.
func TestPrefixes(t *testing.T) {
	p, _ := newProfiler(t)
	for _, path := range []string{"/heap", "/debug/pprof/heap", "/a/b/c/d/heap", "heap"} {
		answer := httptest.NewRecorder()
		profhttp.Handler(p).ServeHTTP(answer, &http.Request{Method: http.MethodGet, URL: &url.URL{Path: path}})
		if answer.Code != http.StatusOK {
			t.Errorf("%s: %d", path, answer.Code)
		}
	}
}
