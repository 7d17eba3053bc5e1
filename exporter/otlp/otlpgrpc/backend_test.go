// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package otlpgrpc_test

import (
	"context"
	"net"
	"sync"
	"testing"

	collectorpb "go.opentelemetry.io/proto/slim/otlp/collector/profiles/v1development"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
)

// backend is a server of OTLP/gRPC.
type backend struct {
	target string
	// answer makes the answer to the nth call, from 1 on.
	answer func(ctx context.Context, n int) (*collectorpb.ExportProfilesServiceResponse, error)

	mu       sync.Mutex
	calls    int
	metadata metadata.MD // of the last call
}

type answerFunc = func(context.Context, int) (*collectorpb.ExportProfilesServiceResponse, error)

// start runs a backend on a socket of 127.0.0.1 until the end of the test, or
// until stop is called.
func start(t *testing.T, answer answerFunc, opts ...grpc.ServerOption) (b *backend, stop func()) {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	return serve(t, listener, answer, opts...)
}

// serve is start with a listener, which may be in memory.
func serve(t *testing.T, listener net.Listener, answer answerFunc, opts ...grpc.ServerOption) (b *backend, stop func()) {
	t.Helper()
	b = &backend{target: listener.Addr().String(), answer: answer}
	server := grpc.NewServer(opts...)
	server.RegisterService(&grpc.ServiceDesc{
		ServiceName: "opentelemetry.proto.collector.profiles.v1development.ProfilesService",
		HandlerType: (*any)(nil),
		Methods:     []grpc.MethodDesc{{MethodName: "Export", Handler: b.export}},
	}, b)
	done := make(chan struct{})
	go func() {
		defer close(done)
		if err := server.Serve(listener); err != nil {
			t.Error(err)
		}
	}()
	stop = sync.OnceFunc(func() {
		server.Stop()
		<-done
	})
	t.Cleanup(stop)
	return b, stop
}

func (b *backend) export(_ any, ctx context.Context, decode func(any) error, _ grpc.UnaryServerInterceptor) (any, error) { //nolint:revive // the order is gRPC's
	m := new(collectorpb.ExportProfilesServiceRequest)
	if err := decode(m); err != nil {
		return nil, err
	}
	if len(m.GetResourceProfiles()) != 1 || m.Dictionary == nil {
		return nil, status.Errorf(codes.InvalidArgument, "%d resources with profiles, want 1 and a dictionary", len(m.ResourceProfiles))
	}
	b.mu.Lock()
	b.calls++
	n := b.calls
	b.metadata, _ = metadata.FromIncomingContext(ctx)
	b.mu.Unlock()
	return b.answer(ctx, n)
}

func (b *backend) seen() (calls int, md metadata.MD) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.calls, b.metadata
}

func healthy(context.Context, int) (*collectorpb.ExportProfilesServiceResponse, error) {
	return new(collectorpb.ExportProfilesServiceResponse), nil
}
