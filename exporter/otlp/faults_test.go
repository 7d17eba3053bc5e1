// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package otlp_test

import (
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"go.opentelemetry.io/otel"
	collectorpb "go.opentelemetry.io/proto/slim/otlp/collector/profiles/v1development"

	"github.com/spanprof/spanprof/exporter"
	"github.com/spanprof/spanprof/exporter/otlp"
)

// faults are what may be wrong for three minutes, and what must become of the
// profiles that are exported meanwhile.
var faults = []struct {
	name  string
	fault func(*http.Request) (*http.Response, error)
	// want is what holds after the fault; by default all arrives.
	rejected bool
	// doubtful is that the backend may have the profiles twice.
	doubtful bool
	// pause is how long the exporter leaves the backend alone.
	pause time.Duration
	// reported is part of what the error handler hears.
	reported string
}{
	{name: "503", fault: status(503, "starting"), doubtful: true, reported: "503 Service Unavailable: starting"},
	{name: "502", fault: status(502, ""), doubtful: true, reported: "502"},
	{name: "504", fault: status(504, ""), doubtful: true, reported: "504"},
	{name: "429 with Retry-After", fault: status(429, "slow down", "Retry-After", "100"), pause: 100 * time.Second, reported: "slow down"},
	{name: "500", fault: status(500, "bug"), rejected: true, reported: "500 Internal Server Error: bug"},
	{name: "400", fault: status(400, "no such version"), rejected: true, reported: "400 Bad Request: no such version"},
	{name: "body limit", fault: status(413, "too large"), rejected: true, reported: "413 Request Entity Too Large: too large"},
	{name: "redirect", fault: status(307, "", "Location", "https://elsewhere.example/"), rejected: true, reported: "redirects are not followed"},
	{name: "400 with a Status", fault: status(400, "\x08\x03\x12\x0cno\x1b profiles", "Content-Type", "application/x-protobuf"), rejected: true, reported: "400 Bad Request: no profiles\n"},
	{name: "503 with a Status", fault: status(503, "\x08\x0e\x12\x08starting", "Content-Type", "application/x-protobuf"), doubtful: true, reported: "503 Service Unavailable: starting\n"},
	{name: "400 that is no Status", fault: status(400, "plain", "Content-Type", "application/x-protobuf"), rejected: true, reported: "400 Bad Request: plain"},
	{name: "login page", fault: status(200, "<html>\n<title>Log in</title>", "Content-Type", "text/html; charset=utf-8"), rejected: true, reported: "not as OTLP does: is the endpoint right? It says text/html: <html> <title>Log in</title>\n"},
	{name: "partial success", fault: partial(1, "no\r\nCPU here"), rejected: true, reported: "partial success: 1 profile(s) rejected: no CPU here"},
	{name: "warning", fault: partial(0, "deprecated"), reported: "profiles taken, with a warning: deprecated"},
	{name: "hang", fault: func(r *http.Request) (*http.Response, error) {
		<-r.Context().Done()
		return nil, r.Context().Err()
	}, doubtful: true, reported: "context deadline exceeded"},
	{name: "slow trickle", fault: func(r *http.Request) (*http.Response, error) {
		response := respond(503, "")
		response.Body = trickle{r.Context()}
		return response, nil
	}, doubtful: true, reported: "503"},
	{name: "connection refused", fault: func(*http.Request) (*http.Response, error) {
		return nil, &net.OpError{Op: "dial", Err: errors.New("connection refused")}
	}, reported: "connection refused"},
	{name: "connection broken", fault: func(*http.Request) (*http.Response, error) {
		return nil, io.ErrUnexpectedEOF
	}, doubtful: true, reported: "unexpected EOF"},
	{name: "TLS", fault: func(*http.Request) (*http.Response, error) {
		return nil, &tls.CertificateVerificationError{Err: errors.New("unknown authority")}
	}, reported: "unknown authority"},
}

func status(code int, body string, header ...string) func(*http.Request) (*http.Response, error) {
	return func(*http.Request) (*http.Response, error) { return respond(code, body, header...), nil }
}

func partial(rejected int64, message string) func(*http.Request) (*http.Response, error) {
	return func(*http.Request) (*http.Response, error) {
		return answer(http.StatusOK, &collectorpb.ExportProfilesServiceResponse{
			PartialSuccess: &collectorpb.ExportProfilesPartialSuccess{RejectedProfiles: rejected, ErrorMessage: message},
		}), nil
	}
}

// trickle is a body of which a byte comes each second.
type trickle struct{ ctx context.Context }

func (t trickle) Read(b []byte) (int, error) {
	select {
	case <-time.After(time.Second):
		b[0] = '.'
		return 1, nil
	case <-t.ctx.Done():
		return 0, t.ctx.Err()
	}
}

func (trickle) Close() error { return nil }

// errorLog is what the error handler has heard.
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

// newExporter returns one in front of b.
func newExporter(t *testing.T, b *backend, opts ...otlp.Option) *exporter.Queue {
	t.Helper()
	e, err := otlp.New(append([]otlp.Option{otlp.WithHTTPClient(&http.Client{Transport: b})}, opts...)...)
	if err != nil {
		t.Fatal(err)
	}
	return e
}

func export(t *testing.T, e *exporter.Queue, number int64) {
	t.Helper()
	if err := e.Export(t.Context(), newProfile(number)); err != nil {
		t.Fatal(err)
	}
}

func TestFaultForMinutes(t *testing.T) {
	for _, tt := range faults {
		t.Run(tt.name, func(t *testing.T) {
			log := &errorLog{errs: []error{errors.New("reported")}}
			otel.SetErrorHandler(log)
			synctest.Test(t, func(t *testing.T) {
				start := time.Now()
				b := &backend{t: t}
				b.fault = func(r *http.Request) (*http.Response, error) {
					if time.Since(start) > 3*time.Minute {
						return nil, nil
					}
					return tt.fault(r)
				}
				e := newExporter(t, b)
				for n := range int64(3) {
					export(t, e, n+1)
					time.Sleep(30 * time.Second)
				}
				if err := e.ForceFlush(t.Context()); err != nil {
					t.Error(err)
				}
				stats := e.Stats()
				requests, messages := b.received()
				taken := tt.name == "warning"
				switch {
				case tt.rejected:
					if stats.Rejected != 3 || stats.Retries != 0 || len(requests) != 3 {
						t.Errorf("%+v after %d requests, want 3 rejected profiles and no retry", stats, len(requests))
					}
				case stats.Exported != 3 || stats.Dropped() != 0:
					t.Errorf("%+v, want 3 exported", stats)
				case !taken && !slices.Equal(slices.Sorted(slices.Values(numbers(messages))), []int64{1, 2, 3}):
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
			})
			if !strings.Contains(log.String(), tt.reported) {
				t.Errorf("reported %s, want %q", log, tt.reported)
			}
		})
	}
}

func TestShutdownDuringFault(t *testing.T) {
	otel.SetErrorHandler(&errorLog{errs: []error{errors.New("reported")}})
	for _, tt := range faults {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := &backend{t: t, fault: tt.fault}
				e := newExporter(t, b)
				export(t, e, 1)
				export(t, e, 2)
				time.Sleep(5 * time.Second)

				start := time.Now()
				ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
				defer cancel()
				err := e.Shutdown(ctx)
				if d := time.Since(start); d > 200*time.Millisecond {
					t.Errorf("Shutdown took %v", d)
				}
				stats := e.Stats()
				if lost := stats.Unsent > 0; lost != (err != nil) || lost && !strings.Contains(err.Error(), "2 profile(s) not exported") {
					t.Errorf("Shutdown: %v with %+v", err, stats)
				}
				if stats.Exported+stats.Rejected+stats.Unsent != 2 || stats.Waiting != 0 {
					t.Errorf("%+v, want 2 profiles in all", stats)
				}
				if err := e.Shutdown(t.Context()); err != nil {
					t.Errorf("second Shutdown: %v", err)
				}
			}) // waits for every goroutine to end
		})
	}
}
