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

type spillJSON struct {
	Type  string          `json:"type"`
	Value json.RawMessage `json:"value"`
}

// MarshalJSON writes {"type":"INT64","value":1}. NaN and infinities are errors.
//
// The types that OpenTelemetry got after v1.38, bytes and mixed lists and maps,
// become their text: this module builds with v1.38, which cannot make them again.
func (s spillValue) MarshalJSON() ([]byte, error) {
	v := attribute.Value(s)
	data, name := v.AsInterface(), v.Type().String()
	switch v.Type() {
	case attribute.BOOL, attribute.INT64, attribute.FLOAT64, attribute.STRING,
		attribute.BOOLSLICE, attribute.INT64SLICE, attribute.FLOAT64SLICE, attribute.STRINGSLICE:
	case attribute.Value{}.Type():
		data, name = nil, emptyType
	default:
		data, name = v.Emit(), attribute.STRING.String() //nolint:staticcheck // v1.38 has no String
	}
	raw, err := json.Marshal(data)
	if err != nil {
		return nil, err
	}
	return json.Marshal(spillJSON{Type: name, Value: raw})
}

// emptyType is the type of the zero Value; OpenTelemetry has renamed its own.
const emptyType = "EMPTY"

// UnmarshalJSON reads what MarshalJSON has written.
func (s *spillValue) UnmarshalJSON(data []byte) error {
	var j spillJSON
	if err := json.Unmarshal(data, &j); err != nil {
		return err
	}
	var err error
	switch j.Type {
	case emptyType:
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
