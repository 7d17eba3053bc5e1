// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package decode

import (
	"fmt"

	commonpb "go.opentelemetry.io/proto/slim/otlp/common/v1"
)

// Bounds on the text of nested values, before quotes and escapes: of one label, and of all
// labels of a message. An array with many references to one long string is small in the
// message, but not as text.
const (
	maxNestedText  = 64 << 10
	maxNestedTexts = 4 << 20 // what a gRPC server takes by default
)

// countNestedText returns an error if v, an array or a list of attributes,
// would make too long a text.
func (d *decoder) countNestedText(v *commonpb.AnyValue) error {
	n := d.nestedText(v)
	if n > maxNestedText {
		return fmt.Errorf("a label of %d bytes of nested values, more than %d", n, maxNestedText)
	}
	if d.nestedTexts += n; d.nestedTexts > maxNestedTexts {
		return fmt.Errorf("labels of more than %d bytes of nested values in the message", maxNestedTexts)
	}
	return nil
}

// nestedText returns about how long the text of v is. What is empty counts too:
// it is written as null.
func (d *decoder) nestedText(v *commonpb.AnyValue) int64 {
	n := int64(1)
	switch v := v.GetValue().(type) {
	case *commonpb.AnyValue_StringValue:
		n += int64(len(v.StringValue))
	case *commonpb.AnyValue_StringValueStrindex:
		s, _ := d.string(v.StringValueStrindex) // value has reported the error
		n += int64(len(s))
	case *commonpb.AnyValue_BytesValue:
		n += int64(len(v.BytesValue))
	case *commonpb.AnyValue_ArrayValue:
		for _, e := range v.ArrayValue.GetValues() {
			n += d.nestedText(e)
		}
	case *commonpb.AnyValue_KvlistValue:
		for _, kv := range v.KvlistValue.GetValues() {
			key, _ := d.key(kv)
			n += int64(len(key)) + d.nestedText(kv.GetValue())
		}
	}
	return n
}
