// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package decode

import (
	"fmt"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/sdk/resource"
	commonpb "go.opentelemetry.io/proto/slim/otlp/common/v1"
	profilespb "go.opentelemetry.io/proto/slim/otlp/profiles/v1development"
)

// decoder reads the tables of a message.
type decoder struct {
	tables *profilespb.ProfilesDictionary

	// Of the attribute table, what has been read of it. A message may refer
	// to a large attribute very often.
	labels map[int32]label              // for samples
	others map[int32]attribute.KeyValue // for mappings, locations and profiles

	nestedTexts int64 // how much text of nested values the labels are
	cost        int64 // of the profiles so far, in bytes
	maxCost     int64
}

func newDecoder(tables *profilespb.ProfilesDictionary, maxCost int64) *decoder {
	return &decoder{tables: tables, maxCost: maxCost, labels: map[int32]label{}, others: map[int32]attribute.KeyValue{}}
}

// at returns the element of a table. An index of 0 means "not set" and needs no
// table.
func at[E any](table []E, name string, i int32) (e E, err error) {
	if i == 0 && len(table) == 0 {
		return e, nil
	}
	if i < 0 || int(i) >= len(table) {
		return e, fmt.Errorf("%s[%d]: out of range, the table has %d elements", name, i, len(table))
	}
	return table[i], nil
}

func (d *decoder) string(i int32) (string, error) {
	return at(d.tables.GetStringTable(), "string_table", i)
}

// attributes returns the attributes of a mapping, location or profile.
func (d *decoder) attributes(indices []int32) (attribute.Set, error) {
	if err := d.spend(len(indices), indexCost); err != nil {
		return attribute.Set{}, err
	}
	kvs := make([]attribute.KeyValue, len(indices))
	for n, i := range indices {
		var err error
		if kvs[n], err = d.attribute(i); err != nil {
			return attribute.Set{}, err
		}
	}
	return attribute.NewSet(kvs...), nil
}

func (d *decoder) attribute(i int32) (attribute.KeyValue, error) {
	if kv, ok := d.others[i]; ok {
		return kv, nil
	}
	a, err := at(d.tables.GetAttributeTable(), "attribute_table", i)
	if err != nil {
		return attribute.KeyValue{}, err
	}
	key, err := d.string(a.GetKeyStrindex())
	if err != nil {
		return attribute.KeyValue{}, err
	}
	v, err := d.value(a.GetValue())
	if err != nil {
		return attribute.KeyValue{}, err
	}
	kv := attribute.KeyValue{Key: attribute.Key(key), Value: v}
	d.others[i] = kv
	return kv, nil
}

// keyValues returns the attributes of a resource or scope, or of a value.
func (d *decoder) keyValues(kvs []*commonpb.KeyValue) ([]attribute.KeyValue, error) {
	attrs := make([]attribute.KeyValue, 0, len(kvs))
	for _, kv := range kvs {
		key, err := d.key(kv)
		if err != nil {
			return nil, err
		}
		v, err := d.value(kv.GetValue())
		if err != nil {
			return nil, err
		}
		attrs = append(attrs, attribute.KeyValue{Key: attribute.Key(key), Value: v})
	}
	return attrs, nil
}

// key returns the key of an attribute, which stands inline or in the string table.
func (d *decoder) key(kv *commonpb.KeyValue) (string, error) {
	if i := kv.GetKeyStrindex(); i != 0 {
		return d.string(i)
	}
	return kv.GetKey(), nil
}

func (d *decoder) value(v *commonpb.AnyValue) (attribute.Value, error) {
	switch v := v.GetValue().(type) {
	case *commonpb.AnyValue_BoolValue:
		return attribute.BoolValue(v.BoolValue), nil
	case *commonpb.AnyValue_IntValue:
		return attribute.Int64Value(v.IntValue), nil
	case *commonpb.AnyValue_DoubleValue:
		return attribute.Float64Value(v.DoubleValue), nil
	case *commonpb.AnyValue_StringValue:
		return attribute.StringValue(v.StringValue), nil
	case *commonpb.AnyValue_StringValueStrindex:
		s, err := d.string(v.StringValueStrindex)
		return attribute.StringValue(s), err
	case *commonpb.AnyValue_BytesValue:
		return attribute.ByteSliceValue(v.BytesValue), nil
	case *commonpb.AnyValue_ArrayValue:
		return d.array(v.ArrayValue.GetValues())
	case *commonpb.AnyValue_KvlistValue:
		kvs, err := d.keyValues(v.KvlistValue.GetValues())
		return attribute.MapValue(kvs...), err
	}
	return attribute.Value{}, nil
}

// array returns a slice of the elements' type if they have one. So a resource is equal after
// encoding and decoding.
func (d *decoder) array(elems []*commonpb.AnyValue) (attribute.Value, error) {
	values := make([]attribute.Value, len(elems))
	for i, e := range elems {
		var err error
		if values[i], err = d.value(e); err != nil {
			return attribute.Value{}, err
		}
	}
	switch commonType(values) {
	case attribute.BOOL:
		return attribute.BoolSliceValue(each(values, attribute.Value.AsBool)), nil
	case attribute.INT64:
		return attribute.Int64SliceValue(each(values, attribute.Value.AsInt64)), nil
	case attribute.FLOAT64:
		return attribute.Float64SliceValue(each(values, attribute.Value.AsFloat64)), nil
	case attribute.STRING:
		return attribute.StringSliceValue(each(values, attribute.Value.AsString)), nil
	}
	return attribute.SliceValue(values...), nil
}

// commonType returns the type of all values, or EMPTY without one.
func commonType(values []attribute.Value) attribute.Type {
	t := attribute.EMPTY
	for i, v := range values {
		if i > 0 && v.Type() != t {
			return attribute.EMPTY
		}
		t = v.Type()
	}
	return t
}

func each[E any](values []attribute.Value, as func(attribute.Value) E) []E {
	elems := make([]E, len(values))
	for i, v := range values {
		elems[i] = as(v)
	}
	return elems
}

func (d *decoder) resource(r *profilespb.ResourceProfiles) (*resource.Resource, error) {
	attrs, err := d.keyValues(r.GetResource().GetAttributes())
	if err != nil {
		return nil, err
	}
	return resource.NewWithAttributes(r.GetSchemaUrl(), attrs...), nil
}
