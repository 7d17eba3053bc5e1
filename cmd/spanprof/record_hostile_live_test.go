// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

//go:build live

package main

import (
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/google/pprof/profile"
)

// answers serves a profile without samples, which write may change before each answer.
func answers(t *testing.T, sampleType string, write func(p *profile.Profile)) (address string, requests *atomic.Int64) {
	t.Helper()
	requests = new(atomic.Int64)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		name, unit := sampleType, "count"
		if name == "cpu" {
			name, unit = "profile", "nanoseconds"
		}
		if !strings.HasSuffix(r.URL.Path, "/"+name) {
			http.NotFound(w, r)
			return
		}
		requests.Add(1)
		p := &profile.Profile{
			SampleType: []*profile.ValueType{{Type: sampleType, Unit: unit}},
			PeriodType: &profile.ValueType{Type: sampleType, Unit: unit},
			Mapping:    []*profile.Mapping{{ID: 1, File: "/bin/shop"}},
		}
		write(p)
		if err := p.WriteUncompressed(w); err != nil {
			t.Error(err)
		}
	}))
	t.Cleanup(server.Close)
	return server.URL, requests
}

// A server that does not measure is polled as rarely as one that does.
func TestRecordAnswersAtOnce(t *testing.T) {
	t.Parallel()
	address, requests := answers(t, "cpu", func(*profile.Profile) {})
	code, stdout, stderr := spanprof(t, "record", "-o", t.TempDir(), "-for", "3s", "-every", "1s", address)
	if n := requests.Load(); code != exitDone || n < 1 || n > 3 {
		t.Errorf("%d requests, want one a second; code %d, stdout %q, stderr %q", n, code, stdout, stderr)
	}
}

// Texts of a server cannot fill the disk. Uncompressed answers count by their size in files.
func TestRecordHugeBuildID(t *testing.T) {
	t.Parallel()
	address, _ := answers(t, "goroutine", func(p *profile.Profile) {
		p.Mapping[0].BuildID = strings.Repeat("b", 1<<20)
		p.Mapping[0].File = "/bin/" + strings.Repeat("f", 1<<20)
		p.TimeNanos = -1 << 62
	})
	dir := t.TempDir()
	code, stdout, stderr := spanprof(t, "record", "-o", dir, "-for", "1s", "-max-bytes", "100000", address)
	if code != exitDone || !strings.Contains(stdout, ": 2 profiles, ") {
		t.Errorf("code %d, stdout %q, stderr %q", code, stdout, stderr)
	}
	files, err := filepath.Glob(filepath.Join(dir, "*", "*", "*"))
	if err != nil || len(files) != 4 { // two profiles, recording.json and the lock
		t.Fatalf("files %q, %v", files, err)
	}
	for _, f := range files {
		if info, err := os.Stat(f); err != nil || info.Size() > 20_000 {
			t.Errorf("%s: %v bytes, %v", f, info.Size(), err)
		}
	}
}
