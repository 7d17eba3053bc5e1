// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package receiver

import (
	"bytes"
	"context"
	"io"
	"reflect"
	"slices"
	"strings"
	"testing"

	collectorpb "go.opentelemetry.io/proto/slim/otlp/collector/profiles/v1development"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/mem"
	"google.golang.org/grpc/stats"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"

	"github.com/spanprof/spanprof/internal/wire"
)

// wrapped returns a message with one field in another.
func wrapped(value []byte, numbers ...protoreflect.FieldNumber) []byte {
	for _, number := range slices.Backward(numbers) {
		value = fieldOf(number, value)
	}
	return value
}

// No message that passes the check has more memory in its structs than the check counts.
func TestWireKnowsAllMessages(t *testing.T) {
	seen := map[protoreflect.FullName]bool{}
	var walk func(m protoreflect.MessageDescriptor, path []protoreflect.FieldNumber)
	walk = func(m protoreflect.MessageDescriptor, path []protoreflect.FieldNumber) {
		if seen[m.FullName()] {
			return
		}
		seen[m.FullName()] = true
		for i := range m.Fields().Len() {
			f := m.Fields().Get(i)
			at := append(slices.Clip(path), f.Number())
			var value []byte
			var each int64
			const n = 1000
			switch {
			case f.Message() != nil:
				of, err := protoregistry.GlobalTypes.FindMessageByName(f.Message().FullName())
				if err != nil {
					t.Fatal(err)
				}
				each = sizeOf(of)
				value = bytes.Repeat(fieldOf(f.Number(), nil), n)
				walk(f.Message(), at)
			case f.IsPacked() && f.Kind() != protoreflect.Fixed64Kind:
				each, value = 8, fieldOf(f.Number(), make([]byte, n))
			case f.IsList() && f.Kind() == protoreflect.StringKind:
				each, value = 16, bytes.Repeat(fieldOf(f.Number(), nil), n)
			default:
				continue
			}
			if err := wire.OTLP.Check(wrapped(value, path...), n*each); err == nil {
				t.Errorf("%d elements of %s pass as less than %d bytes each", n, f.FullName(), each)
			}
		}
	}
	walk(new(collectorpb.ExportProfilesServiceRequest).ProtoReflect().Descriptor(), nil)
	if len(seen) != 21 {
		t.Errorf("got %d types of messages", len(seen))
	}
}

// Refused messages are counted with the reason: by their size as sent, by their elements
// before these exist, and by the format.
func TestRefused(t *testing.T) {
	reported := reports(t)
	r, exported := newReceiver(t)
	conn := dial(t, serveTCP(t, r, r.take))
	for i, tt := range []struct {
		message    []byte
		compressor string
		code       codes.Code
		reason     string
	}{
		{wrapped(bytes.Repeat(fieldOf(2, nil), 1<<20), 1, 2, 2), "gzip", codes.ResourceExhausted, "would take more than 80 MiB of memory"}, // 2 MiB of empty samples
		{make([]byte, maxSent+1), "", codes.ResourceExhausted, "larger than max"},
		{[]byte{0}, "", codes.InvalidArgument, "not a protobuf message"},
	} {
		err := conn.Invoke(t.Context(), "/"+serviceName+"/Export", &tt.message, new(collectorpb.ExportProfilesServiceResponse), grpc.ForceCodecV2(rawCodec{}), grpc.UseCompressor(tt.compressor))
		if status.Code(err) != tt.code || !strings.Contains(err.Error(), tt.reason) {
			t.Errorf("got %v, want %v: %s", err, tt.code, tt.reason)
		}
		if err := <-reported; !strings.Contains(err.Error(), tt.reason) {
			t.Errorf("reported %v, want %s", err, tt.reason)
		}
		if s := r.Status(); s.Messages != i+1 || s.Refused != i+1 || !strings.Contains(s.Reason, tt.reason) {
			t.Errorf("got %+v, want %d refused: %s", s, i+1, tt.reason)
		}
	}
	if n := len(exported.Profiles()); n != 0 {
		t.Errorf("got %d profiles", n)
	}
	before := r.Status().Refused
	for _, err := range []error{nil, status.Error(codes.Canceled, ""), status.Error(codes.Unimplemented, "another compression"), io.ErrUnexpectedEOF} {
		(&service{receiver: r}).HandleRPC(t.Context(), &stats.End{Error: err})
	}
	if n := r.Status().Refused - before; n != 2 {
		t.Errorf("got %d refused, want 2", n)
	}
}

// rawCodec sends bytes.
type rawCodec struct{}

func (rawCodec) Name() string { return "proto" }

func (rawCodec) Marshal(v any) (mem.BufferSlice, error) {
	return mem.BufferSlice{mem.SliceBuffer(*v.(*[]byte))}, nil
}

func (rawCodec) Unmarshal(mem.BufferSlice, any) error { return nil }

// A message waits for the one before it, as long as its client does. It is not copied
// before its turn.
func TestOneMessageAtATime(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	s := &service{decoding: make(chan struct{}, 1)}
	copied := 0
	export := func(ctx context.Context) error {
		_, err := s.export(nil, ctx, func(any) error { copied++; return nil }, nil)
		return err
	}
	s.take = func(context.Context, string, *collectorpb.ExportProfilesServiceRequest) error {
		s.take = func(context.Context, string, *collectorpb.ExportProfilesServiceRequest) error {
			t.Error("two messages at once")
			return nil
		}
		cancel()
		return export(ctx)
	}
	if err := export(t.Context()); status.Code(err) == codes.OK || copied != 1 {
		t.Errorf("got %v, and %d messages copied, want 1", err, copied)
	}
}

func sizeOf(m protoreflect.MessageType) int64 {
	return int64(reflect.TypeOf(m.Zero().Interface()).Elem().Size())
}

func fieldOf(number protoreflect.FieldNumber, value []byte) []byte {
	return protowire.AppendBytes(protowire.AppendTag(nil, number, protowire.BytesType), value)
}
