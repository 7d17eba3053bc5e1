// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package exporter

import (
	"encoding/json"
	"fmt"

	"go.opentelemetry.io/otel/attribute"
)

// spillAttribute is an attribute as JSON that keeps its type: the MarshalJSON of
// the attribute package has no counterpart.
type spillAttribute struct {
	Key   attribute.Key `json:"key"`
	Value spillValue    `json:"value"`
}

type spillValue attribute.Value

func spillAttributes(kvs []attribute.KeyValue) []spillAttribute {
	as := make([]spillAttribute, len(kvs))
	for i, kv := range kvs {
		as[i] = spillAttribute{Key: kv.Key, Value: spillValue(kv.Value)}
	}
	return as
}

func attributes(as []spillAttribute) []attribute.KeyValue {
	kvs := make([]attribute.KeyValue, len(as))
	for i, a := range as {
		kvs[i] = attribute.KeyValue{Key: a.Key, Value: attribute.Value(a.Value)}
	}
	return kvs
}

func spillValues(vs []attribute.Value) []spillValue {
	s := make([]spillValue, len(vs))
	for i, v := range vs {
		s[i] = spillValue(v)
	}
	return s
}

func values(s []spillValue) []attribute.Value {
	vs := make([]attribute.Value, len(s))
	for i, v := range s {
		vs[i] = attribute.Value(v)
	}
	return vs
}

type spillJSON struct {
	Type  string          `json:"type"`
	Value json.RawMessage `json:"value"`
}

// MarshalJSON writes {"type":"INT64","value":1}. NaN and infinities are errors.
func (s spillValue) MarshalJSON() ([]byte, error) {
	v := attribute.Value(s)
	data := v.AsInterface()
	switch v.Type() {
	case attribute.SLICE:
		data = spillValues(v.AsSlice())
	case attribute.MAP:
		data = spillAttributes(v.AsMap())
	}
	raw, err := json.Marshal(data)
	if err != nil {
		return nil, err
	}
	return json.Marshal(spillJSON{Type: v.Type().String(), Value: raw})
}

// UnmarshalJSON reads what MarshalJSON has written.
func (s *spillValue) UnmarshalJSON(data []byte) error {
	var j spillJSON
	if err := json.Unmarshal(data, &j); err != nil {
		return err
	}
	var err error
	switch j.Type {
	case attribute.EMPTY.String():
		*s = spillValue{}
	case attribute.BOOL.String():
		*s, err = decode(j.Value, attribute.BoolValue)
	case attribute.INT64.String():
		*s, err = decode(j.Value, attribute.Int64Value)
	case attribute.FLOAT64.String():
		*s, err = decode(j.Value, attribute.Float64Value)
	case attribute.STRING.String():
		*s, err = decode(j.Value, attribute.StringValue)
	case attribute.BOOLSLICE.String():
		*s, err = decode(j.Value, attribute.BoolSliceValue)
	case attribute.INT64SLICE.String():
		*s, err = decode(j.Value, attribute.Int64SliceValue)
	case attribute.FLOAT64SLICE.String():
		*s, err = decode(j.Value, attribute.Float64SliceValue)
	case attribute.STRINGSLICE.String():
		*s, err = decode(j.Value, attribute.StringSliceValue)
	case attribute.BYTESLICE.String():
		*s, err = decode(j.Value, attribute.ByteSliceValue)
	case attribute.SLICE.String():
		*s, err = decode(j.Value, func(vs []spillValue) attribute.Value { return attribute.SliceValue(values(vs)...) })
	case attribute.MAP.String():
		*s, err = decode(j.Value, func(as []spillAttribute) attribute.Value { return attribute.MapValue(attributes(as)...) })
	default:
		err = fmt.Errorf("attribute of unknown type %q", j.Type)
	}
	return err
}

func decode[T any](raw json.RawMessage, value func(T) attribute.Value) (spillValue, error) {
	var data T
	if err := json.Unmarshal(raw, &data); err != nil {
		return spillValue{}, err
	}
	return spillValue(value(data)), nil
}
