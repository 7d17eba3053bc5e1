// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

//go:build live

package examples

import (
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"sync"
	"testing"

	"github.com/google/pprof/profile"

	"github.com/spanprof/spanprof/internal/livetest"
)

// pushes is a Pyroscope server that keeps what it needs of the profiles.
type pushes struct {
	t *testing.T

	mu    sync.Mutex
	names map[string]bool  // of the applications
	cpu   map[string]int64 // nanoseconds by span_id
}

func (s *pushes) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.URL.Path != "/ingest" {
		http.NotFound(w, r)
		return
	}
	f, _, err := r.FormFile("profile")
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		s.t.Error(err)
		return
	}
	defer func() { _ = f.Close() }()
	p, err := profile.Parse(f)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		s.t.Error(err)
		return
	}
	app, _, _ := strings.Cut(r.URL.Query().Get("name"), "{")
	s.mu.Lock()
	defer s.mu.Unlock()
	s.names[app] = true
	if p.PeriodType.Type != "cpu" {
		return
	}
	for _, sample := range p.Sample {
		for _, id := range sample.Label["span_id"] {
			s.cpu[id] += sample.Value[1]
		}
	}
}

// run runs an example that pushes, and returns its output.
func (s *pushes) run(binary string, args ...string) string {
	s.t.Helper()
	server := httptest.NewServer(s)
	defer server.Close()
	cmd := exec.CommandContext(s.t.Context(), binary, append([]string{"-server", server.URL}, args...)...)
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		s.t.Fatalf("%s: %v\n%s", binary, err, out)
	}
	return string(out)
}

// Both push profiles in which the spans that they print are found.
func TestPush(t *testing.T) {
	for name, last := range map[string]string{
		"pyroscope":    `\nprofiles: pyroscope: [1-9]\d* exported\n$`,
		"pyroscope-go": `\n$`,
	} {
		t.Run(name, func(t *testing.T) {
			s := &pushes{t: t, names: map[string]bool{}, cpu: map[string]int64{}}
			out := s.run(build(livetest.Context(t, livetest.Most), t, name), "-duration", "5s")
			if !regexp.MustCompile(last).MatchString(out) {
				t.Errorf("output, want it to end with %s:\n%s", last, out)
			}
			spans := regexp.MustCompile(`(?m)^span ([0-9a-f]{16}) of trace [0-9a-f]{32}$`).FindAllStringSubmatch(out, -1)
			found := 0
			for _, span := range spans {
				if s.cpu[span[1]] > 0 {
					found++
				}
			}
			if len(spans) == 0 || found == 0 {
				t.Errorf("%d of %d spans have CPU samples", found, len(spans))
			}
			if len(s.names) != 1 || !s.names["shop"] {
				t.Errorf("applications %v, want shop", s.names)
			}
		})
	}
}
