// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package convert

import (
	"go.opentelemetry.io/otel/attribute"
	commonpb "go.opentelemetry.io/proto/slim/otlp/common/v1"
)

// keyValues returns attributes of a resource or scope. Their keys and values
// stand inline: Pyroscope refuses those that refer to the string table. Of keys
// that become the same, the last one's value counts, as in attribute.NewSet.
func keyValues(attrs []attribute.KeyValue) []*commonpb.KeyValue {
	kvs := make([]*commonpb.KeyValue, 0, len(attrs))
	places := make(map[string]int, len(attrs))
	for _, kv := range attrs {
		key := validUTF8(string(kv.Key))
		if i, ok := places[key]; ok {
			kvs[i].Value = anyValue(kv.Value)
			continue
		}
		places[key] = len(kvs)
		kvs = append(kvs, &commonpb.KeyValue{Key: key, Value: anyValue(kv.Value)})
	}
	return kvs
}

func anyValue(v attribute.Value) *commonpb.AnyValue {
	switch v.Type() {
	case attribute.BOOL:
		return &commonpb.AnyValue{Value: &commonpb.AnyValue_BoolValue{BoolValue: v.AsBool()}}
	case attribute.INT64:
		return &commonpb.AnyValue{Value: &commonpb.AnyValue_IntValue{IntValue: v.AsInt64()}}
	case attribute.FLOAT64:
		return &commonpb.AnyValue{Value: &commonpb.AnyValue_DoubleValue{DoubleValue: v.AsFloat64()}}
	case attribute.STRING:
		return &commonpb.AnyValue{Value: &commonpb.AnyValue_StringValue{StringValue: validUTF8(v.AsString())}}
	case attribute.BYTESLICE:
		return &commonpb.AnyValue{Value: &commonpb.AnyValue_BytesValue{BytesValue: v.AsByteSlice()}}
	case attribute.BOOLSLICE:
		return arrayValue(v.AsBoolSlice(), attribute.BoolValue)
	case attribute.INT64SLICE:
		return arrayValue(v.AsInt64Slice(), attribute.Int64Value)
	case attribute.FLOAT64SLICE:
		return arrayValue(v.AsFloat64Slice(), attribute.Float64Value)
	case attribute.STRINGSLICE:
		return arrayValue(v.AsStringSlice(), attribute.StringValue)
	case attribute.SLICE:
		return arrayValue(v.AsSlice(), func(e attribute.Value) attribute.Value { return e })
	case attribute.MAP:
		return &commonpb.AnyValue{Value: &commonpb.AnyValue_KvlistValue{
			KvlistValue: &commonpb.KeyValueList{Values: keyValues(v.AsMap())},
		}}
	}
	return &commonpb.AnyValue{} // EMPTY
}

func arrayValue[E any](elems []E, value func(E) attribute.Value) *commonpb.AnyValue {
	values := make([]*commonpb.AnyValue, len(elems))
	for i, e := range elems {
		values[i] = anyValue(value(e))
	}
	return &commonpb.AnyValue{Value: &commonpb.AnyValue_ArrayValue{
		ArrayValue: &commonpb.ArrayValue{Values: values},
	}}
}
