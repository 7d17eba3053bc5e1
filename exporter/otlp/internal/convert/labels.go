// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package convert

import (
	"encoding/hex"
	"slices"

	"github.com/google/pprof/profile"
	"go.opentelemetry.io/otel/attribute"

	"github.com/spanprof/spanprof/internal/labelkey"
)

// Keys of the map for a number of a label with several numbers, if its unit differs from
// the first.
const (
	valueKey = attribute.Key("value")
	unitKey  = attribute.Key("unit")
)

// labelEncoder turns the labels of samples into Links and attributes.
type labelEncoder struct {
	idAttributes bool // ids of spans are attributes too
	texts        bool // numeric labels, like the sizes of heap profiles, are not sent
	dict         *dictionary
	// linkHasProfileID is set if the label profile_id of every sample with a
	// Link is the span's id. It is not sent then: its hexadecimal form is larger than
	// the Link.
	linkHasProfileID bool
	keys             []string // of the sample, sorted
}

func newLabelEncoder(c Config, dict *dictionary, p *profile.Profile) labelEncoder {
	return labelEncoder{
		idAttributes:     c.SpanIDAttributes,
		texts:            c.Series != nil,
		dict:             dict,
		linkHasProfileID: !c.SpanIDAttributes && profileIDsAreSpanIDs(p),
	}
}

func profileIDsAreSpanIDs(p *profile.Profile) bool {
	linked := false
	for _, s := range p.Sample {
		if _, ok := linkOf(s); !ok {
			continue
		}
		linked = true
		if len(s.NumLabel[labelkey.ProfileID]) > 0 || !slices.Equal(s.Label[labelkey.ProfileID], s.Label[labelkey.SpanID]) {
			return false
		}
	}
	return linked
}

// encode returns the index of the Link of s, 0 if there is none, and the indices of its
// attributes.
func (e *labelEncoder) encode(s *profile.Sample) (link int32, attributes []int32) {
	s = validLabels(s)
	ids, linked := linkOf(s)
	if linked {
		link = e.dict.link(ids)
	}
	nums := s.NumLabel
	if e.texts {
		nums = nil
	}
	e.keys = e.keys[:0]
	for k := range s.Label {
		if linked && e.inLink(k) || e.leftOut(k) {
			continue
		}
		e.keys = append(e.keys, k)
	}
	for k := range nums {
		if _, both := s.Label[k]; !both {
			e.keys = append(e.keys, k)
		}
	}
	slices.Sort(e.keys)
	for _, k := range e.keys {
		if v, unit, ok := labelValue(s.Label[k], nums[k], s.NumUnit[k]); ok {
			attributes = append(attributes, e.dict.attribute(attribute.KeyValue{Key: attribute.Key(k), Value: v}, unit))
		}
	}
	return link, attributes
}

// inLink reports whether a Link stands for the label.
func (e *labelEncoder) inLink(key string) bool {
	switch key {
	case labelkey.TraceID, labelkey.SpanID:
		return !e.idAttributes
	case labelkey.ProfileID:
		return e.linkHasProfileID
	}
	return false
}

// leftOut reports whether the label is not sent: the id of a span that had ended. No Link
// can hold it, and as an attribute it would make a series of each span in Pyroscope.
func (e *labelEncoder) leftOut(key string) bool {
	return !e.idAttributes && key == labelkey.EndedSpanID
}

// labelValue returns the value of all labels of one key. An attribute has one
// value, but a pprof label may occur several times. ok is false if there is none.
func labelValue(texts []string, nums []int64, units []string) (v attribute.Value, unit string, ok bool) {
	if len(units) > 0 {
		unit = units[0]
	}
	switch {
	case len(texts) == 1 && len(nums) == 0:
		return attribute.StringValue(texts[0]), "", true
	case len(nums) == 1 && len(texts) == 0:
		return attribute.Int64Value(nums[0]), unit, true
	case len(texts) == 0 && len(nums) == 0:
		return v, "", false
	}
	values := make([]attribute.Value, 0, len(texts)+len(nums))
	for _, t := range texts {
		values = append(values, attribute.StringValue(t))
	}
	for i, n := range nums {
		value := attribute.Int64Value(n)
		if len(units) > i && units[i] != unit {
			value = attribute.MapValue(valueKey.Int64(n), unitKey.String(units[i]))
		}
		values = append(values, value)
	}
	return attribute.SliceValue(values...), unit, true
}

// linkOf returns the ids of the span that s belongs to; ok is false if there are none or they
// are no ids of OpenTelemetry.
func linkOf(s *profile.Sample) (k linkKey, ok bool) {
	if len(s.NumLabel[labelkey.TraceID]) > 0 || len(s.NumLabel[labelkey.SpanID]) > 0 {
		return k, false
	}
	ok = decodeID(k.traceID[:], s.Label[labelkey.TraceID]) && decodeID(k.spanID[:], s.Label[labelkey.SpanID])
	return k, ok
}

// decodeID decodes the only value of a label. It must be lower-case hexadecimal of the right
// length, and not zero.
func decodeID(id []byte, values []string) bool {
	if len(values) != 1 || len(values[0]) != hex.EncodedLen(len(id)) {
		return false
	}
	for _, c := range []byte(values[0]) {
		if c >= 'A' && c <= 'F' {
			return false
		}
	}
	if _, err := hex.Decode(id, []byte(values[0])); err != nil {
		return false
	}
	return slices.ContainsFunc(id, func(b byte) bool { return b != 0 })
}
