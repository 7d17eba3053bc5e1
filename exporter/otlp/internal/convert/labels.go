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
	ids, linked := linkOf(s)
	if linked {
		link = e.dict.link(ids)
	}
	e.keys = e.keys[:0]
	for k, texts := range s.Label {
		if len(texts) > 0 && (!linked || !e.inLink(k)) && !e.leftOut(k) {
			e.keys = append(e.keys, k)
		}
	}
	for k, numbers := range s.NumLabel {
		if len(numbers) > 0 && len(s.Label[k]) == 0 && !e.texts {
			e.keys = append(e.keys, k)
		}
	}
	slices.Sort(e.keys)
	for _, k := range e.keys {
		attributes = append(attributes, e.attribute(k, s))
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

// attribute returns the index of a label's attribute: its first text, else its first number.
func (e *labelEncoder) attribute(key string, s *profile.Sample) int32 {
	kv := attribute.KeyValue{Key: attribute.Key(validUTF8(key))}
	if texts := s.Label[key]; len(texts) > 0 {
		kv.Value = attribute.StringValue(validUTF8(texts[0]))
		return e.dict.attribute(kv, "")
	}
	unit := ""
	if units := s.NumUnit[key]; len(units) > 0 {
		unit = validUTF8(units[0])
	}
	kv.Value = attribute.Int64Value(s.NumLabel[key][0])
	return e.dict.attribute(kv, unit)
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
