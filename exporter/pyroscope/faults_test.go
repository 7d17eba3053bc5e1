// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package pyroscope_test

import (
	"crypto/tls"
	"fmt"
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
	"github.com/spanprof/spanprof/internal/report"
)

func TestMain(m *testing.M) { os.Exit(leaktest.Run(m)) }

// discard is the log of the servers, which complain about the faults.
var discard = log.New(io.Discard, "", 0)

// fault is a way in which the server or the network fails for minutes, and what
// must hold then.
type fault struct {
	name   string
	answer func(b *backend, w http.ResponseWriter, r *http.Request)
	tls    bool // the server's certificate is unknown; it does not heal
	gone   bool // nothing listens; it does not heal

	retried    bool          // otherwise the profiles are dropped
	retries    uint64        // of each profile, before it is dropped
	pause      time.Duration // between attempts, from the server; 0: backoff
	duplicates bool          // the server may have stored what it did not confirm
	text       string        // of the report
}

var faults = []fault{
	{name: "500 of a start", answer: status(http.StatusInternalServerError, "rpc error: code = Unavailable"), retried: true, duplicates: true, text: "answers 500 Internal Server Error: rpc error: code = Unavailable"},
	{name: "500", answer: status(http.StatusInternalServerError, "no such schema"), retries: 4, text: "cpu profile dropped: http://pyroscope/ingest answers 500 Internal Server Error: no such schema"},
	{name: "502", answer: status(http.StatusBadGateway, ""), retried: true, duplicates: true, text: "answers 502 Bad Gateway"},
	{name: "503", answer: status(http.StatusServiceUnavailable, ""), retried: true, duplicates: true, text: "answers 503 Service Unavailable"},
	{name: "408", answer: status(http.StatusRequestTimeout, ""), retried: true, duplicates: true, text: "answers 408 Request Timeout"},
	{name: "429 with Retry-After", answer: func(_ *backend, w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Retry-After", "50") // so that no attempt is at the end of the fault
		http.Error(w, "rate limit", http.StatusTooManyRequests)
	}, retried: true, pause: 50 * time.Second, text: "answers 429 Too Many Requests: rate limit"},
	{name: "422 of a restart", answer: status(http.StatusUnprocessableEntity, "rpc error: code = Unavailable"), retried: true, duplicates: true, text: "code = Unavailable"},
	{name: "422 of a rate limit", answer: status(http.StatusUnprocessableEntity, `{"code":"invalid_argument","message":"pushing IngestInput-pprof failed resource_exhausted: push rate limit (4.0 MiB) exceeded while adding 1.2 MiB"}`), retried: true, text: "push rate limit (4.0 MiB) exceeded"},
	{name: "hang", answer: func(b *backend, w http.ResponseWriter, r *http.Request) {
		b.take(w, r) // it is stored, and no answer arrives
		<-r.Context().Done()
	}, retried: true, duplicates: true, text: "deadline exceeded"},
	{name: "trickle before the answer", answer: func(_ *backend, w http.ResponseWriter, r *http.Request) {
		for r.Context().Err() == nil {
			w.WriteHeader(http.StatusEarlyHints)
			<-time.After(time.Second)
		}
	}, retried: true, duplicates: true, text: "deadline exceeded"},
	{name: "connection closed", answer: func(*backend, http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }, retried: true, duplicates: true, text: "EOF"},
	{name: "connection refused", gone: true, retried: true, text: "connection refused"},
	{name: "TLS error", tls: true, retried: true, text: "certificate"},

	{name: "400", answer: status(http.StatusBadRequest, "invalid label"), text: "pyroscope: cpu profile dropped: http://pyroscope/ingest answers 400 Bad Request: invalid label"},
	{name: "401", answer: status(http.StatusUnauthorized, "no org id"), text: "answers 401 Unauthorized: no org id"},
	{name: "422 of the limits", answer: status(http.StatusUnprocessableEntity, "profile is too old"), text: "answers 422 Unprocessable Entity: profile is too old"},
	{name: "body limit", answer: func(_ *backend, w http.ResponseWriter, r *http.Request) {
		_, err := io.Copy(io.Discard, http.MaxBytesReader(w, r.Body, 10))
		http.Error(w, err.Error(), http.StatusRequestEntityTooLarge)
	}, text: "answers 413 Request Entity Too Large: http: request body too large"},
	{name: "redirect", answer: func(_ *backend, w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, "https://elsewhere/ingest", http.StatusMovedPermanently)
	}, text: "to https://elsewhere/ingest: redirects are not followed"},
}

func status(code int, text string) func(*backend, http.ResponseWriter, *http.Request) {
	return func(_ *backend, w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		http.Error(w, text, code)
	}
}

// up returns an Exporter in front of a backend that has the fault.
func (f fault) up(t *testing.T) (b *backend, e *exporter.Queue, stop func()) {
	t.Helper()
	b = &backend{t: t, fault: f.answer}
	address := "http://pyroscope"
	var config *tls.Config
	if f.tls {
		config, address = unknown, "https://pyroscope"
	}
	client, stop := serve(t, b, config)
	if f.gone {
		stop()
		stop = func() {}
	}
	e, err := pyroscope.New(address, pyroscope.WithHTTPClient(client))
	if err != nil {
		t.Fatal(err)
	}
	return b, e, stop
}

// unknown is made outside of the bubbles, in which there is no network.
var unknown *tls.Config

func TestFaults(t *testing.T) {
	unknown = certificate(t)
	for _, f := range faults {
		t.Run(f.name, func(t *testing.T) {
			reported := reports(t)
			t.Run("outage", func(t *testing.T) { synctest.Test(t, f.outage) })
			if got := strings.Join(reported(), "\n"); !strings.Contains(got, f.text) {
				t.Errorf("reported %q, want %q", got, f.text)
			}
		})
	}
}

// outage has the fault for three minutes, with a profile every ten seconds, and
// then none.
func (f fault) outage(t *testing.T) {
	b, e, stop := f.up(t)
	var ends []time.Time
	for range 18 {
		p := window(time.Now())
		ends = append(ends, p.End())
		if err := e.Export(t.Context(), p); err != nil {
			t.Error(err)
		}
		<-time.After(10 * time.Second)
	}
	synctest.Wait()
	attempts := b.heal()
	s := e.Status()
	switch {
	case f.gone || f.tls:
		if s.Waiting != 18 || lost(s) != 0 {
			t.Errorf("Stats %+v, want all 18 profiles to wait", s)
		}
		<-time.After(10 * time.Minute)
		synctest.Wait()
		if s = e.Status(); s.Lost["expired"] != 18 || s.Waiting != 0 {
			t.Errorf("Stats %+v, want all 18 profiles to be too old", s)
		}
	case f.retried:
		if s.Waiting != 18 || lost(s) != 0 {
			t.Errorf("Stats %+v, want all 18 profiles to wait", s)
		}
		if err := e.ForceFlush(t.Context()); err != nil {
			t.Error(err)
		}
		s = e.Status()
		if s.Exported != 18 || lost(s) != 0 || (s.Duplicates > 0) != f.duplicates {
			t.Errorf("Stats %+v, want all 18 profiles to have arrived, perhaps twice: %t", s, f.duplicates)
		}
		b.wantArrived(ends)
		var twice uint64
		for _, n := range b.arrived() {
			if n > 1 {
				twice++
			}
		}
		if twice > s.Duplicates {
			t.Errorf("%d windows arrived more than once, %d are counted", twice, s.Duplicates)
		}
		for i := range len(attempts) - 1 {
			if pause := attempts[i+1].Sub(attempts[i]); f.pause > 0 && pause != f.pause || pause < 50*time.Millisecond {
				t.Errorf("attempts %v apart, want %v", pause, f.pause)
			}
		}
	default:
		if s.Lost["rejected"] != 18 || s.Retries != 18*f.retries || s.Waiting != 0 {
			t.Errorf("Stats %+v, want all 18 profiles to be rejected", s)
		}
		b.wantArrived(nil)
	}
	if err := e.Shutdown(t.Context()); (err != nil) != (lost(s) > 0) {
		t.Errorf("Shutdown: %v after %+v", err, s)
	}
	stop()
}

// A success with a body that trickles is a success.
func TestTrickleAfterTheAnswer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := fault{answer: func(b *backend, w http.ResponseWriter, r *http.Request) {
			b.take(w, r)
			for i := 0; r.Context().Err() == nil; i++ {
				fmt.Fprintln(w, i)
				_ = http.NewResponseController(w).Flush()
				<-time.After(time.Second)
			}
		}}
		_, e, stop := f.up(t)
		if err := e.Export(t.Context(), window(time.Now())); err != nil {
			t.Error(err)
		}
		if err := e.ForceFlush(t.Context()); err != nil {
			t.Error(err)
		}
		if s := e.Status(); s.Exported != 1 || s.Retries != 0 {
			t.Errorf("Stats %+v", s)
		}
		if err := e.Shutdown(t.Context()); err != nil {
			t.Error(err)
		}
		stop()
	})
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
