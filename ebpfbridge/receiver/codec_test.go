// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package receiver

import (
	"bytes"
	"context"
	"reflect"
	"slices"
	"testing"

	collectorpb "go.opentelemetry.io/proto/slim/otlp/collector/profiles/v1development"
	"google.golang.org/grpc/codes"
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

// A message with more elements than the bound is refused before they exist.
func TestRefusesBombs(t *testing.T) {
	s := sent(wrapped(bytes.Repeat(fieldOf(2, nil), 1<<20), 1, 2, 2)) // 2 MiB of empty samples
	taken := false
	err := s.then(t.Context(), make(chan struct{}, 1), func(*collectorpb.ExportProfilesServiceRequest) error { taken = true; return nil })
	if status.Code(err) != codes.ResourceExhausted || taken {
		t.Errorf("got %v, taken: %t", err, taken)
	}
}

// A message waits for the one before it, as long as its client does.
func TestOneMessageAtATime(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	decoding := make(chan struct{}, 1)
	err := sent(nil).then(t.Context(), decoding, func(*collectorpb.ExportProfilesServiceRequest) error {
		cancel()
		return sent(nil).then(ctx, decoding, func(*collectorpb.ExportProfilesServiceRequest) error {
			t.Error("two messages at once")
			return nil
		})
	})
	if err == nil || status.Code(err) == codes.OK {
		t.Errorf("got %v", err)
	}
}

func sizeOf(m protoreflect.MessageType) int64 {
	return int64(reflect.TypeOf(m.Zero().Interface()).Elem().Size())
}

func fieldOf(number protoreflect.FieldNumber, value []byte) []byte {
	return protowire.AppendBytes(protowire.AppendTag(nil, number, protowire.BytesType), value)
}
