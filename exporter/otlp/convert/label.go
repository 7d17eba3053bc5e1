// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package convert

import (
	"fmt"
	"slices"

	"github.com/google/pprof/profile"
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
	if n, ok := v.GetValue().(*commonpb.AnyValue_IntValue); ok {
		l.nums, l.units = append(l.nums, n.IntValue), append(l.units, unit)
		return nil
	}
	if n, u, ok := numberWithUnit(v); ok {
		l.nums, l.units = append(l.nums, n), append(l.units, u)
		return nil
	}
	text, err := d.value(v)
	if err != nil {
		return err
	}
	l.texts = append(l.texts, text.String())
	return nil
}

// numberWithUnit reads what labelValue writes where a number's unit differs
// from the first one's.
func numberWithUnit(v *commonpb.AnyValue) (n int64, unit string, ok bool) {
	kvs := v.GetKvlistValue().GetValues()
	if len(kvs) != 2 || kvs[0].GetKey() != string(unitKey) || kvs[1].GetKey() != string(valueKey) {
		return 0, "", false
	}
	u, isText := kvs[0].GetValue().GetValue().(*commonpb.AnyValue_StringValue)
	i, isNumber := kvs[1].GetValue().GetValue().(*commonpb.AnyValue_IntValue)
	if !isText || !isNumber {
		return 0, "", false
	}
	return i.IntValue, u.StringValue, true
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
