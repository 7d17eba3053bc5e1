// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

//go:build live

package profhttp_test

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"runtime"
	"runtime/pprof"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/pprof/profile"

	"github.com/spanprof/spanprof/internal/livetest"
	"github.com/spanprof/spanprof/profhttp"
	"github.com/spanprof/spanprof/profiler"
)

func start(t *testing.T, p *profiler.Profiler) {
	t.Helper()
	if err := p.Start(); err != nil {
		t.Fatal(err)
	}
}

func TestEverythingIsServed(t *testing.T) {
	for _, running := range []bool{true, false} {
		t.Run("running="+strconv.FormatBool(running), func(t *testing.T) {
			p, _ := newProfiler(t)
			if running {
				start(t, p)
			}
			base := serve(t, p)
			for _, path := range []string{
				"profile?seconds=0.1", "heap", "heap?gc=1", "allocs", "goroutine", "mutex", "block", "threadcreate",
				"delta_heap", "delta_heap?gc=1", "delta_mutex", "delta_block",
				"heap?seconds=0.01", "allocs?seconds=0.01", "goroutine?seconds=0.01", "mutex?seconds=0.01", "block?seconds=0.01", "threadcreate?seconds=0.01",
			} {
				get(t, base+path)
			}
			for path, want := range map[string]string{
				"heap?debug=1":      "heap profile:",
				"goroutine?debug=2": "goroutine ",
				"cmdline":           os.Args[0],
				"symbol":            "num_symbols: 1",
				"symbol?0x1":        "num_symbols: 1",
				"":                  "delta_heap",
			} {
				response, body := ask(t, http.MethodGet, base+path, "")
				if response.StatusCode != http.StatusOK || !strings.HasPrefix(response.Header.Get("Content-Type"), "text/") || !strings.Contains(body, want) {
					t.Errorf("%q: %s %v, want %q in\n%s", path, response.Status, response.Header, want, body)
				}
			}
			response, body := ask(t, http.MethodGet, base+"trace?seconds=0.05", "")
			if response.StatusCode != http.StatusOK || !strings.HasPrefix(body, "go 1.") {
				t.Errorf("trace: %s and %d bytes", response.Status, len(body))
			}
		})
	}
}

// The names of a program's own profiles begin with an import path.
func TestProfilesOfTheProgram(t *testing.T) {
	const name = "example.com/shop/orders"
	own := pprof.Lookup(name)
	if own == nil { // it stays when the test is run again
		own = pprof.NewProfile(name)
	}
	own.Add(own, 0)
	defer own.Remove(own)
	p, _ := newProfiler(t)
	base := serve(t, p)
	if got := get(t, base+own.Name()); len(got.Sample) != 1 {
		t.Errorf("%d samples, want 1", len(got.Sample))
	}
	refused(t, base+own.Name()+"?seconds=1", http.StatusBadRequest, "not supported")
	_, body := ask(t, http.MethodGet, base, "")
	if !strings.Contains(body, `href="example.com/shop/orders"`) {
		t.Errorf("no link to it in\n%s", body)
	}
}

// They may end in a name of ours too. What decides is where the handler is mounted.
func TestProfilesOfTheProgramWithOurNames(t *testing.T) {
	for _, name := range []string{"example.com/shop/cmdline", "shop/symbol", "symbol"} {
		own := pprof.Lookup(name)
		if own == nil { // it stays when the test is run again
			own = pprof.NewProfile(name)
		}
		own.Add(own, 0)
		defer own.Remove(own)
	}
	p, _ := newProfiler(t)
	h := profhttp.Handler(p)
	mux := http.NewServeMux()
	mux.Handle("/debug/pprof/", h)
	mux.Handle("/shop/", h)
	mux.Handle("GET /site/shop/", http.StripPrefix("/site/", h))
	mux.Handle("/just/heap", h)
	mux.Handle("/just/shop/symbol", h)
	for path, own := range map[string]bool{
		"/debug/pprof/example.com/shop/cmdline": true,
		"/debug/pprof/shop/symbol":              true,
		"/debug/pprof/symbol":                   false,
		"/debug/pprof/cmdline":                  false,
		"/shop/shop/symbol":                     true,
		"/shop/symbol":                          false,
		"/shop/":                                false,
		"/site/shop/symbol":                     true,
		"/just/heap":                            true,
		"/just/shop/symbol":                     true,
	} {
		answer := httptest.NewRecorder()
		mux.ServeHTTP(answer, httptest.NewRequest(http.MethodGet, path, http.NoBody))
		isProfile := answer.Header().Get("Content-Type") == "application/octet-stream"
		if answer.Code != http.StatusOK || isProfile != own {
			t.Errorf("%s: %d %v, want a profile: %v", path, answer.Code, answer.Header(), own)
		}
	}
}

func TestProfileDuringAnother(t *testing.T) {
	p, _ := newProfiler(t)
	base := serve(t, p)
	if err := pprof.StartCPUProfile(io.Discard); err != nil {
		t.Fatal(err)
	}
	refused(t, base+"profile?seconds=1", http.StatusInternalServerError, "could not enable CPU profiling")
	pprof.StopCPUProfile()
	get(t, base+"profile?seconds=0.01")
}

// A client that has gone ends the measurement, and leaves no profile running.
func TestClientGoesAway(t *testing.T) {
	p, _ := newProfiler(t)
	for _, path := range []string{"profile", "trace", "heap"} {
		ctx, cancel := context.WithCancel(t.Context())
		answer := httptest.NewRecorder()
		served := make(chan struct{})
		go func() {
			defer close(served)
			profhttp.Handler(p).ServeHTTP(answer, httptest.NewRequestWithContext(ctx, http.MethodGet, "/"+path+"?seconds=3600", http.NoBody))
		}()
		cancel()
		<-served
	}
	free(t)
	get(t, serve(t, p)+"profile?seconds=0.01")

	ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
	defer cancel()
	answer := httptest.NewRecorder()
	profhttp.Handler(p).ServeHTTP(answer, httptest.NewRequestWithContext(ctx, http.MethodGet, "/profile", http.NoBody))
	if answer.Code != http.StatusRequestTimeout {
		t.Errorf("at the deadline: %d %s, want 408", answer.Code, answer.Body)
	}
	free(t)
}

// free returns when no profile of a client that has gone is running or about to
// begin.
func free(t *testing.T) {
	t.Helper()
	for d := time.Millisecond; ; d *= 2 {
		var stacks strings.Builder
		// The form of debug=1 lacks the function of a goroutine that has not run yet.
		if err := pprof.Lookup("goroutine").WriteTo(&stacks, 2); err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(stacks.String(), "profileCPU") && !strings.Contains(stacks.String(), "runtime/pprof.profileWriter") {
			return
		}
		if d > 10*time.Second {
			t.Fatalf("still in use:\n%s", &stacks)
		}
		<-time.After(d)
	}
}

// A server's WriteTimeout counts from the request: it is extended where that is
// possible, and otherwise a profile that would come too late is not begun.
func TestWriteTimeout(t *testing.T) {
	const timeout = time.Minute
	p, _ := newProfiler(t)
	h := profhttp.Handler(p)
	for _, test := range []struct {
		name    string
		hidden  bool
		path    string
		seconds time.Duration
		status  int
	}{
		{"extended", false, "/profile?seconds=0.1", 100 * time.Millisecond, http.StatusOK},
		{"extended", false, "/trace?seconds=0.1", 100 * time.Millisecond, http.StatusOK},
		{"extended", false, "/heap?seconds=0.1", 100 * time.Millisecond, http.StatusOK},
		{"not possible", true, "/profile?seconds=60.1", 0, http.StatusBadRequest},
		{"not possible", true, "/trace?seconds=60.1", 0, http.StatusBadRequest},
		{"not possible", true, "/heap?seconds=60.1", 0, http.StatusBadRequest},
		{"not needed", true, "/heap", 0, http.StatusOK},
	} {
		t.Run(test.name+test.path, func(t *testing.T) {
			var least, set time.Time
			server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if test.hidden {
					h.ServeHTTP(struct{ http.ResponseWriter }{w}, r)
					return
				}
				least = time.Now().Add(timeout + test.seconds)
				d := &deadline{ResponseWriter: w}
				h.ServeHTTP(d, r)
				set = d.set
			}))
			server.Config.WriteTimeout = timeout
			server.Start()
			response, body := ask(t, http.MethodGet, server.URL+test.path, "")
			server.Close() // returns when the handler has
			if response.StatusCode != test.status {
				t.Errorf("%s %s, want %d", response.Status, body, test.status)
			}
			if set.Before(least) {
				t.Errorf("the answer has time until %v, want %v at least", set, least)
			}
		})
	}
}

// deadline remembers the last write deadline that was set.
type deadline struct {
	http.ResponseWriter
	set time.Time
}

func (d *deadline) SetWriteDeadline(t time.Time) error {
	d.set = t
	return http.NewResponseController(d.ResponseWriter).SetWriteDeadline(t)
}

func TestDeltaSinceTheLastRequest(t *testing.T) {
	p, _ := newProfiler(t)
	base := serve(t, p)
	before := runtime.SetMutexProfileFraction(1)
	defer runtime.SetMutexProfileFraction(before)
	get(t, base+"delta_mutex")
	livetest.Doubling(t, 50*time.Millisecond, func(d time.Duration) string {
		contend(d)
		return livetest.Few(contended(get(t, base+"delta_mutex")), 1, "contentions since the first request")
	})
	if got := contended(get(t, base+"delta_mutex")); got != 0 {
		t.Errorf("%d contentions since the second request, want none", got)
	}
	if got := contended(get(t, serve(t, p)+"delta_mutex")); got == 0 {
		t.Error("another handler does not count from the beginning")
	}
}

// contend holds a mutex for d while another goroutine wants it. On a slow machine the other one
// may come too late.
func contend(d time.Duration) {
	var mu sync.Mutex
	var wg sync.WaitGroup
	held := make(chan struct{})
	wg.Go(func() {
		mu.Lock()
		close(held)
		<-time.After(d)
		mu.Unlock()
	})
	<-held
	mu.Lock()
	mu.Unlock() //nolint:staticcheck // waiting is all
	wg.Wait()
}

func contended(p *profile.Profile) (n int64) {
	for _, s := range p.Sample {
		for _, l := range s.Location {
			for _, line := range l.Line {
				if strings.HasSuffix(line.Function.Name, ".contend.func1") {
					n += s.Value[0]
				}
			}
		}
	}
	return n
}

// Without a Profiler there is all that needs none.
func TestWithoutAProfiler(t *testing.T) {
	base := serve(t, nil)
	for _, path := range []string{"profile?seconds=0.01", "heap", "delta_heap"} {
		get(t, base+path)
	}
	refused(t, base+"wall?seconds=1", http.StatusNotFound, "not enabled")
}

// get returns the profile under a URL.
func get(t *testing.T, url string) *profile.Profile {
	t.Helper()
	response, body := ask(t, http.MethodGet, url, "")
	if response.StatusCode != http.StatusOK || response.Header.Get("Content-Type") != "application/octet-stream" ||
		!strings.HasPrefix(response.Header.Get("Content-Disposition"), "attachment; filename=") {
		t.Errorf("%s: %s %v\n%s", url, response.Status, response.Header, body)
	}
	p, err := profile.ParseData([]byte(body))
	if err != nil {
		t.Fatalf("%s: %v\n%s", url, err, body)
	}
	if err := p.CheckValid(); err != nil {
		t.Errorf("%s: %v", url, err)
	}
	return p
}
