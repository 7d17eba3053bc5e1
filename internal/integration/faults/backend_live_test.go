// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

//go:build live

package faults

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"maps"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	collectorpb "go.opentelemetry.io/proto/slim/otlp/collector/profiles/v1development"
	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	_ "google.golang.org/grpc/encoding/gzip" // what the exporter sends
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/durationpb"
)

// answer is the reply of a backend that may not take a profile.
type answer struct {
	takes  bool       // the profile is counted as taken
	first  func()     // called before the reply
	status int        // by HTTP; 0 for a success
	text   string     // its body
	after  string     // its Retry-After
	code   codes.Code // by gRPC
	info   bool       // with a RetryInfo
	slow   bool       // the connection is closed
}

// backend is a server of all three protocols. It counts by id how often it took each
// profile.
type backend struct {
	answer atomic.Pointer[answer] // nil to take every profile

	mu      sync.Mutex
	taken   map[string]int
	refused map[string]int // how often it refused each profile
}

// delivered returns how often each profile was taken, and refused.
func (b *backend) delivered() (taken, refused map[string]int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return maps.Clone(b.taken), maps.Clone(b.refused)
}

// receive takes the profile with that id, unless an answer is set.
func (b *backend) receive(id string) answer {
	a := answer{takes: true}
	if other := b.answer.Load(); other != nil {
		a = *other
	}
	b.mu.Lock()
	if a.takes {
		b.taken[id]++
	} else {
		b.refused[id]++
	}
	b.mu.Unlock()
	if a.first != nil {
		a.first()
	}
	return a
}

// ServeHTTP is /ingest and OTLP/HTTP.
func (b *backend) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	ids, err := idsOf(r)
	if err != nil { // the rest is lost on the way
		http.Error(w, err.Error(), http.StatusRequestTimeout)
		return
	}
	a := b.receive(ids[0])
	if a.slow {
		w.Header().Set("Connection", "close")
	}
	if a.status == 0 {
		w.Header().Set("Content-Type", "application/x-protobuf")
		return // an empty body is OTLP's full success
	}
	if a.after != "" {
		w.Header().Set("Retry-After", a.after)
	}
	http.Error(w, a.text, a.status)
}

// export is OTLP/gRPC.
func (b *backend) export(_ any, _ context.Context, decode func(any) error, _ grpc.UnaryServerInterceptor) (any, error) { //nolint:revive // the order is gRPC's
	m := new(collectorpb.ExportProfilesServiceRequest)
	if err := decode(m); err != nil {
		return nil, err
	}
	ids, err := idsOfProfiles(m)
	if err != nil {
		return nil, err
	}
	a := b.receive(ids[0])
	if a.code == codes.OK {
		return new(collectorpb.ExportProfilesServiceResponse), nil
	}
	s := status.New(a.code, a.text)
	if a.info {
		s, _ = s.WithDetails(&errdetails.RetryInfo{RetryDelay: durationpb.New(time.Millisecond)})
	}
	return nil, s.Err()
}

// serve runs a backend of the protocol until the end of the test and returns where.
func serve(t *testing.T, p protocol) (*backend, string) {
	t.Helper()
	b := &backend{taken: make(map[string]int), refused: make(map[string]int)}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	run, stop := b.overHTTP(l)
	if p.grpc {
		run, stop = b.overGRPC(l)
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		if err := run(); err != nil && !errors.Is(err, http.ErrServerClosed) {
			t.Error(err)
		}
	}()
	t.Cleanup(func() {
		stop()
		<-done
	})
	return b, l.Addr().String()
}

func (b *backend) overHTTP(l net.Listener) (run func() error, stop func()) {
	s := &http.Server{Handler: b, ErrorLog: log.New(io.Discard, "", 0)}
	return func() error { return s.Serve(l) }, func() { _ = s.Close() }
}

func (b *backend) overGRPC(l net.Listener) (run func() error, stop func()) {
	s := grpc.NewServer()
	s.RegisterService(&grpc.ServiceDesc{
		ServiceName: "opentelemetry.proto.collector.profiles.v1development.ProfilesService",
		HandlerType: (*any)(nil),
		Methods:     []grpc.MethodDesc{{MethodName: "Export", Handler: b.export}},
	}, b)
	return func() error { return s.Serve(l) }, s.Stop
}

// idOf returns the id of the nth profile.
func idOf(n int) string { return fmt.Sprintf("%016x", n+1) }
