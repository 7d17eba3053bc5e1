// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package httpsend_test

import (
	"context"
	"errors"
	"fmt"
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

	"github.com/google/go-cmp/cmp"

	"github.com/spanprof/spanprof/exporter"
	"github.com/spanprof/spanprof/internal/httpsend"
	"github.com/spanprof/spanprof/internal/leaktest"
)

func TestMain(m *testing.M) { os.Exit(leaktest.Run(m)) }

func post(ctx context.Context, t *testing.T, c *http.Client, url string) ([]byte, error) {
	t.Helper()
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, url, strings.NewReader("profile"))
	if err != nil {
		t.Fatal(err)
	}
	answer, err := httpsend.Do(c, r)
	if err != nil {
		return nil, err
	}
	return answer.Body, nil
}

const protobuf = "application/x-protobuf"

func TestStatuses(t *testing.T) {
	for _, tt := range []struct {
		name   string
		answer http.HandlerFunc
		text   string               // of the error; empty if there is none
		retry  *exporter.RetryError // nil if there is none; without Err
	}{
		{name: "ok", answer: func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "body") }},
		{name: "rejected", answer: status(400, "", "no such label"), text: "answers 400 Bad Request: no such label"},
		{name: "no text", answer: status(401, "", " "), text: "answers 401 Unauthorized"},
		{name: "request timeout", answer: status(408, "", ""), text: "408", retry: &exporter.RetryError{}},
		{name: "too large", answer: status(413, "", ""), text: "413", retry: &exporter.RetryError{Refused: true, TooLarge: true}},
		{name: "bad gateway", answer: status(502, "", ""), text: "502", retry: &exporter.RetryError{}},
		{name: "busy", answer: status(503, "", "later"), text: "503 Service Unavailable: later", retry: &exporter.RetryError{}},
		{name: "gateway timeout", answer: status(504, "", ""), text: "504", retry: &exporter.RetryError{}},
		{name: "seconds", answer: status(429, "7", ""), text: "429", retry: &exporter.RetryError{After: 7 * time.Second, Refused: true}},
		{name: "not seconds", answer: status(429, "-7", ""), text: "429", retry: &exporter.RetryError{Refused: true}},
		{name: "past", answer: status(503, "Mon, 02 Jan 2006 15:04:05 GMT", ""), text: "503", retry: &exporter.RetryError{}},
		{name: "500", answer: status(500, "3", "oops"), text: "answers 500 Internal Server Error: oops", retry: &exporter.RetryError{After: 3 * time.Second, MaxAttempts: 5}},
		{name: "501", answer: status(501, "", ""), text: "501", retry: &exporter.RetryError{MaxAttempts: 5}},
		{name: "500 of a start", answer: status(500, "", "push failed: rpc error: code = Unavailable desc = connection refused"), text: "code = Unavailable", retry: &exporter.RetryError{}},
		{name: "500 of a start by Connect", answer: status(500, "", "failed to make a GRPC request: unavailable: no ring"), text: "unavailable", retry: &exporter.RetryError{}},
		{name: "500 with a Status", answer: typed(500, protobuf, "\x08\x0e\x12\x08starting\x1a\x00"), text: "500 Internal Server Error: starting", retry: &exporter.RetryError{}},
		{name: "500 with another Status", answer: typed(500, protobuf, "\x08\x0d\x12\x03bug"), text: "500 Internal Server Error: bug", retry: &exporter.RetryError{MaxAttempts: 5}},
		{name: "500 with a Status in JSON", answer: typed(500, "application/json", `{"code":14,"message":"starting"}`), text: `starting`, retry: &exporter.RetryError{}},
		{name: "500 with a word in JSON", answer: typed(500, "application/json", `{"code":"unavailable"}`), text: `unavailable`, retry: &exporter.RetryError{}},
		{name: "500 with another word", answer: typed(500, "application/json", `{"code":"internal"}`), text: `internal`, retry: &exporter.RetryError{MaxAttempts: 5}},
		{name: "500 that is no Status", answer: typed(500, protobuf, "\x12\x7fcut off"), text: "cut off", retry: &exporter.RetryError{MaxAttempts: 5}},
		{name: "400 with a Status", answer: typed(400, protobuf, "\x08\x0e\x12\x03bad"), text: "400 Bad Request: bad"},
		{name: "422 of a start", answer: status(422, "", "rpc error: code = Unavailable"), text: "422", retry: &exporter.RetryError{}},
		{name: "422 of the ring", answer: status(422, "", "at least 1 live replicas required, could only find 0"), text: "422", retry: &exporter.RetryError{}},
		{name: "422 of a rate", answer: status(422, "", "resource_exhausted: push rate limit"), text: "422", retry: &exporter.RetryError{Refused: true}},
		{name: "422", answer: status(422, "", `profile series '{service_name="unavailable"}' has 31 label names`), text: "31 label names"},
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
			got, _ := errors.AsType[*exporter.RetryError](err)
			if got != nil {
				bare := *got
				bare.Err, got = nil, &bare
			}
			if diff := cmp.Diff(tt.retry, got); diff != "" {
				t.Errorf("retry (-want +got):\n%s", diff)
			}
		})
	}
}

// By gRPC the code decides.
func TestJudgeCodes(t *testing.T) {
	const always = 0
	for code, want := range map[uint32]int{1: always, 4: always, 10: always, 11: always, 14: always, 15: always, 2: 5, 8: 5, 13: 5, 3: -1, 5: -1, 7: -1, 12: -1, 16: -1} {
		err := httpsend.Judge(httpsend.Failure{Code: code}, io.EOF)
		got := -1
		if retry, ok := errors.AsType[*exporter.RetryError](err); ok {
			got = retry.MaxAttempts
			if retry.Refused != (code == 8) {
				t.Errorf("code %d: refused %t", code, retry.Refused)
			}
		}
		if got != want || !errors.Is(err, io.EOF) {
			t.Errorf("code %d: %d attempts at most, want %d", code, got, want)
		}
	}
	throttled := httpsend.Judge(httpsend.Failure{Code: 8, After: time.Second}, io.EOF)
	if retry, ok := errors.AsType[*exporter.RetryError](throttled); !ok || retry.MaxAttempts != 0 || !retry.Refused {
		t.Errorf("ResourceExhausted with a pause: %#v", throttled)
	}
	large := httpsend.Judge(httpsend.Failure{Code: 8, Text: "received message larger than max (5 vs. 4)"}, io.EOF)
	if retry, ok := errors.AsType[*exporter.RetryError](large); !ok || !retry.TooLarge {
		t.Errorf("ResourceExhausted of a large message: %#v", large)
	}
}

func TestRetryAfterDate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		// The header has whole seconds.
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

// The status decides even if the body never ends.
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
				ctx, cancel := context.WithTimeout(t.Context(), timeout)
				defer cancel()
				begin := time.Now()
				body, err := post(ctx, t, hanging(tt.status), "http://127.0.0.1")
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

// hanging returns a client of a server with bodies that end with the request's context.
func hanging(status int) *http.Client {
	return &http.Client{Transport: roundTripper(func(r *http.Request) (*http.Response, error) {
		body, server := io.Pipe()
		go func() { _, _ = io.WriteString(server, "the beginning") }()
		context.AfterFunc(r.Context(), func() { _ = server.CloseWithError(r.Context().Err()) })
		return &http.Response{StatusCode: status, Status: fmt.Sprint(status, " ", http.StatusText(status)), Body: body}, nil
	})}
}

// The body of a 101 is the connection, which stays silent.
func TestStatusIsTheAnswer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		silent, _ := io.Pipe()
		for code, body := range map[int]io.Reader{200: iotest.ErrReader(errors.New("broken")), 101: silent} {
			c := &http.Client{Transport: roundTripper(func(*http.Request) (*http.Response, error) {
				return &http.Response{StatusCode: code, Body: io.NopCloser(body)}, nil
			})}
			if _, err := post(t.Context(), t, c, "http://127.0.0.1"); (err == nil) != (code == 200) {
				t.Errorf("%d: error %v", code, err)
			}
		}
	})
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

func typed(code int, contentType, text string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", contentType)
		w.WriteHeader(code)
		_, _ = io.WriteString(w, text)
	}
}

func status(code int, retryAfter, text string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		if retryAfter != "" {
			w.Header().Set("Retry-After", retryAfter)
		}
		w.WriteHeader(code)
		_, _ = io.WriteString(w, text)
	}
}

// A silent connection of HTTP/2 is found by pings. The program's settings for all its connections
// apply to ours.
func TestOwnPings(t *testing.T) {
	before := http.DefaultTransport
	defer func() { http.DefaultTransport = before }()
	http.DefaultTransport = &http.Transport{HTTP2: &http.HTTP2Config{SendPingTimeout: time.Hour, MaxReadFrameSize: 1 << 20}}
	if c := httpsend.NewTransport().HTTP2; c.SendPingTimeout != time.Hour || c.MaxReadFrameSize != 1<<20 {
		t.Errorf("HTTP2 %+v", c)
	}
	http.DefaultTransport = roundTripper(nil)
	if c := httpsend.NewTransport().HTTP2; !short(c.SendPingTimeout) || !short(c.PingTimeout) {
		t.Errorf("HTTP2 %+v", c)
	}
}

func short(d time.Duration) bool { return 0 < d && d <= time.Minute }
