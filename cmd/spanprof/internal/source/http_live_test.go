// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

//go:build live

package source_test

import (
	"net/http"
	"net/http/pprof"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/spanprof/spanprof/cmd/spanprof/internal/source"
	"github.com/spanprof/spanprof/exporter"
)

func TestPprof(t *testing.T) {
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
