// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

//go:build live

package profhttp_test

import (
	"bytes"
	"context"
	"net/http"
	"net/http/httptest"
	"runtime"
	"runtime/pprof"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/pprof/profile"

	"github.com/spanprof/spanprof/exporter"
	"github.com/spanprof/spanprof/internal/exportertest"
	"github.com/spanprof/spanprof/internal/livetest"
	"github.com/spanprof/spanprof/profhttp"
	"github.com/spanprof/spanprof/profiler"
)

// newProfiler returns a Profiler of CPU and wall. The end of the test shuts it down.
func newProfiler(t *testing.T) *profiler.Profiler {
	t.Helper()
	p, err := profiler.New(new(exportertest.Recorder), profiler.WithKinds(exporter.KindCPU, exporter.KindWall), profiler.WithWindow(time.Hour))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := p.Shutdown(context.Background()); err != nil {
			t.Error(err)
		}
	})
	return p
}

// get returns the profile at a URL.
func get(t *testing.T, url string) *profile.Profile {
	t.Helper()
	response, body := ask(t, http.MethodGet, url, "")
	p, err := profile.ParseData([]byte(body))
	if response.StatusCode != http.StatusOK || err != nil {
		t.Errorf("%s: %s %v", url, response.Status, err)
		return new(profile.Profile)
	}
	return p
}

// Scrapers share the samples of a Profiler, and without one they take turns.
func TestTimedProfiles(t *testing.T) {
	p := newProfiler(t)
	base := serve(t, p)
	var scrapers sync.WaitGroup
	for range 3 {
		scrapers.Go(func() { get(t, base+"profile?seconds=0.2") })
		scrapers.Go(func() { get(t, base+"wall?seconds=0.2") })
	}
	scrapers.Wait()
	if response, _ := ask(t, http.MethodGet, base+"trace?seconds=0.05", ""); response.StatusCode != http.StatusOK {
		t.Errorf("trace: %s", response.Status)
	}
	if err := p.Shutdown(t.Context()); err != nil {
		t.Fatal(err)
	}
	for _, url := range []string{base, serve(t, nil)} {
		get(t, url+"profile?seconds=0.01")
		if err := pprof.StartCPUProfile(new(bytes.Buffer)); err != nil {
			t.Fatalf("%s keeps the CPU profiler: %v", url, err)
		}
		refused(t, url+"profile?seconds=1", http.StatusInternalServerError, "another cpu profile is running")
		pprof.StopCPUProfile()
	}
}

// Nothing runs for a client that has gone away.
func TestClientGoesAway(t *testing.T) {
	for _, path := range []string{"profile", "trace"} {
		ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
		defer cancel()
		profhttp.Handler(nil).ServeHTTP(httptest.NewRecorder(), httptest.NewRequestWithContext(ctx, http.MethodGet, "/"+path+"?seconds=3600", http.NoBody))
	}
	get(t, serve(t, nil)+"profile?seconds=0.01")
}

// A server's WriteTimeout counts from the request. It is extended if possible. Otherwise a
// profile that would be too late is refused.
func TestWriteTimeout(t *testing.T) {
	const timeout = time.Minute
	p := newProfiler(t)
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
		{"not possible", true, "/profile?seconds=60.1", 0, http.StatusBadRequest},
		{"not possible", true, "/trace?seconds=60.1", 0, http.StatusBadRequest},
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
			server.Close() // returns after the handler
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
	base := serve(t, nil)
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
	if got := contended(get(t, serve(t, nil)+"delta_mutex")); got == 0 {
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
