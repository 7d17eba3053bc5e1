// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package receiver

import (
	"context"
	"net"

	collectorpb "go.opentelemetry.io/proto/slim/otlp/collector/profiles/v1development"
	"golang.org/x/net/netutil"
	"google.golang.org/grpc"
	_ "google.golang.org/grpc/encoding/gzip" // agents always compress
	"google.golang.org/grpc/peer"
)

// serviceName is OTLP's profiles service. The slim messages come without its stubs.
const serviceName = "opentelemetry.proto.collector.profiles.v1development.ProfilesService"

// maxConnections bounds how many messages are in memory: each connection has one.
const maxConnections = 4

// ServeGRPC takes OTLP/gRPC until ctx ends; then it closes the listener, and returns nil
// when nothing is exported any more. Listen on a loopback address: every client that can connect can send profiles.
func (r *Receiver) ServeGRPC(ctx context.Context, listener net.Listener) error {
	return serve(ctx, listener, r.take)
}

// takeFunc takes a message that came over a connection.
type takeFunc func(ctx context.Context, connection string, m *collectorpb.ExportProfilesServiceRequest) error

func serve(ctx context.Context, listener net.Listener, take takeFunc) error {
	server := grpc.NewServer(append(codecOptions(), grpc.MaxConcurrentStreams(1), grpc.WaitForHandlers(true))...)
	server.RegisterService(&grpc.ServiceDesc{
		ServiceName: serviceName,
		HandlerType: (*any)(nil),
		Methods:     []grpc.MethodDesc{{MethodName: "Export", Handler: take.export}},
	}, struct{}{})
	stop := context.AfterFunc(ctx, server.Stop)
	defer stop()
	defer server.Stop() // and wait for messages that are being taken
	err := server.Serve(netutil.LimitListener(listener, maxConnections))
	if ctx.Err() != nil {
		return nil //nolint:nilerr // the end of ctx is how serving ends
	}
	return err
}

func (take takeFunc) export(_ any, ctx context.Context, decode func(any) error, _ grpc.UnaryServerInterceptor) (any, error) { //nolint:revive // the order is gRPC's
	var s sent
	if err := decode(&s); err != nil {
		return nil, err
	}
	connection := ""
	if p, ok := peer.FromContext(ctx); ok {
		connection = p.Addr.String()
	}
	err := s.then(ctx, func(m *collectorpb.ExportProfilesServiceRequest) error { return take(ctx, connection, m) })
	if err != nil {
		return nil, err
	}
	return new(collectorpb.ExportProfilesServiceResponse), nil
}
