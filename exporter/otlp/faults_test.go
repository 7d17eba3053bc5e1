// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package otlp_test

import (
	"errors"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	collectorpb "go.opentelemetry.io/proto/slim/otlp/collector/profiles/v1development"

	"github.com/spanprof/spanprof/internal/report/reporttest"
)

// fault is what may be wrong for three minutes, and what must become of the
// profiles that are exported meanwhile. Server and client are from net/http, with TLS.
type fault struct {
	name string
	// One of them is set: the server's answer, no server, another certificate, or a
	// connection that becomes silent after a profile, while others work.
	answer    answerFunc
	away      bool
	untrusted bool
	silent    bool
	// http1 is that the server does not speak HTTP/2.
	http1 bool
	// rejected is that nothing arrives; by default all does.
	rejected bool
	// retries is how often each profile is sent again before it is rejected.
	retries int
	// doubtful is that the backend may have the profiles twice.
	doubtful bool
	// pause is how long the exporter leaves the backend alone.
	pause time.Duration
	// reported is part of a reported error.
	reported string
}

var faults = []fault{
	{name: "503", answer: status(503, "starting"), doubtful: true, reported: "503 Service Unavailable: starting"},
	{name: "429 with Retry-After", answer: status(429, "slow down", "Retry-After", "100"), pause: 100 * time.Second, reported: "slow down"},
	{name: "500 of a start", answer: status(500, "failed to make a GRPC request: rpc error: code = Unavailable"), doubtful: true, reported: "code = Unavailable"},
	{name: "500", answer: status(500, "bug"), rejected: true, retries: 4, reported: "500 Internal Server Error: bug"},
	{name: "400", answer: status(400, "no such version"), rejected: true, reported: "400 Bad Request: no such version"},
	{name: "body limit", answer: limit, rejected: true, reported: "413 Request Entity Too Large: http: request body too large"},
	{name: "redirect", answer: func(_ *backend, w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, "https://elsewhere.invalid/", http.StatusTemporaryRedirect)
	}, rejected: true, reported: "to https://elsewhere.invalid/: redirects are not followed"},
	{name: "101", answer: switching, http1: true, rejected: true, reported: "answers 101 Switching Protocols"},
	{name: "login page", answer: status(200, "<html>\n<title>Log in</title>", "Content-Type", "text/html; charset=utf-8"), rejected: true, reported: "not as OTLP does: is the endpoint right? The answer is text/html: <html> <title>Log in</title>\n"},
	{name: "partial success", answer: partial(1, "no\r\nCPU here"), rejected: true, reported: "partial success: 1 profile(s) rejected: no CPU here"},
	{name: "warning", answer: partial(0, "deprecated"), reported: "profiles taken, with a warning: deprecated"},
	{name: "success without its body", answer: func(b *backend, w http.ResponseWriter, r *http.Request) {
		b.receive(r)
		w.Header().Set("Content-Length", "5")
		_ = http.NewResponseController(w).Flush()
		<-r.Context().Done()
	}},
	{name: "hang", answer: hang, doubtful: true, reported: "context deadline exceeded"},
	{name: "hang by HTTP/1.1", answer: hang, http1: true, doubtful: true, reported: "context deadline exceeded"},
	{name: "slow trickle", answer: trickle, doubtful: true, reported: "503 Service Unavailable"},
	{name: "stream broken", answer: abort, doubtful: true, reported: "INTERNAL_ERROR"},
	{name: "connection broken", answer: abort, http1: true, doubtful: true, reported: "EOF"},
	{name: "connection refused", away: true, reported: "refused"},
	{name: "TLS", untrusted: true, reported: "unknown authority"},
	{name: "silent connection", silent: true, doubtful: true, reported: "context deadline exceeded"},
	{name: "silent connection by HTTP/1.1", silent: true, http1: true, doubtful: true, reported: "context deadline exceeded"},
}

func limit(_ *backend, w http.ResponseWriter, r *http.Request) {
	_, err := io.Copy(io.Discard, http.MaxBytesReader(w, r.Body, 10))
	http.Error(w, err.Error(), http.StatusRequestEntityTooLarge)
}

// switching leaves it to the client to end the connection.
func switching(b *backend, w http.ResponseWriter, r *http.Request) {
	_, _ = io.Copy(io.Discard, r.Body)
	c, _, err := http.NewResponseController(w).Hijack()
	if err != nil {
		b.t.Error(err)
		return
	}
	_, _ = io.WriteString(c, "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: x\r\n\r\n")
	_, _ = io.Copy(io.Discard, c)
	_ = c.Close()
}

func hang(_ *backend, _ http.ResponseWriter, r *http.Request) {
	_, _ = io.Copy(io.Discard, r.Body)
	<-r.Context().Done()
	// The client is about to close the connection, and might still get an answer.
	panic(http.ErrAbortHandler)
}

// trickle sends a byte of the body each second.
func trickle(_ *backend, w http.ResponseWriter, r *http.Request) {
	_, _ = io.Copy(io.Discard, r.Body)
	w.WriteHeader(http.StatusServiceUnavailable)
	for r.Context().Err() == nil {
		_, _ = io.WriteString(w, ".")
		_ = http.NewResponseController(w).Flush()
		<-time.After(time.Second)
	}
}

func abort(*backend, http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }

func partial(rejected int64, message string) answerFunc {
	return func(b *backend, w http.ResponseWriter, r *http.Request) {
		if rejected == 0 {
			b.receive(r)
		}
		answer(w, &collectorpb.ExportProfilesServiceResponse{
			PartialSuccess: &collectorpb.ExportProfilesPartialSuccess{RejectedProfiles: rejected, ErrorMessage: message},
		})
	}
}

// errorLog has the reported errors.
type errorLog struct {
	mu   sync.Mutex
	errs []error
}

func (l *errorLog) Handle(err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.errs = append(l.errs, err)
}

func (l *errorLog) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return errors.Join(l.errs...).Error() + "\n"
}

func TestFaultForMinutes(t *testing.T) {
	newCertificates(t)
	for _, tt := range faults {
		t.Run(tt.name, func(t *testing.T) {
			log := &errorLog{errs: []error{errors.New("reported")}}
			reporttest.Handle(t, log.Handle)
			synctest.Test(t, func(t *testing.T) {
				b, e, stop := tt.upInMemory(t)
				time.AfterFunc(3*time.Minute, b.heal)
				for n := range int64(3) {
					export(t, e, n+1)
					time.Sleep(30 * time.Second)
				}
				if err := e.ForceFlush(t.Context()); (err != nil) != tt.rejected {
					t.Errorf("ForceFlush: %v", err)
				}
				stats := e.Status()
				requests, messages := b.received()
				switch {
				case tt.rejected:
					if stats.Lost["rejected"] != 3 || stats.Retries != uint64(3*tt.retries) || len(requests) != 3*(tt.retries+1) {
						t.Errorf("%+v after %d requests, want 3 rejected profiles after %d retries each", stats, len(requests), tt.retries)
					}
				case stats.Exported != 3 || len(stats.Lost) != 0:
					t.Errorf("%+v, want 3 exported", stats)
				case !slices.Equal(slices.Sorted(slices.Values(numbers(messages))), []int64{1, 2, 3}):
					t.Errorf("the backend has %d", numbers(messages))
				}
				if tt.doubtful != (stats.Duplicates > 0) {
					t.Errorf("%d possible duplicates", stats.Duplicates)
				}
				if tt.pause > 0 && len(requests) != 3+2 {
					t.Errorf("%d requests in 3 min with pauses of %v", len(requests), tt.pause)
				}
				if err := e.Shutdown(t.Context()); err != nil {
					t.Error(err)
				}
				stop()
			})
			if !strings.Contains(log.String(), tt.reported) {
				t.Errorf("reported %s, want %q", log, tt.reported)
			}
		})
	}
}
