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
		hidden  bool
		path    string
		seconds time.Duration
		status  int
	}{
		{false, "/profile?seconds=0.1", 100 * time.Millisecond, http.StatusOK},
		{false, "/trace?seconds=0.1", 100 * time.Millisecond, http.StatusOK},
		{true, "/profile?seconds=60.1", 0, http.StatusBadRequest},
		{true, "/trace?seconds=60.1", 0, http.StatusBadRequest},
		{true, "/heap", 0, http.StatusOK},
	} {
		d := new(deadline)
		server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if test.hidden {
				h.ServeHTTP(struct{ http.ResponseWriter }{w}, r)
				return
			}
			d.ResponseWriter = w
			h.ServeHTTP(d, r)
		}))
		server.Config.WriteTimeout = timeout
		server.Start()
		least := time.Now().Add(timeout + test.seconds)
		response, body := ask(t, http.MethodGet, server.URL+test.path, "")
		server.Close() // returns after the handler
		if response.StatusCode != test.status || !test.hidden && d.set.Before(least) {
			t.Errorf("%+v: %s %s, time until %v, want %v at least", test, response.Status, body, d.set, least)
		}
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

// A delta has the events since the last request of a handler.
func TestDeltaSinceTheLastRequest(t *testing.T) {
	base := serve(t, nil)
	runtime.SetBlockProfileRate(1)
	defer runtime.SetBlockProfileRate(0)
	get(t, base+"delta_block")
	block()
	for i, url := range []string{base, base, serve(t, nil)} {
		has := strings.Contains(get(t, url+"delta_block").String(), "profhttp_test.block")
		if want := i != 1; has != want {
			t.Errorf("request %d has the event: %t, want %t", i, has, want)
		}
	}
}

func block() { <-time.After(time.Millisecond) }
