// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

//go:build live

package main

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/http/pprof"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	otelattribute "go.opentelemetry.io/otel/attribute"

	"github.com/spanprof/spanprof/cmd/spanprof/internal/source"
	"github.com/spanprof/spanprof/exporter"
)

// recorded returns what a directory has, as the other subcommands read it.
func recorded(t *testing.T, dir string) []*source.Profile {
	t.Helper()
	s, err := source.Parse(dir)
	if err != nil {
		t.Fatal(err)
	}
	var all []*source.Profile
	if err := s.Read(t.Context(), "", func(err error) { t.Error(err) }, func(p *source.Profile) error {
		all = append(all, p)
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	return all
}

func profilesOf(all []*source.Profile, kind exporter.Kind) []*source.Profile {
	return slices.DeleteFunc(slices.Clone(all), func(p *source.Profile) bool { return p.Kind() != kind })
}

func attribute(p *source.Profile, key string) string {
	value, _ := p.Resource().Set().Value(otelattribute.Key(key))
	return value.AsString()
}

func TestRecord(t *testing.T) {
	t.Parallel()
	mux := http.NewServeMux()
	mux.HandleFunc("/debug/pprof/", pprof.Index)
	mux.HandleFunc("/debug/pprof/profile", pprof.Profile)
	server := httptest.NewServer(mux)
	t.Cleanup(server.Close)
	address := strings.TrimPrefix(server.URL, "http://")
	var dir string
	windows, others := 0, 0
	for seconds := 3; windows < 2 || others != windows; seconds *= 2 {
		// A busy machine answers late, and leaves too little time for the CPU of the last window.
		if seconds > 48 {
			t.Fatalf("%d windows of the CPU, %d of others", windows, others)
		}
		dir = filepath.Join(t.TempDir(), "before")
		code, stdout, stderr := spanprof(t, "record", "-o", dir, "-for", fmt.Sprint(seconds, "s"), "-every", "1s", "-label", "service.name=shop", "-label", "config=ab12", "http://"+address)
		windows, others = len(profilesOf(recorded(t, dir), exporter.KindCPU)), len(profilesOf(recorded(t, dir), exporter.KindHeap))
		// One of the CPU for each window, and one more of each other kind.
		want := fmt.Sprintf("http://%s/debug/pprof/: %d profiles, ", address, windows+4*(others+1))
		if code != exitDone || stderr != "" || !strings.HasPrefix(stdout, want) || !strings.Contains(stdout, "1 run of the process") {
			t.Fatalf("code %d, stdout %q, want %q, stderr %q", code, stdout, want, stderr)
		}
	}
	all := recorded(t, dir)
	for kind, want := range map[exporter.Kind]int{exporter.KindCPU: windows, exporter.KindHeap: windows, exporter.KindGoroutine: windows + 1, exporter.KindMutex: windows, exporter.KindBlock: windows} {
		got := profilesOf(all, kind)
		if len(got) != want {
			t.Errorf("%d %s profiles, want %d", len(got), kind, want)
		}
		for _, p := range got {
			if p.Duration() <= 0 && kind != exporter.KindGoroutine {
				t.Errorf("%s of %v", kind, p.Duration())
			}
			if attribute(p, "service.name") != "shop" || attribute(p, "config") != "ab12" || attribute(p, "service.instance.id") != address {
				t.Errorf("%s of %v", kind, p.Resource())
			}
			if p.Replica == "" || p.Replica != all[0].Replica {
				t.Errorf("%s of replica %q", kind, p.Replica)
			}
		}
	}
}

func TestRecordNothing(t *testing.T) {
	t.Parallel()
	refusing := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "who are you?", http.StatusUnauthorized) }))
	t.Cleanup(refusing.Close)
	address := refusing.URL
	const want = "401 Unauthorized: who are you?"
	code, stdout, stderr := spanprof(t, "record", "-o", t.TempDir(), "-for", "2s", "-every", "1s", address)
	if code != exitFailed || !strings.HasPrefix(stdout, address) || !strings.Contains(stdout, ": 0 profiles") || !strings.Contains(stdout, want) {
		t.Errorf("code %d, stdout %q", code, stdout)
	}
	if !strings.Contains(stderr, want) || !strings.HasSuffix(stderr, "spanprof: record: no profile of "+address+"/debug/pprof/\n") {
		t.Errorf("stderr %q", stderr)
	}
}
