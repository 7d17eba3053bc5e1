// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package pyroscope_test

import (
	"io"
	"log"
	"net/http"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/spanprof/spanprof/exporter"
	"github.com/spanprof/spanprof/exporter/pyroscope"
	"github.com/spanprof/spanprof/internal/leaktest"
	"github.com/spanprof/spanprof/internal/nettest"
	"github.com/spanprof/spanprof/internal/report"
)

func TestMain(m *testing.M) { os.Exit(leaktest.Run(m)) }

// answer answers a push with a status and a text.
func answer(code int, text string, header ...string) func(push) bool {
	return func(p push) bool {
		if len(header) > 0 {
			p.w.Header().Set(header[0], header[1])
		}
		http.Error(p.w, text, code)
		return true
	}
}

// While the server fails for three minutes, nothing is lost that it would take later.
func TestOutage(t *testing.T) {
	for _, tt := range []struct {
		name     string
		fault    func(push) bool
		rejected bool
		retries  uint64        // of each profile, before it is rejected
		pause    time.Duration // between requests; 0 if it varies
		text     string        // of the report
	}{
		{name: "500 of a start", fault: answer(500, "push failed: rpc error: code = Unavailable"), text: "answers 500 Internal Server Error: push failed: rpc error: code = Unavailable"},
		{name: "422 of a start", fault: answer(422, `{"code":"unknown","message":"pushing IngestInput-pprof failed push series with index 0 and id failed: unknown: rpc error: code = Unavailable desc = service is unavailable"}`), text: "code = Unavailable"},
		{name: "422 of a rate", fault: answer(422, `{"code":"invalid_argument","message":"pushing IngestInput-pprof failed resource_exhausted: push rate limit (4.0 MiB) exceeded while adding 1.2 MiB"}`), text: "push rate limit (4.0 MiB) exceeded"},
		{name: "429", fault: answer(429, "rate limit", "Retry-After", "50"), pause: 50 * time.Second, text: "429 Too Many Requests: rate limit"},
		{name: "stored without an answer", fault: func(p push) bool { <-p.Context().Done(); return false }, text: "deadline exceeded"},
		{name: "500", fault: answer(500, "no such schema"), rejected: true, retries: 4, text: "cpu profile dropped: http://pyroscope/ingest answers 500 Internal Server Error: no such schema"},
		{name: "422 of a limit", fault: answer(422, "profile is too old"), rejected: true, text: "cpu profile dropped: http://pyroscope/ingest answers 422 Unprocessable Entity: profile is too old"},
		{name: "redirect", fault: func(p push) bool {
			http.Redirect(p.w, p.Request, "https://elsewhere/ingest", http.StatusMovedPermanently)
			return true
		}, rejected: true, text: "to https://elsewhere/ingest: redirects are not followed"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			reported := reports(t)
			synctest.Test(t, func(t *testing.T) {
				s := &ingest{fault: tt.fault}
				network := nettest.NewMemory()
				server := &http.Server{Handler: s, ErrorLog: log.New(io.Discard, "", 0)}
				done := make(chan struct{})
				go func() {
					defer close(done)
					_ = server.Serve(network)
				}()
				transport := &http.Transport{DialContext: network.DialContext}
				e, err := pyroscope.New("http://pyroscope", pyroscope.WithHTTPClient(&http.Client{Transport: transport}))
				if err != nil {
					t.Fatal(err)
				}
				const n = 18
				for range n {
					if err := e.Export(t.Context(), exporter.NewParsedProfile(now(), parsed(1))); err != nil {
						t.Error(err)
					}
					time.Sleep(10 * time.Second)
				}
				synctest.Wait()
				s.mu.Lock()
				s.fault = nil
				s.mu.Unlock()
				requests, _ := s.seen()
				for pair := range slices.Chunk(requests, 2) {
					if len(pair) == 2 && tt.pause > 0 && pair[1].at.Sub(pair[0].at) != tt.pause {
						t.Errorf("requests %v apart, want %v", pair[1].at.Sub(pair[0].at), tt.pause)
					}
				}
				if err := e.ForceFlush(t.Context()); (err != nil) != tt.rejected {
					t.Errorf("ForceFlush: %v", err)
				}
				got := e.Status()
				if tt.rejected && (got.Lost["rejected"] != n || got.Retries != n*tt.retries) || !tt.rejected && (got.Exported != n || lost(got) != 0) {
					t.Errorf("%+v, want all rejected: %t", got, tt.rejected)
				}
				s.compact()
				if !tt.rejected && len(s.rows) != n {
					t.Errorf("%d windows arrived, want %d", len(s.rows), n)
				}
				if err := e.Shutdown(t.Context()); err != nil {
					t.Error(err)
				}
				transport.CloseIdleConnections()
				_ = server.Close()
				<-done
				time.Sleep(time.Second) // the server closes connections late
			})
			if got := strings.Join(reported(), "\n"); !strings.Contains(got, tt.text) {
				t.Errorf("reported %q, want %q", got, tt.text)
			}
		})
	}
}

// reports collects the errors that are reported during a test.
func reports(t *testing.T) func() []string {
	t.Helper()
	var (
		mu   sync.Mutex
		errs []string
	)
	t.Cleanup(report.Synchronous(func(err error) {
		mu.Lock()
		defer mu.Unlock()
		errs = append(errs, err.Error())
	}))
	return func() []string {
		mu.Lock()
		defer mu.Unlock()
		return slices.Clone(errs)
	}
}

// lost returns the number of lost profiles.
func lost(s exporter.Status) (n uint64) {
	for _, lost := range s.Lost {
		n += lost
	}
	return n
}
