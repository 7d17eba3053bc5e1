// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package receiver

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	collectorpb "go.opentelemetry.io/proto/slim/otlp/collector/profiles/v1development"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	encoding "google.golang.org/grpc/encoding/gzip"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	"github.com/spanprof/spanprof/exporter"
	"github.com/spanprof/spanprof/exporter/exportertest"
)

func newReceiver(t *testing.T, opts ...Option) (*Receiver, *exportertest.Recorder) {
	t.Helper()
	exported := new(exportertest.Recorder)
	r, err := New(exported, lookup, opts...)
	if err != nil {
		t.Fatal(err)
	}
	return r, exported
}

// dial serves a receiver until the end of the test, and connects to it.
func dial(t *testing.T, r *Receiver) *grpc.ClientConn {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- r.ServeGRPC(ctx, listener) }()
	conn, err := grpc.NewClient(listener.Addr().String(), grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := conn.Close(); err != nil {
			t.Error(err)
		}
		stop()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
	return conn
}

func export(t *testing.T, conn *grpc.ClientConn, m *collectorpb.ExportProfilesServiceRequest) error {
	t.Helper()
	return conn.Invoke(t.Context(), "/"+serviceName+"/Export", m, new(collectorpb.ExportProfilesServiceResponse), grpc.UseCompressor(encoding.Name))
}

func TestGRPC(t *testing.T) {
	r, exported := newReceiver(t)
	conn := dial(t, r)
	_, messages := recorded(t, "tight")
	m := newMessage()
	m.process(100, m.record(1, []uint64{1}, "span_id", searchID))
	for _, m := range append(messages, m.ExportProfilesServiceRequest) {
		if err := export(t, conn, m); err != nil {
			t.Fatal(err)
		}
	}
	if n := len(exported.Profiles()); n != 1 {
		t.Errorf("%d profiles, want that of this process alone", n)
	}
}

func TestGRPCSizes(t *testing.T) {
	r, _ := newReceiver(t)
	conn := dial(t, r)
	m := newMessage()
	m.text(strings.Repeat("x", 8<<20)) // above gRPC's own limit
	if err := export(t, conn, m.ExportProfilesServiceRequest); err != nil {
		t.Errorf("8 MiB: %v", err)
	}
	m.text(strings.Repeat("y", maxMessage)) // a gzip bomb: 32 kB on the wire
	if err := export(t, conn, m.ExportProfilesServiceRequest); status.Code(err) != codes.ResourceExhausted {
		t.Errorf("40 MiB: got %v, want ResourceExhausted", err)
	}
}

func TestGRPCMalformed(t *testing.T) {
	r, _ := newReceiver(t)
	conn := dial(t, r)
	m := newMessage()
	m.process(100, m.record(77, []uint64{1}, "span_id", searchID))
	if err := export(t, conn, m.ExportProfilesServiceRequest); status.Code(err) != codes.InvalidArgument {
		t.Errorf("got %v, want InvalidArgument, which agents do not repeat", err)
	}
	if s := r.Status(); s.Malformed != 1 {
		t.Errorf("%+v, want 1 malformed", s)
	}
}

// failing is an exporter that takes nothing.
type failing struct{ exportertest.Recorder }

func (*failing) Export(context.Context, *exporter.Profile) error { return errors.New("full") }

func TestExportFails(t *testing.T) {
	r, err := New(new(failing), lookup)
	if err != nil {
		t.Fatal(err)
	}
	m := newMessage()
	m.process(100, m.record(1, []uint64{1}, "span_id", searchID))
	if err := export(t, dial(t, r), m.ExportProfilesServiceRequest); err != nil {
		t.Errorf("got %v: the agent cannot help it", err)
	}
	if s := r.Status(); s.Failed != 1 {
		t.Errorf("%+v, want 1 failed", s)
	}
}

func TestHTTP(t *testing.T) {
	m := newMessage()
	m.process(100, m.record(1, []uint64{1}, "span_id", searchID))
	body, err := proto.Marshal(m)
	if err != nil {
		t.Fatal(err)
	}
	m.process(100, m.record(77, []uint64{1}, "span_id", searchID))
	malformed, err := proto.Marshal(m)
	if err != nil {
		t.Fatal(err)
	}
	const host, header, encoding = "Host", "Content-Type", "Content-Encoding"
	for name, test := range map[string]struct {
		body    []byte
		headers map[string]string
		opts    []Option
		want    int
	}{
		"protobuf":         {body: body, want: http.StatusOK},
		"gzip":             {body: zipped(t, body), headers: map[string]string{encoding: "gzip"}, want: http.StatusOK},
		"a version":        {body: body, headers: map[string]string{versionHeader: "1"}, want: http.StatusOK},
		"another version":  {body: body, headers: map[string]string{versionHeader: "2"}, want: http.StatusBadRequest},
		"json":             {body: []byte("{}"), headers: map[string]string{header: "application/json"}, want: http.StatusUnsupportedMediaType},
		"zstd":             {body: body, headers: map[string]string{encoding: "zstd"}, want: http.StatusUnsupportedMediaType},
		"not gzip":         {body: body, headers: map[string]string{encoding: "gzip"}, want: http.StatusBadRequest},
		"cut":              {body: body[:len(body)-1], want: http.StatusBadRequest},
		"malformed":        {body: malformed, want: http.StatusBadRequest},
		"too large":        {body: make([]byte, maxMessage+1), want: http.StatusRequestEntityTooLarge},
		"a gzip bomb":      {body: zipped(t, make([]byte, maxMessage+1)), headers: map[string]string{encoding: "gzip"}, want: http.StatusRequestEntityTooLarge},
		"localhost":        {body: body, headers: map[string]string{host: "localhost:4318"}, want: http.StatusOK},
		"IPv6":             {body: body, headers: map[string]string{host: "[::1]:4318"}, want: http.StatusOK},
		"a foreign host":   {body: body, headers: map[string]string{host: "rebound.example"}, want: http.StatusForbidden},
		"an allowed host":  {body: body, headers: map[string]string{host: "node:4318"}, opts: []Option{WithAllowedHosts("node")}, want: http.StatusOK},
		"every host":       {body: body, headers: map[string]string{host: "rebound.example"}, opts: []Option{WithAllowedHosts("*")}, want: http.StatusOK},
		"no name for host": {body: body, headers: map[string]string{host: "10.0.0.1"}, want: http.StatusForbidden},
	} {
		t.Run(name, func(t *testing.T) {
			r, exported := newReceiver(t, test.opts...)
			req := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "http://127.0.0.1:4318"+httpPath, bytes.NewReader(test.body))
			req.Header.Set(header, protobufType)
			for k, v := range test.headers {
				req.Header.Set(k, v)
			}
			if h := req.Header.Get(host); h != "" {
				req.Host = h
			}
			w := httptest.NewRecorder()
			r.Handler().ServeHTTP(w, req)
			if w.Code != test.want {
				t.Errorf("status %d (%s), want %d", w.Code, strings.TrimSpace(w.Body.String()), test.want)
			}
			if got := len(exported.Profiles()); (got == 1) != (test.want == http.StatusOK) {
				t.Errorf("%d profiles exported", got)
			}
		})
	}
}

func TestHTTPOtherPaths(t *testing.T) {
	r, _ := newReceiver(t)
	for method, want := range map[string]int{http.MethodGet: http.StatusMethodNotAllowed, http.MethodPut: http.StatusMethodNotAllowed} {
		w := httptest.NewRecorder()
		r.Handler().ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), method, "http://localhost"+httpPath, nil))
		if w.Code != want {
			t.Errorf("%s: status %d, want %d", method, w.Code, want)
		}
	}
}

func TestNew(t *testing.T) {
	if _, err := New(nil, lookup); err == nil {
		t.Error("no error without an exporter")
	}
	if _, err := New(new(exportertest.Recorder), nil); err == nil {
		t.Error("no error without a lookup")
	}
}

func zipped(t *testing.T, b []byte) []byte {
	t.Helper()
	var buf bytes.Buffer
	w := gzip.NewWriter(&buf)
	if _, err := io.Copy(w, bytes.NewReader(b)); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return buf.Bytes()
}
