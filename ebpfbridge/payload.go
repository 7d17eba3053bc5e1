// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package ebpfbridge

import (
	"fmt"
	"strings"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/sdk/resource"
	"google.golang.org/protobuf/encoding/protowire"
)

// schemaVersion declares to agents where the ids of the running span are.
var schemaVersion = attribute.String("threadlocal.schema_version", "go_pprof_labels_v1")

const maxPayload = 65536 // bytes, by OTEP 4719

// encode returns the ProcessContext message of OTEP 4719. It is written by hand, so that
// a service which publishes does not need the OTLP modules:
//
//	message ProcessContext {
//		Resource resource = 1;
//		repeated KeyValue attributes = 2;
//	}
//	message Resource { repeated KeyValue attributes = 1; }
func encode(res *resource.Resource) ([]byte, error) {
	if res == nil {
		res = resource.Default()
	}
	var attrs []byte
	for _, kv := range res.Attributes() {
		attrs = appendBytes(attrs, 1, keyValue(kv))
	}
	payload := appendBytes(nil, 1, attrs)
	payload = appendBytes(payload, 2, keyValue(schemaVersion))
	if len(payload) > maxPayload {
		return nil, fmt.Errorf("ebpfbridge: the process context of the resource has %d bytes, at most %d are allowed", len(payload), maxPayload)
	}
	return payload, nil
}

func appendBytes(b []byte, field protowire.Number, value []byte) []byte {
	b = protowire.AppendTag(b, field, protowire.BytesType)
	return protowire.AppendBytes(b, value)
}

func appendText(b []byte, field protowire.Number, s string) []byte {
	// Bytes that are not UTF-8 would make the whole message unreadable.
	return appendBytes(b, field, []byte(strings.ToValidUTF8(s, "\uFFFD")))
}

// keyValue encodes message KeyValue { string key = 1; AnyValue value = 2; }.
func keyValue(kv attribute.KeyValue) []byte {
	return appendBytes(appendText(nil, 1, string(kv.Key)), 2, anyValue(kv.Value))
}

// anyValue encodes message AnyValue { oneof { string = 1; bool = 2; int64 = 3; } }. Other types are
// rare in resources: they become text.
func anyValue(v attribute.Value) []byte {
	switch v.Type() {
	case attribute.BOOL:
		b := protowire.AppendTag(nil, 2, protowire.VarintType)
		return protowire.AppendVarint(b, protowire.EncodeBool(v.AsBool()))
	case attribute.INT64:
		b := protowire.AppendTag(nil, 3, protowire.VarintType)
		return protowire.AppendVarint(b, uint64(v.AsInt64()))
	case attribute.EMPTY:
		return nil
	}
	return appendText(nil, 1, v.String())
}
