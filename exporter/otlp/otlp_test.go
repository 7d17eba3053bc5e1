// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package otlp_test

import (
	"encoding/pem"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/pprof/profile"

	"github.com/spanprof/spanprof/exporter"
	"github.com/spanprof/spanprof/exporter/otlp"
	"github.com/spanprof/spanprof/internal/leaktest"
	"github.com/spanprof/spanprof/internal/report/reporttest"
)

func TestMain(m *testing.M) { os.Exit(leaktest.Run(m)) }

// newExporter returns one in front of b, without a network.
func newExporter(t *testing.T, b *backend, opts ...otlp.Option) *exporter.Queue {
	t.Helper()
	e, err := otlp.New(append([]otlp.Option{otlp.WithHTTPClient(&http.Client{Transport: b})}, opts...)...)
	if err != nil {
		t.Fatal(err)
	}
	return e
}

// export exports a profile with a number of samples of a span.
func export(t *testing.T, e *exporter.Queue, number int64) {
	t.Helper()
	p := exporter.NewParsedProfile(exporter.Window{Kind: exporter.KindCPU}, &profile.Profile{
		SampleType: []*profile.ValueType{{Type: "samples", Unit: "count"}},
		Sample: []*profile.Sample{{
			Value: []int64{number},
			Label: map[string][]string{
				"trace_id":   {"0123456789abcdef0123456789abcdef"},
				"span_id":    {"0123456789abcdef"},
				"profile_id": {"0123456789abcdef"},
				"span_name":  {"GET /"},
			},
		}},
	})
	if err := e.Export(t.Context(), p); err != nil {
		t.Fatal(err)
	}
}

// sent returns the one request that an exporter with opts makes.
func sent(t *testing.T, opts ...otlp.Option) (*http.Request, *backend) {
	t.Helper()
	b := &backend{t: t}
	e := newExporter(t, b, opts...)
	export(t, e, 1)
	if err := e.Shutdown(t.Context()); err != nil {
		t.Fatal(err)
	}
	requests, _ := b.received()
	if len(requests) != 1 {
		t.Fatalf("%d requests, want 1", len(requests))
	}
	return requests[0], b
}

func TestRequest(t *testing.T) {
	r, b := sent(t, otlp.WithHeaders(map[string]string{"Authorization": "Bearer x"}))
	if got := r.URL.String(); got != "https://localhost:4318/v1development/profiles" {
		t.Errorf("URL %s", got)
	}
	for k, want := range map[string]string{
		"Content-Type":                      "application/x-protobuf",
		"Content-Encoding":                  "gzip",
		"Otlp-Profiles-Development-Version": "1",
		"Authorization":                     "Bearer x",
	} {
		if got := r.Header.Get(k); got != want {
			t.Errorf("%s: %q, want %q", k, got, want)
		}
	}
	_, messages := b.received()
	sample, tables := messages[0].ResourceProfiles[0].ScopeProfiles[0].Profiles[0].Samples[0], messages[0].Dictionary
	if id := tables.LinkTable[sample.LinkIndex].SpanId; string(id) != "\x01\x23\x45\x67\x89\xab\xcd\xef" || sample.Values[0] != 1 {
		t.Errorf("span %x, values %v", id, sample.Values)
	}
}

func TestConversion(t *testing.T) {
	t.Setenv("OTEL_EXPORTER_OTLP_COMPRESSION", "none")
	r, b := sent(t, otlp.WithSpanIDAttributes())
	_, messages := b.received()
	if n, e := len(messages[0].Dictionary.AttributeTable), r.Header.Get("Content-Encoding"); n < 5 || e != "" {
		t.Errorf("%d attributes, want the ids too; Content-Encoding %q, want none", n, e)
	}
}

func TestEndpoints(t *testing.T) {
	const general, ofProfiles = "OTEL_EXPORTER_OTLP_ENDPOINT", "OTEL_EXPORTER_OTLP_PROFILES_ENDPOINT"
	for _, tt := range []struct {
		name string
		env  map[string]string
		opts []otlp.Option
		want string
	}{
		{"insecure by the environment", map[string]string{"OTEL_EXPORTER_OTLP_INSECURE": "TRUE"}, nil, "http://localhost:4318/v1development/profiles"},
		{"profiles only", map[string]string{"OTEL_EXPORTER_OTLP_INSECURE": "true", "OTEL_EXPORTER_OTLP_PROFILES_INSECURE": "false"}, nil, "https://localhost:4318/v1development/profiles"},
		{"base", map[string]string{general: "http://collector:4318/base/"}, nil, "http://collector:4318/base/v1development/profiles"},
		{"whole", map[string]string{general: "http://collector:4318", ofProfiles: "https://other:1/path"}, nil, "https://other:1/path"},
		{"whole without a path", map[string]string{ofProfiles: "https://other:1"}, nil, "https://other:1/"},
		{"no URL", map[string]string{general: "collector:4318"}, nil, "https://localhost:4318/v1development/profiles"},
		{"no URL at all", map[string]string{general: "http://%"}, nil, "https://localhost:4318/v1development/profiles"},
		{"URL option", map[string]string{general: "http://collector:4318"}, []otlp.Option{otlp.WithEndpointURL("https://mine:1/p")}, "https://mine:1/p"},
		{"URL option without a path", nil, []otlp.Option{otlp.WithEndpointURL("https://mine:1")}, "https://mine:1/"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			reporttest.Collect(t)
			for k, v := range tt.env {
				t.Setenv(k, v)
			}
			if r, _ := sent(t, tt.opts...); r.URL.String() != tt.want {
				t.Errorf("URL %s, want %s", r.URL, tt.want)
			}
		})
	}
}

func TestEnvironment(t *testing.T) {
	reported := reporttest.Collect(t)
	t.Setenv("OTEL_EXPORTER_OTLP_HEADERS", "lost=1")
	t.Setenv("OTEL_EXPORTER_OTLP_PROFILES_HEADERS", "a=1, b = x%20y ,bad key=2,=3,c=%zz,d=1%0Asecret")
	t.Setenv("OTEL_EXPORTER_OTLP_COMPRESSION", "none")
	t.Setenv("OTEL_EXPORTER_OTLP_PROFILES_COMPRESSION", "zstd")
	t.Setenv("OTEL_EXPORTER_OTLP_TIMEOUT", "soon")
	t.Setenv("OTEL_EXPORTER_OTLP_CERTIFICATE", filepath.Join(t.TempDir(), "none.pem"))
	t.Setenv("OTEL_EXPORTER_OTLP_CLIENT_KEY", "key.pem")
	r, _ := sent(t)
	if r.Header.Get("a") != "1" || r.Header.Get("b") != "x y" || r.Header.Get("lost") != "" || r.Header.Get("c") != "" {
		t.Errorf("headers %v", r.Header)
	}
	if got := r.Header.Get("Content-Encoding"); got != "gzip" {
		t.Errorf("Content-Encoding %q, want the default", got)
	}
	for _, want := range []string{
		"OTEL_EXPORTER_OTLP_PROFILES_HEADERS: header 3 is ignored", "header 4 is ignored", "header c is ignored", "header d is not possible",
		"OTEL_EXPORTER_OTLP_PROFILES_COMPRESSION is ignored", "OTEL_EXPORTER_OTLP_TIMEOUT is ignored",
		"OTEL_EXPORTER_OTLP_CERTIFICATE is ignored", "OTEL_EXPORTER_OTLP_CLIENT_KEY is ignored",
	} {
		if got := strings.Join(reported(), "\n"); !strings.Contains(got, want) || strings.Contains(got, "secret") {
			t.Errorf("reported %s, want %s", got, want)
		}
	}

	if r, _ = sent(t, otlp.WithHeaders(map[string]string{"d": "4"})); r.Header.Get("a") != "" || r.Header.Get("d") != "4" {
		t.Errorf("headers %v, want those of the option", r.Header)
	}
}

func TestTimeout(t *testing.T) {
	t.Setenv("OTEL_EXPORTER_OTLP_TIMEOUT", "1234")
	for _, tt := range []struct {
		opts []otlp.Option
		want time.Duration
	}{
		{nil, 1234 * time.Millisecond},
		{[]otlp.Option{otlp.WithQueue(exporter.QueueConfig{Timeout: time.Minute})}, time.Minute},
	} {
		synctest.Test(t, func(t *testing.T) { // in which no time passes until the attempt has ended
			r, _ := sent(t, tt.opts...)
			deadline, ok := r.Context().Deadline()
			if left := time.Until(deadline); !ok || left != tt.want {
				t.Errorf("%v left of an attempt, want %v", left, tt.want)
			}
		})
	}
}

func TestOptionErrors(t *testing.T) {
	for want, opt := range map[string]otlp.Option{
		`WithEndpointURL: want http`: otlp.WithEndpointURL(""),
		`WithHTTPClient(nil)`:        otlp.WithHTTPClient(nil),
		`negative bound`:             otlp.WithQueue(exporter.QueueConfig{Timeout: -1}),
	} {
		if _, err := otlp.New(nil, opt); err == nil || !strings.HasPrefix(err.Error(), "otlp: ") || !strings.Contains(err.Error(), want) {
			t.Errorf("New: %v, want %q", err, want)
		}
	}
}

func TestEndpointErrors(t *testing.T) {
	for _, text := range []string{"ftp://x/", "http://%zz", "http://:4318", "user:secret@localhost:4318", "localhost:4318", "http://user:secret/x@localhost:4318", "http://secret%"} {
		if _, err := otlp.New(otlp.WithEndpointURL(text)); err == nil || !strings.Contains(err.Error(), "want http or https") || strings.Contains(err.Error(), "secret") {
			t.Errorf("New with %s: %v", text, err)
		}
	}
	reported := reporttest.Collect(t)
	t.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", "user:secret@localhost:4318")
	if r, _ := sent(t); r.URL.Host != "localhost:4318" || r.URL.Scheme != "https" {
		t.Errorf("sent to %s", r.URL)
	}
	if got := strings.Join(reported(), "\n"); !strings.Contains(got, "OTEL_EXPORTER_OTLP_ENDPOINT is ignored: want http or https") || strings.Contains(got, "secret") {
		t.Errorf("reported %s", got)
	}
}

func TestImpossibleHeaders(t *testing.T) {
	for name, value := range map[string]string{"authorization": "Bearer secret\n", "a b": "secret", "": "secret", "x": "secret\x00", "y": "secret\x7f"} {
		_, err := otlp.New(otlp.WithHeaders(map[string]string{name: value}))
		if err == nil || !strings.Contains(err.Error(), "header") || strings.Contains(err.Error(), "secret") {
			t.Errorf("New with header %q: %v", name, err)
		}
	}
	if r, _ := sent(t, otlp.WithHeaders(map[string]string{"x": "größer\tals"})); r.Header.Get("x") != "größer\tals" {
		t.Errorf("headers %v", r.Header)
	}
}

// Without WithHTTPClient the server's certificate comes from the environment.
func TestCertificate(t *testing.T) {
	server := httptest.NewTLSServer(&backend{t: t})
	defer server.Close()
	certFile := filepath.Join(t.TempDir(), "cert.pem")
	if err := os.WriteFile(certFile, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw}), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", server.URL)
	t.Setenv("OTEL_EXPORTER_OTLP_CERTIFICATE", certFile)
	e, err := otlp.New()
	if err != nil {
		t.Fatal(err)
	}
	export(t, e, 1)
	if err := e.Shutdown(t.Context()); err != nil {
		t.Error(err)
	}
	if s := e.Status(); s.Exported != 1 {
		t.Errorf("%+v, want 1 exported", s)
	}
}

// A window without samples is counted apart, and nothing of it is sent.
func TestEmptyProfile(t *testing.T) {
	b := &backend{t: t}
	e := newExporter(t, b)
	idle := exporter.NewParsedProfile(exporter.Window{Kind: exporter.KindCPU, Start: time.Now()}, &profile.Profile{
		SampleType: []*profile.ValueType{{Type: "samples", Unit: "count"}},
	})
	if err := e.Export(t.Context(), idle); err != nil {
		t.Error(err)
	}
	export(t, e, 1)
	if err := e.Shutdown(t.Context()); err != nil {
		t.Error(err)
	}
	if requests, _ := b.received(); len(requests) != 1 || e.Status().Exported != 2 {
		t.Errorf("%d requests, %+v, want one request", len(requests), e.Status())
	}
}
