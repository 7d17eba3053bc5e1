// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package receiver

import (
	"bytes"
	"context"
	"errors"
	"io"

	collectorpb "go.opentelemetry.io/proto/slim/otlp/collector/profiles/v1development"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/mem"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	"github.com/spanprof/spanprof/internal/wire"
)

// maxSent bounds a message as it was sent. Agents always compress.
const maxSent = 8 << 20

// codecOptions leave messages as they were sent, for the handler. gRPC would inflate and
// decode the messages of all connections at once.
func codecOptions() []grpc.ServerOption {
	return []grpc.ServerOption{
		grpc.MaxRecvMsgSize(maxSent),
		grpc.ForceServerCodecV2(codec{}),
		grpc.RPCDecompressor(unchanged{}), //nolint:staticcheck // a registered one would be the whole program's
	}
}

// sent is a message as it was sent.
type sent []byte

// codec reads messages into a *sent. It writes protobuf messages.
type codec struct{}

func (codec) Name() string { return "proto" }

func (codec) Unmarshal(data mem.BufferSlice, v any) error {
	*v.(*sent) = data.Materialize()
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

// then decodes a message and calls take with it, one message at a time: decoding has one
// place. The error has the status for the client.
func (s sent) then(ctx context.Context, decoding chan struct{}, take func(*collectorpb.ExportProfilesServiceRequest) error) error {
	select {
	case decoding <- struct{}{}:
		defer func() { <-decoding }()
	case <-ctx.Done():
		return status.FromContextError(ctx.Err()).Err()
	}
	var err error
	if bytes.HasPrefix(s, []byte{0x1f, 0x8b}) { // gzip: a message has no field of this key
		s, err = wire.Inflate(s, maxMessage)
	}
	m := new(collectorpb.ExportProfilesServiceRequest)
	if err == nil {
		err = unmarshal(s, m)
	}
	if errors.Is(err, wire.ErrTooLarge) {
		return status.Error(codes.ResourceExhausted, err.Error())
	}
	if err == nil {
		err = take(m)
	}
	if err != nil {
		return status.Error(codes.InvalidArgument, err.Error())
	}
	return nil
}

// unmarshal decodes a message within the bound of memory.
func unmarshal(b []byte, m *collectorpb.ExportProfilesServiceRequest) error {
	if err := wire.OTLP.Check(b, wire.MaxMessage); err != nil {
		return err
	}
	return proto.Unmarshal(b, m)
}
