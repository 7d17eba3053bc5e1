// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package httpsend_test

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"
	"testing/iotest"
	"testing/synctest"
	"time"

	"github.com/spanprof/spanprof/exporter"
	"github.com/spanprof/spanprof/internal/httpsend"
	"github.com/spanprof/spanprof/internal/leaktest"
	"github.com/spanprof/spanprof/internal/nettest"
)

func TestMain(m *testing.M) { os.Exit(leaktest.Run(m)) }

func retryable(status int, _ []byte) bool {
	return status == http.StatusTooManyRequests || status == http.StatusServiceUnavailable
}

func post(ctx context.Context, t *testing.T, c *http.Client, url string) ([]byte, error) {
	t.Helper()
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, url, strings.NewReader("profile"))
	if err != nil {
		t.Fatal(err)
	}
	answer, err := httpsend.Do(c, r, httpsend.Protocol{Retryable: retryable})
	if err != nil {
		return nil, err
	}
	return answer.Body, nil
}

func TestStatuses(t *testing.T) {
	for _, tt := range []struct {
		name    string
		answer  http.HandlerFunc
		text    string // of the error; none is expected where it is empty
		retry   bool
		after   time.Duration
		refused bool
	}{
		{name: "ok", answer: func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "body") }},
		{name: "rejected", answer: status(400, "", "no such label"), text: "answers 400 Bad Request: no such label"},
		{name: "no text", answer: status(401, "", " "), text: "answers 401 Unauthorized"},
		{name: "not to be retried", answer: status(500, "3", "oops"), text: "answers 500 Internal Server Error: oops"},
		{name: "busy", answer: status(503, "", "later"), text: "503 Service Unavailable: later", retry: true},
		{name: "seconds", answer: status(429, "7", ""), text: "429", retry: true, after: 7 * time.Second, refused: true},
		{name: "not seconds", answer: status(429, "-7", ""), text: "429", retry: true, refused: true},
		{name: "past", answer: status(503, "Mon, 02 Jan 2006 15:04:05 GMT", ""), text: "503", retry: true},
		{name: "redirect", answer: func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, "https://user:secret@example.com/ingest", http.StatusMovedPermanently)
		}, text: "answers 301 Moved Permanently to https://user:xxxxx@example.com/ingest: redirects are not followed, use that address"},
		{name: "redirect with a query", answer: func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, "https://example.com/login?token=secret#x", http.StatusFound)
		}, text: "answers 302 Found to https://example.com/login: redirects"},
		{name: "control characters", answer: status(400, "", "no\x1b[2J such\r\n\tlabel\x00\xff\u202e \u2028 ü\n"), text: "400 Bad Request: no [2J such label ü"},
		{name: "long text", answer: status(400, "", strings.Repeat("x", 100<<10)), text: strings.Repeat("x", 1<<10)},
	} {
		t.Run(tt.name, func(t *testing.T) {
			server := httptest.NewServer(tt.answer)
			defer server.Close()
			body, err := post(t.Context(), t, httpsend.WithoutRedirects(server.Client()), server.URL)
			if tt.text == "" {
				if err != nil || string(body) != "body" {
					t.Errorf("Do = %q, %v", body, err)
				}
				return
			}
			if err == nil || !strings.Contains(err.Error(), tt.text) || len(err.Error()) > 2<<10 {
				t.Errorf("error %v, want %q", err, tt.text)
			}
			var retry *exporter.RetryError
			if errors.As(err, &retry) != tt.retry {
				t.Fatalf("error %#v, want a retry: %t", err, tt.retry)
			}
			if tt.retry && (retry.After != tt.after || retry.Refused != tt.refused) {
				t.Errorf("retry %+v, want after %v, refused %t", retry, tt.after, tt.refused)
			}
		})
	}
}

func TestRetryAfterDate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		// A whole number of seconds, as the header has it.
		at := time.Now().Add(time.Minute).UTC().Truncate(time.Second)
		c := &http.Client{Transport: roundTripper(func(r *http.Request) (*http.Response, error) {
			w := httptest.NewRecorder()
			status(503, at.Format(http.TimeFormat), "")(w, r)
			return w.Result(), nil
		})}
		_, err := post(t.Context(), t, c, "http://127.0.0.1")
		var retry *exporter.RetryError
		if !errors.As(err, &retry) || retry.After != time.Until(at) {
			t.Errorf("error %#v, want a retry after %v", err, time.Until(at))
		}
	})
}

func TestNoAnswer(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	closed := "http://" + listener.Addr().String()
	if err := listener.Close(); err != nil {
		t.Fatal(err)
	}
	secure := httptest.NewTLSServer(http.NotFoundHandler())
	defer secure.Close()
	secure.Config.ErrorLog = nil
	aborting := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }))
	defer aborting.Close()
	transport := httpsend.NewTransport()
	defer transport.CloseIdleConnections()

	for _, tt := range []struct {
		name, url string
		refused   bool
	}{
		{"connection refused", closed, true},
		{"unknown certificate", secure.URL, true},
		{"connection broken", aborting.URL, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			_, err := post(t.Context(), t, &http.Client{Transport: transport}, tt.url)
			var retry *exporter.RetryError
			if !errors.As(err, &retry) || retry.Refused != tt.refused || retry.After != 0 {
				t.Errorf("error %#v, want a retry, refused %t", err, tt.refused)
			}
		})
	}
}

// A status is the answer, also where the body never ends.
func TestBodyHangs(t *testing.T) {
	for _, tt := range []struct {
		status int
		text   string
	}{
		{http.StatusBadRequest, "answers 400 Bad Request: the beginning"},
		{http.StatusOK, ""},
	} {
		for _, timeout := range []time.Duration{time.Minute, time.Second} {
			synctest.Test(t, func(t *testing.T) {
				client, stop := hanging(tt.status)
				defer stop()
				ctx, cancel := context.WithTimeout(t.Context(), timeout)
				defer cancel()
				begin := time.Now()
				body, err := post(ctx, t, client, "http://127.0.0.1")
				if tt.text == "" && (err != nil || string(body) != "the beginning") {
					t.Errorf("Do = %q, %v", body, err)
				}
				if tt.text != "" && (err == nil || !strings.Contains(err.Error(), tt.text)) {
					t.Errorf("error %v", err)
				}
				if _, ok := errors.AsType[*exporter.RetryError](err); ok {
					t.Errorf("error %#v, want none that is retried", err)
				}
				if took, want := time.Since(begin), min(time.Second, timeout/2); took != want || ctx.Err() != nil {
					t.Errorf("the body took %v of the %v of the attempt, want %v", took, timeout, want)
				}
			})
		}
	}
}

// hanging returns a client of a server, in memory, whose bodies never end. It is for synctest
// bubbles.
func hanging(status int) (client *http.Client, stop func()) {
	network := nettest.NewMemory()
	server := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		w.WriteHeader(status)
		_, _ = io.WriteString(w, "the beginning")
		_ = http.NewResponseController(w).Flush()
		<-r.Context().Done()
	})}
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = server.Serve(network)
	}()
	transport := &http.Transport{DialContext: network.DialContext}
	return &http.Client{Transport: transport}, func() {
		transport.CloseIdleConnections()
		_ = server.Close()
		<-done
	}
}

// The body of a 101 is the connection, which nobody else ends.
func TestSwitchingProtocols(t *testing.T) {
	ended := make(chan struct{})
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		defer close(ended)
		_, _ = io.Copy(io.Discard, r.Body)
		c, _, err := http.NewResponseController(w).Hijack()
		if err != nil {
			t.Error(err)
			return
		}
		_, _ = io.WriteString(c, "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: x\r\n\r\n")
		_, _ = io.Copy(io.Discard, c)
		_ = c.Close()
	}))
	defer server.Close()
	_, err := post(t.Context(), t, server.Client(), server.URL)
	if err == nil || !strings.Contains(err.Error(), "answers 101 Switching Protocols") {
		t.Errorf("error %v", err)
	}
	<-ended
}

func TestStatusIsTheAnswer(t *testing.T) {
	c := &http.Client{Transport: roundTripper(func(*http.Request) (*http.Response, error) {
		return &http.Response{StatusCode: http.StatusOK, Body: io.NopCloser(iotest.ErrReader(errors.New("broken")))}, nil
	})}
	if _, err := post(t.Context(), t, c, "http://127.0.0.1"); err != nil {
		t.Errorf("Do: %v", err)
	}
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

func status(code int, retryAfter, text string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		if retryAfter != "" {
			w.Header().Set("Retry-After", retryAfter)
		}
		w.WriteHeader(code)
		_, _ = io.WriteString(w, text)
	}
}
