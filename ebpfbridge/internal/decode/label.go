// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package decode

import (
	"fmt"
	"slices"

	"github.com/google/pprof/profile"
	"go.opentelemetry.io/otel/attribute"
	commonpb "go.opentelemetry.io/proto/slim/otlp/common/v1"
)

// label is an attribute of a sample as pprof holds it: texts, numbers, or both.
type label struct {
	key   string
	texts []string
	nums  []int64
	units []string // as long as nums, or nil if no number has a unit
}

// label returns the label of an attribute. Samples share it.
func (d *decoder) label(i int32) (label, error) {
	if l, ok := d.labels[i]; ok {
		return l, nil
	}
	a, err := at(d.tables.GetAttributeTable(), "attribute_table", i)
	if err != nil {
		return label{}, err
	}
	var l label
	if l.key, err = d.string(a.GetKeyStrindex()); err != nil {
		return label{}, err
	}
	unit, err := d.string(a.GetUnitStrindex())
	if err != nil {
		return label{}, err
	}
	values := []*commonpb.AnyValue{a.GetValue()}
	if array := a.GetValue().GetArrayValue(); array != nil {
		values = array.GetValues()
	}
	for _, v := range values {
		if err := l.append(d, v, unit); err != nil {
			return label{}, err
		}
	}
	if !slices.ContainsFunc(l.units, func(u string) bool { return u != "" }) {
		l.units = nil
	}
	d.labels[i] = l
	return l, nil
}

func (l *label) append(d *decoder, v *commonpb.AnyValue, unit string) error {
	value, err := d.value(v)
	if err != nil {
		return err
	}
	switch value.Type() {
	case attribute.INT64:
		l.nums, l.units = append(l.nums, value.AsInt64()), append(l.units, unit)
		return nil
	case attribute.STRING:
		l.texts = append(l.texts, value.AsString())
		return nil
	case attribute.MAP:
		if n, u, ok := numberWithUnit(value); ok {
			l.nums, l.units = append(l.nums, n), append(l.units, u)
			return nil
		}
	}
	if err := d.countNestedText(v); err != nil {
		return err
	}
	l.texts = append(l.texts, value.String())
	return nil
}

// Keys of the map for a number of a label with several numbers, if its unit differs from
// the first.
const (
	valueKey = attribute.Key("value")
	unitKey  = attribute.Key("unit")
)

// numberWithUnit reads what labelValue writes where a number's unit differs
// from the first one's.
func numberWithUnit(v attribute.Value) (n int64, unit string, ok bool) {
	kvs := v.AsMap() // sorted by key
	if len(kvs) != 2 || kvs[0].Key != unitKey || kvs[1].Key != valueKey ||
		kvs[0].Value.Type() != attribute.STRING || kvs[1].Value.Type() != attribute.INT64 {
		return 0, "", false
	}
	return kvs[1].Value.AsInt64(), kvs[0].Value.AsString(), true
}

// addTo adds the label to a sample, which may not have it yet.
func (l label) addTo(s *profile.Sample) error {
	if _, ok := s.Label[l.key]; ok || len(s.NumLabel[l.key]) > 0 {
		return fmt.Errorf("two attributes have the key %q", l.key)
	}
	if len(l.texts) > 0 {
		if s.Label == nil {
			s.Label = map[string][]string{}
		}
		s.Label[l.key] = slices.Clip(l.texts)
	}
	if len(l.nums) > 0 {
		if s.NumLabel == nil {
			s.NumLabel, s.NumUnit = map[string][]int64{}, map[string][]string{}
		}
		s.NumLabel[l.key] = slices.Clip(l.nums)
		if l.units != nil {
			s.NumUnit[l.key] = slices.Clip(l.units)
		}
	}
	return nil
}
