// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package receiver

import (
	"context"
	"errors"
	"maps"
	"net"
	"net/http"
	"path/filepath"
	"strings"
	"testing"

	collectorpb "go.opentelemetry.io/proto/slim/otlp/collector/profiles/v1development"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	encoding "google.golang.org/grpc/encoding/gzip"
	"google.golang.org/grpc/status"

	"github.com/spanprof/spanprof/exporter"
	"github.com/spanprof/spanprof/internal/exportertest"
	"github.com/spanprof/spanprof/internal/report"
)

func newReceiver(t *testing.T, opts ...Option) (*Receiver, *exportertest.Recorder) {
	t.Helper()
	exported := new(exportertest.Recorder)
	r, err := New(exported, lookup, opts...)
	if err != nil {
		t.Fatal(err)
	}
	r.pid = 100 // as in messages
	return r, exported
}

// serveTCP serves until the end of the test, and returns the address.
func serveTCP(t *testing.T, r *Receiver, take takeFunc) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	serving(t, func(ctx context.Context) error { return r.serve(ctx, listener, take) })
	return listener.Addr().String()
}

// serving runs serve until the end of the test.
func serving(t *testing.T, serve func(context.Context) error) {
	t.Helper()
	ctx, stop := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- serve(ctx) }()
	t.Cleanup(func() {
		stop()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
}

// dial connects to an address until the end of the test.
func dial(t *testing.T, address string) *grpc.ClientConn {
	t.Helper()
	conn, err := grpc.NewClient(address, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := conn.Close(); err != nil {
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
	conn := dial(t, serveTCP(t, r, r.take))
	_, messages := recorded(t, "tight")
	m := newMessage()
	m.process(100, m.record(1, []uint64{1}, "span_id", searchID))
	m.text(strings.Repeat("x", 8<<20)) // above gRPC's own limit
	for _, m := range append(messages, m.ExportProfilesServiceRequest) {
		if err := export(t, conn, m); err != nil {
			t.Fatal(err)
		}
	}
	if n := len(exported.Profiles()); n != 1 {
		t.Errorf("%d profiles, want that of this process alone", n)
	}
	m.text(strings.Repeat("y", maxMessage)) // a gzip bomb: 32 kB on the wire
	if err := export(t, conn, m.ExportProfilesServiceRequest); status.Code(err) != codes.ResourceExhausted {
		t.Errorf("40 MiB: got %v, want ResourceExhausted", err)
	}
}

// reports returns what is reported until the end of the test.
func reports(t *testing.T) <-chan error {
	reported := make(chan error, 100)
	t.Cleanup(report.Synchronous(func(err error) { reported <- err }))
	return reported
}

// failing is an exporter that takes nothing.
type failing struct{ exportertest.Recorder }

func (*failing) Export(context.Context, *exporter.Profile) error { return errors.New("full") }

func TestExportFails(t *testing.T) {
	r, err := New(new(failing), lookup)
	if err != nil {
		t.Fatal(err)
	}
	r.pid = 100
	m := newMessage()
	m.process(100, m.record(1, []uint64{1}, "span_id", searchID))
	if err := export(t, dial(t, serveTCP(t, r, r.take)), m.ExportProfilesServiceRequest); err != nil {
		t.Errorf("got %v: the agent cannot help it", err)
	}
	if n := maps.Collect(r.Counters)["agent: profiles not exported"]; n != 1 {
		t.Errorf("%+v, want 1 failed", r.Status())
	}
}

// A hostview reports the samples that were lost, with a message or without.
func TestLost(t *testing.T) {
	socket := filepath.Join(t.TempDir(), "s")
	l, err := net.Listen("unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	requests := 0
	server := http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		if requests++; requests == 2 {
			stop()
		}
		w.Header().Set("Spanprof-Lost", "3")
		w.WriteHeader(http.StatusNoContent)
	})}
	go func() { _ = server.Serve(l) }()
	r, _ := newReceiver(t)
	if err := errors.Join(r.Subscribe(ctx, socket), server.Close()); err != nil {
		t.Fatal(err)
	}
	if s := r.Status(); s.Lost < 3 || s.Messages != 0 || s.Refused != 0 {
		t.Errorf("got %+v, want 3 lost samples", s)
	}
}
