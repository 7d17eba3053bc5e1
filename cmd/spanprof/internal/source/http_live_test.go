// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

//go:build live

package source_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/pprof"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/pprof/profile"

	"github.com/spanprof/spanprof/cmd/spanprof/internal/source"
	"github.com/spanprof/spanprof/exporter"
	"github.com/spanprof/spanprof/internal/livetest"
	"github.com/spanprof/spanprof/pgo"
)

var kept atomic.Pointer[[]byte]

// allocate allocates until the test ends.
func allocate(t *testing.T) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() {
		defer close(done)
		for ctx.Err() == nil {
			b := make([]byte, 1<<20)
			kept.Store(&b)
			runtime.Gosched()
		}
	}()
	t.Cleanup(func() { cancel(); <-done })
}

func TestPprof(t *testing.T) {
	defer runtime.SetMutexProfileFraction(runtime.SetMutexProfileFraction(1))
	allocate(t)
	server := serve(t, pprofMux())
	profiles, err := read(t, server.URL+"/debug/pprof/?seconds=1")
	if err != nil {
		t.Fatal(err)
	}
	if got := kinds(profiles); !slices.Equal(got, source.TargetKinds) {
		t.Errorf("kinds %v, want %v", got, source.TargetKinds)
	}
	host := strings.TrimPrefix(server.URL, "http://")
	for _, p := range profiles {
		if p.Replica != host || !strings.HasPrefix(p.Name, server.URL+"/debug/pprof/ ") {
			t.Errorf("profile of replica %q, named %q", p.Replica, p.Name)
		}
		if age := time.Since(p.Start()); age < 0 || age > time.Minute {
			t.Errorf("%s begins at %v", p.Kind(), p.Start())
		}
		switch p.Kind() {
		case exporter.KindGoroutine:
			if p.Duration() != 0 {
				t.Errorf("goroutine profile of %v", p.Duration())
			}
		case exporter.KindCPU:
			// runtime/pprof takes the time in a goroutine that StartCPUProfile starts, which
			// may run late: a profile of a second covers less.
			parsed, err := p.Parsed()
			if err != nil {
				t.Fatal(err)
			}
			if p.Duration() <= 0 || p.Duration() != time.Duration(parsed.DurationNanos) {
				t.Errorf("cpu profile of %v, want the %d ns that it says", p.Duration(), parsed.DurationNanos)
			}
		default:
			if p.Duration() < time.Second {
				t.Errorf("%s profile of %v, want a second", p.Kind(), p.Duration())
			}
		}
		if name, _ := p.Resource().Set().Value("process.executable.name"); runtime.GOOS == "linux" && name.AsString() != "source.test" {
			t.Errorf("%s: executable %q", p.Kind(), name.AsString())
		}
	}
}

// The heap's window has what it allocated, and the memory that is live at its end.
func TestPprofHeapIsADelta(t *testing.T) {
	allocate(t)
	server := serve(t, pprofMux())
	// The runtime gives what was allocated until two collections ago, and on a busy
	// machine a second has none.
	livetest.Doubling(t, time.Second, func(d time.Duration) string {
		raw := readRaw(t, server.URL+"/debug/pprof/heap")
		profiles, err := read(t, fmt.Sprint(server.URL, "/debug/pprof/heap?seconds=", int(d.Seconds())))
		if err != nil || len(profiles) != 1 {
			t.Fatalf("%d profiles, %v", len(profiles), err)
		}
		parsed, err := profiles[0].Parsed()
		if err != nil {
			t.Fatal(err)
		}
		after := readRaw(t, server.URL+"/debug/pprof/heap")
		allocated, around := total(parsed, "alloc_space"), total(after, "alloc_space")-total(raw, "alloc_space")
		if allocated < 0 || allocated > around {
			t.Fatalf("%d bytes allocated in the window, %d around it", allocated, around)
		}
		if live := total(parsed, "inuse_space"); allocated == 0 || live == 0 {
			return fmt.Sprintf("got %d bytes allocated, %d live, want 1 of each", allocated, live)
		}
		return ""
	})
}

// What a server lacks is left out, unless it was asked for.
func TestPprofLacksKinds(t *testing.T) {
	mux := http.NewServeMux()
	mux.Handle("/debug/pprof/goroutine", pprof.Handler("goroutine"))
	mux.Handle("/debug/pprof/heap", pprof.Handler("heap"))
	server := serve(t, mux)
	profiles, err := read(t, server.URL+"/debug/pprof/?seconds=1")
	if got := kinds(profiles); err != nil || !slices.Equal(got, []exporter.Kind{exporter.KindHeap, exporter.KindGoroutine}) {
		t.Errorf("%v, %v", got, err)
	}
	if _, err := read(t, server.URL+"/debug/pprof/profile"); err == nil || !strings.Contains(err.Error(), "/debug/pprof/profile?seconds=30: the server answers 404") {
		t.Errorf("a profile that is not there: %v", err)
	}
}

// total returns the sum of the values of a type, which the profile must have.
func total(p *profile.Profile, sampleType string) int64 {
	i := -1
	for n, t := range p.SampleType {
		if t.Type == sampleType {
			i = n
		}
	}
	if i < 0 {
		panic("no " + sampleType + " in\n" + p.String())
	}
	sum := int64(0)
	for _, s := range p.Sample {
		sum += s.Value[i]
	}
	return sum
}

// readRaw returns the profile at an address, as it is there.
func readRaw(t *testing.T, address string) *profile.Profile {
	t.Helper()
	response, err := http.Get(address)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = response.Body.Close() }()
	data, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	parsed, err := pgo.Parse(data)
	if err != nil {
		t.Fatal(err)
	}
	return parsed
}
