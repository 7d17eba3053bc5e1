// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package receiver

import (
	"context"
	"errors"
	"net"
	"slices"
	"time"

	collectorpb "go.opentelemetry.io/proto/slim/otlp/collector/profiles/v1development"
	"golang.org/x/net/netutil"
	"google.golang.org/grpc"
	_ "google.golang.org/grpc/encoding/gzip" // agents always compress
	"google.golang.org/grpc/keepalive"
	"google.golang.org/grpc/peer"
)

// serviceName is OTLP's profiles service. The slim messages come without its stubs.
const serviceName = "opentelemetry.proto.collector.profiles.v1development.ProfilesService"

const (
	// maxConnections bounds the connections at a time.
	maxConnections = 64
	// maxIdle is the time until a connection without messages is closed. Agents send a
	// message every five seconds by default.
	maxIdle = time.Minute
)

// ServeOption configures ServeGRPC.
type ServeOption interface{ serveOption() }

type withTCP struct{}

func (withTCP) serveOption() {}

// WithTCP permits other listeners than [Listen] returns. All users and programs that can
// connect can then forge samples, and can occupy all 64 connections.
func WithTCP() ServeOption { return withTCP{} }

// ServeGRPC takes OTLP/gRPC until ctx ends. Then it closes the listener, waits for running
// exports, and returns nil. The listener must come from [Listen], unless there
// is [WithTCP].
func (r *Receiver) ServeGRPC(ctx context.Context, listener net.Listener, opts ...ServeOption) error {
	return serve(ctx, listener, opts, r.take, r.refuse)
}

// takeFunc takes a message that came over a connection.
type takeFunc func(ctx context.Context, connection string, m *collectorpb.ExportProfilesServiceRequest) error

func serve(ctx context.Context, listener net.Listener, opts []ServeOption, take takeFunc, refused func(error)) error {
	if l, ok := listener.(*intake); ok {
		l.refused = refused
	} else if !slices.Contains(opts, WithTCP()) {
		err := errors.New("receiver: all local users can send to this listener: use receiver.Listen, or add receiver.WithTCP")
		return errors.Join(err, listener.Close())
	}
	server := grpc.NewServer(append(codecOptions(), grpc.MaxConcurrentStreams(1), grpc.WaitForHandlers(true),
		grpc.ConnectionTimeout(10*time.Second),
		grpc.KeepaliveParams(keepalive.ServerParameters{MaxConnectionIdle: maxIdle, Time: maxIdle / 2, Timeout: 10 * time.Second}))...)
	server.RegisterService(&grpc.ServiceDesc{
		ServiceName: serviceName,
		HandlerType: (*any)(nil),
		Methods:     []grpc.MethodDesc{{MethodName: "Export", Handler: slot{take, make(chan struct{}, 1)}.export}},
	}, struct{}{})
	stop := context.AfterFunc(ctx, server.Stop)
	defer stop()
	defer server.Stop() // and wait for messages that are being taken
	err := server.Serve(netutil.LimitListener(numbered{listener}, maxConnections))
	if ctx.Err() != nil {
		return nil //nolint:nilerr // the end of ctx is how serving ends
	}
	return err
}

// slot takes one message at a time. A silent connection does not occupy it.
type slot struct {
	take     takeFunc
	decoding chan struct{}
}

// export runs when a message has arrived, and before it is decoded.
func (s slot) export(_ any, ctx context.Context, decode func(any) error, _ grpc.UnaryServerInterceptor) (any, error) { //nolint:revive // the order is gRPC's
	var message sent
	if err := decode(&message); err != nil {
		return nil, err
	}
	connection := ""
	if p, ok := peer.FromContext(ctx); ok {
		connection = p.Addr.String()
	}
	err := message.then(ctx, s.decoding, func(m *collectorpb.ExportProfilesServiceRequest) error {
		return s.take(ctx, connection, m)
	})
	if err != nil {
		return nil, err
	}
	return new(collectorpb.ExportProfilesServiceResponse), nil
}
