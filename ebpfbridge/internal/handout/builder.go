// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package handout

import (
	"fmt"
	"slices"

	commonpb "go.opentelemetry.io/proto/slim/otlp/common/v1"
	profilespb "go.opentelemetry.io/proto/slim/otlp/profiles/v1development"
)

// builder builds a dictionary of what is asked of another one. After an error, which it
// keeps, it goes on with empty elements.
type builder struct {
	from    *profilespb.ProfilesDictionary
	to      *profilespb.ProfilesDictionary
	samples uint64
	err     error

	stringAt, mappingAt, functionAt, locationAt, stackAt, linkAt, attributeAt index
}

// index has the new places of elements by their old ones.
type index map[int32]int32

// newBuilder returns a builder whose tables have their first elements, which mean "not
// set".
func newBuilder(from *profilespb.ProfilesDictionary) *builder {
	return &builder{
		from: from,
		to: &profilespb.ProfilesDictionary{
			StringTable:    []string{""},
			MappingTable:   []*profilespb.Mapping{{}},
			FunctionTable:  []*profilespb.Function{{}},
			LocationTable:  []*profilespb.Location{{}},
			StackTable:     []*profilespb.Stack{{}},
			LinkTable:      []*profilespb.Link{{}},
			AttributeTable: []*profilespb.KeyValueAndUnit{{}},
		},
		stringAt: index{}, mappingAt: index{}, functionAt: index{}, locationAt: index{}, stackAt: index{}, linkAt: index{}, attributeAt: index{},
	}
}

func (b *builder) dictionary() *profilespb.ProfilesDictionary { return b.to }

// copied returns the new place of an element, which build copies the first time. Places
// are given before what they refer to: none refers back to its own table.
func copied[E any](b *builder, at index, name string, from []E, to *[]E, i int32, build func(E) E) int32 {
	if i == 0 {
		return 0
	}
	if n, ok := at[i]; ok {
		return n
	}
	if i < 0 || int(i) >= len(from) {
		if b.err == nil {
			b.err = fmt.Errorf("%s[%d]: out of range, the table has %d elements", name, i, len(from))
		}
		return 0
	}
	element := build(from[i])
	n := int32(len(*to))
	*to = append(*to, element)
	at[i] = n
	return n
}

func (b *builder) string(i int32) int32 {
	return copied(b, b.stringAt, "string_table", b.from.GetStringTable(), &b.to.StringTable, i, func(s string) string { return s })
}

func (b *builder) valueType(v *profilespb.ValueType) *profilespb.ValueType {
	if v == nil {
		return nil
	}
	return &profilespb.ValueType{TypeStrindex: b.string(v.GetTypeStrindex()), UnitStrindex: b.string(v.GetUnitStrindex())}
}

func (b *builder) stack(i int32) int32 {
	return copied(b, b.stackAt, "stack_table", b.from.GetStackTable(), &b.to.StackTable, i, func(s *profilespb.Stack) *profilespb.Stack {
		return &profilespb.Stack{LocationIndices: each(s.GetLocationIndices(), b.location)}
	})
}

func (b *builder) location(i int32) int32 {
	return copied(b, b.locationAt, "location_table", b.from.GetLocationTable(), &b.to.LocationTable, i, func(l *profilespb.Location) *profilespb.Location {
		own := &profilespb.Location{
			MappingIndex:     b.mapping(l.GetMappingIndex()),
			Address:          l.GetAddress(),
			AttributeIndices: b.attributes(l.GetAttributeIndices()),
		}
		for _, line := range l.GetLines() {
			own.Lines = append(own.Lines, &profilespb.Line{FunctionIndex: b.function(line.GetFunctionIndex()), Line: line.GetLine(), Column: line.GetColumn()})
		}
		return own
	})
}

func (b *builder) mapping(i int32) int32 {
	return copied(b, b.mappingAt, "mapping_table", b.from.GetMappingTable(), &b.to.MappingTable, i, func(m *profilespb.Mapping) *profilespb.Mapping {
		return &profilespb.Mapping{
			MemoryStart: m.GetMemoryStart(), MemoryLimit: m.GetMemoryLimit(), FileOffset: m.GetFileOffset(),
			FilenameStrindex: b.string(m.GetFilenameStrindex()),
			AttributeIndices: b.attributes(m.GetAttributeIndices()),
		}
	})
}

func (b *builder) function(i int32) int32 {
	return copied(b, b.functionAt, "function_table", b.from.GetFunctionTable(), &b.to.FunctionTable, i, func(f *profilespb.Function) *profilespb.Function {
		return &profilespb.Function{
			NameStrindex:       b.string(f.GetNameStrindex()),
			SystemNameStrindex: b.string(f.GetSystemNameStrindex()),
			FilenameStrindex:   b.string(f.GetFilenameStrindex()),
			StartLine:          f.GetStartLine(),
		}
	})
}

func (b *builder) link(i int32) int32 {
	return copied(b, b.linkAt, "link_table", b.from.GetLinkTable(), &b.to.LinkTable, i, func(l *profilespb.Link) *profilespb.Link {
		return &profilespb.Link{TraceId: slices.Clone(l.GetTraceId()), SpanId: slices.Clone(l.GetSpanId())}
	})
}

func (b *builder) attributes(indices []int32) []int32 { return each(indices, b.attribute) }

func (b *builder) attribute(i int32) int32 {
	return copied(b, b.attributeAt, "attribute_table", b.from.GetAttributeTable(), &b.to.AttributeTable, i, func(a *profilespb.KeyValueAndUnit) *profilespb.KeyValueAndUnit {
		return &profilespb.KeyValueAndUnit{KeyStrindex: b.string(a.GetKeyStrindex()), Value: b.value(a.GetValue()), UnitStrindex: b.string(a.GetUnitStrindex())}
	})
}

func (b *builder) keyValues(list []*commonpb.KeyValue) []*commonpb.KeyValue {
	own := make([]*commonpb.KeyValue, len(list))
	for i, kv := range list {
		own[i] = &commonpb.KeyValue{Key: kv.GetKey(), KeyStrindex: b.string(kv.GetKeyStrindex()), Value: b.value(kv.GetValue())}
	}
	return own
}

// value copies a value. The nesting is bounded: protobuf's own decoder has a limit.
func (b *builder) value(v *commonpb.AnyValue) *commonpb.AnyValue {
	switch v := v.GetValue().(type) {
	case *commonpb.AnyValue_StringValueStrindex:
		return &commonpb.AnyValue{Value: &commonpb.AnyValue_StringValueStrindex{StringValueStrindex: b.string(v.StringValueStrindex)}}
	case *commonpb.AnyValue_ArrayValue:
		var own commonpb.ArrayValue
		for _, e := range v.ArrayValue.GetValues() {
			own.Values = append(own.Values, b.value(e))
		}
		return &commonpb.AnyValue{Value: &commonpb.AnyValue_ArrayValue{ArrayValue: &own}}
	case *commonpb.AnyValue_KvlistValue:
		return &commonpb.AnyValue{Value: &commonpb.AnyValue_KvlistValue{KvlistValue: &commonpb.KeyValueList{Values: b.keyValues(v.KvlistValue.GetValues())}}}
	case nil:
		return &commonpb.AnyValue{}
	default: // scalars, in which nothing is that the sender did not mean
		return &commonpb.AnyValue{Value: v}
	}
}

func each(indices []int32, place func(int32) int32) []int32 {
	if indices == nil {
		return nil
	}
	own := make([]int32, len(indices))
	for n, i := range indices {
		own[n] = place(i)
	}
	return own
}
