// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package receiver

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"strconv"
	"sync/atomic"
	"time"

	collectorpb "go.opentelemetry.io/proto/slim/otlp/collector/profiles/v1development"
	"golang.org/x/net/netutil"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	_ "google.golang.org/grpc/encoding/gzip" // agents always compress
	"google.golang.org/grpc/keepalive"
	"google.golang.org/grpc/mem"
	"google.golang.org/grpc/stats"
	"google.golang.org/grpc/status"
	"google.golang.org/grpc/tap"
	"google.golang.org/protobuf/proto"

	"github.com/spanprof/spanprof/ebpfbridge/internal/handout"
	"github.com/spanprof/spanprof/internal/wire"
)

// serviceName is OTLP's profiles service. The slim messages come without its stubs.
const serviceName = "opentelemetry.proto.collector.profiles.v1development.ProfilesService"

const (
	// maxConnections bounds the connections at a time.
	maxConnections = 32
	// maxIdle is the time until a connection without messages is closed, and maxStream
	// the time of a message. Agents send one every five seconds by default.
	maxIdle   = 5 * time.Minute
	maxStream = time.Minute
	// maxSent and maxMessage bound a message as it was sent, and decompressed. All
	// connections together may send maxConnections*maxSent at a time: 64 MiB.
	maxSent    = 2 << 20
	maxMessage = 32 << 20
)

// ServeGRPC takes OTLP/gRPC until ctx ends. Then it closes the listener, waits for running
// exports, and returns nil.
func (r *Receiver) ServeGRPC(ctx context.Context, l *Listener) error {
	return r.serveAgents(ctx, l, r.take)
}

// takeFunc takes a message that came over a connection.
type takeFunc func(ctx context.Context, connection string, m *collectorpb.ExportProfilesServiceRequest) error

func (r *Receiver) serveAgents(ctx context.Context, l *Listener, take takeFunc) error {
	l.refused = func(err error) { r.refuse(Status{RefusedAgents: 1}, err) }
	return r.serve(ctx, l, take)
}

func (r *Receiver) serve(ctx context.Context, listener net.Listener, take takeFunc) error {
	s := &service{receiver: r, take: take, decoding: make(chan struct{}, 1)}
	// Messages stay as they were sent, for the handler. gRPC would inflate and decode the
	// messages of all connections at once.
	server := grpc.NewServer(grpc.MaxRecvMsgSize(maxSent), grpc.ForceServerCodecV2(codec{}), grpc.StatsHandler(s),
		grpc.RPCDecompressor(unchanged{}), //nolint:staticcheck // a registered one would be the whole program's
		grpc.MaxHeaderListSize(16<<10), grpc.MaxConcurrentStreams(1), grpc.WaitForHandlers(true), grpc.ConnectionTimeout(10*time.Second), grpc.InTapHandle(withTimeout),
		grpc.KeepaliveParams(keepalive.ServerParameters{MaxConnectionIdle: maxIdle, Time: maxStream / 2, Timeout: 10 * time.Second}))
	server.RegisterService(&grpc.ServiceDesc{
		ServiceName: serviceName,
		HandlerType: (*any)(nil),
		Methods:     []grpc.MethodDesc{{MethodName: "Export", Handler: s.export}},
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

// withTimeout ends streams without a message, which keep connections from being idle.
func withTimeout(ctx context.Context, _ *tap.Info) (context.Context, error) {
	ctx, cancel := context.WithTimeout(ctx, maxStream)
	context.AfterFunc(ctx, cancel)
	return ctx, nil
}

// codec reads messages as they were sent, and writes protobuf messages.
type codec struct{}

func (codec) Name() string { return "proto" }

func (codec) Unmarshal(data mem.BufferSlice, v any) error {
	*v.(*[]byte) = data.Materialize()
	return nil
}

func (codec) Marshal(v any) (mem.BufferSlice, error) {
	b, err := proto.Marshal(v.(proto.Message))
	return mem.BufferSlice{mem.SliceBuffer(b)}, err
}

// unchanged is a decompressor that returns compressed bytes.
type unchanged struct{}

func (unchanged) Do(r io.Reader) ([]byte, error) { return io.ReadAll(r) }
func (unchanged) Type() string                   { return "gzip" }

// service decodes and takes one message at a time. A silent connection does not occupy
// its place.
type service struct {
	receiver *Receiver
	take     takeFunc
	decoding chan struct{}
}

// export runs when a message has arrived, and before it is decoded.
func (s *service) export(_ any, ctx context.Context, decode func(any) error, _ grpc.UnaryServerInterceptor) (any, error) { //nolint:revive // the order is gRPC's
	select {
	case s.decoding <- struct{}{}:
		defer func() { <-s.decoding }()
	case <-ctx.Done():
		return nil, status.Error(codes.ResourceExhausted, "earlier messages took too long")
	}
	var sent []byte
	if err := decode(&sent); err != nil {
		return nil, err
	}
	switch err := s.receive(ctx, sent); {
	case errors.Is(err, wire.ErrTooLarge):
		return nil, status.Error(codes.ResourceExhausted, err.Error())
	case err != nil:
		return nil, status.Error(codes.InvalidArgument, err.Error())
	}
	return new(collectorpb.ExportProfilesServiceResponse), nil
}

func (s *service) receive(ctx context.Context, sent []byte) (err error) {
	if bytes.HasPrefix(sent, []byte{0x1f, 0x8b}) { // gzip: a message has no field of this key
		sent, err = wire.Inflate(sent, maxMessage)
	}
	if err != nil {
		return err
	}
	m, err := handout.Unmarshal(sent)
	if err != nil {
		return err
	}
	connection, _ := ctx.Value(connectionKey{}).(string)
	return s.take(ctx, connection, m)
}

// connections counts the connections of this process.
var connections atomic.Uint64

type connectionKey struct{}

// TagConn gives each connection a number. The system reuses addresses, and unix sockets
// have none.
func (*service) TagConn(ctx context.Context, _ *stats.ConnTagInfo) context.Context {
	return context.WithValue(ctx, connectionKey{}, strconv.FormatUint(connections.Add(1), 10))
}

func (*service) HandleConn(context.Context, stats.ConnStats) {}

func (*service) TagRPC(ctx context.Context, _ *stats.RPCTagInfo) context.Context { return ctx }

// HandleRPC counts refused messages. gRPC itself refuses messages beyond maxSent, cut ones,
// and those that have not arrived within maxStream.
func (s *service) HandleRPC(_ context.Context, event stats.RPCStats) {
	end, ok := event.(*stats.End)
	if !ok || end.Error == nil || status.Code(end.Error) == codes.Canceled {
		return
	}
	reason := status.Convert(end.Error).Message()
	s.receiver.refuse(Status{Messages: 1, Refused: 1, Reason: reason}, fmt.Errorf("receiver: refused a message: %s", reason))
}
