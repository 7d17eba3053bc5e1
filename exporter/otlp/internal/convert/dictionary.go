// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package convert

import (
	"strings"

	"go.opentelemetry.io/otel/attribute"
	profilespb "go.opentelemetry.io/proto/slim/otlp/profiles/v1development"
)

// dictionary collects the tables that the profiles of a message refer to by
// index. Element 0 of each is the zero value: an index of 0 means "not set". The
// texts that it is given are UTF-8.
type dictionary struct {
	tables *profilespb.ProfilesDictionary

	strings    map[string]int32
	attributes map[attributeKey]int32
	functions  map[functionKey]int32
	mappings   map[mappingKey]int32
	locations  map[string]int32 // by the bytes of encoder.location
	stacks     map[string]int32 // by the bytes of encoder.stack
	links      map[linkKey]int32
}

type attributeKey struct {
	attribute.KeyValue
	unit string
}

type functionKey struct {
	name, systemName, filename string
	startLine                  int64
}

type mappingKey struct {
	start, limit, offset uint64
	file                 string
	attributes           string // their indices, as bytes
}

type linkKey struct {
	traceID [16]byte
	spanID  [8]byte
}

func newDictionary() *dictionary {
	return &dictionary{
		tables: &profilespb.ProfilesDictionary{
			MappingTable:   []*profilespb.Mapping{{}},
			LocationTable:  []*profilespb.Location{{}},
			FunctionTable:  []*profilespb.Function{{}},
			LinkTable:      []*profilespb.Link{{}}, // ids of zeros, which OTLP allows too, Parca refuses
			StringTable:    []string{""},
			AttributeTable: []*profilespb.KeyValueAndUnit{{}},
			StackTable:     []*profilespb.Stack{{}},
		},
		strings:    map[string]int32{"": 0},
		attributes: map[attributeKey]int32{},
		functions:  map[functionKey]int32{{}: 0},
		mappings:   map[mappingKey]int32{{}: 0},
		locations:  map[string]int32{},
		stacks:     map[string]int32{"": 0},
		links:      map[linkKey]int32{},
	}
}

func (d *dictionary) string(s string) int32 {
	if i, ok := d.strings[s]; ok {
		return i
	}
	i := int32(len(d.tables.StringTable))
	d.tables.StringTable = append(d.tables.StringTable, s)
	d.strings[s] = i
	return i
}

func (d *dictionary) attribute(kv attribute.KeyValue, unit string) int32 {
	k := attributeKey{kv, unit}
	if i, ok := d.attributes[k]; ok {
		return i
	}
	i := int32(len(d.tables.AttributeTable))
	d.tables.AttributeTable = append(d.tables.AttributeTable, &profilespb.KeyValueAndUnit{
		KeyStrindex:  d.string(string(kv.Key)),
		Value:        anyValue(kv.Value),
		UnitStrindex: d.string(unit),
	})
	d.attributes[k] = i
	return i
}

func (d *dictionary) function(k functionKey) int32 {
	if i, ok := d.functions[k]; ok {
		return i
	}
	i := int32(len(d.tables.FunctionTable))
	d.tables.FunctionTable = append(d.tables.FunctionTable, &profilespb.Function{
		NameStrindex:       d.string(k.name),
		SystemNameStrindex: d.string(k.systemName),
		FilenameStrindex:   d.string(k.filename),
		StartLine:          k.startLine,
	})
	d.functions[k] = i
	return i
}

func (d *dictionary) link(k linkKey) int32 {
	if i, ok := d.links[k]; ok {
		return i
	}
	i := int32(len(d.tables.LinkTable))
	d.tables.LinkTable = append(d.tables.LinkTable, &profilespb.Link{TraceId: k.traceID[:], SpanId: k.spanID[:]})
	d.links[k] = i
	return i
}

// validUTF8 returns s as protobuf accepts it. Different texts may become equal, so
// it must come before any search for duplicates.
func validUTF8(s string) string { return strings.ToValidUTF8(s, "\uFFFD") }

func (d *dictionary) valueType(name, unit string) *profilespb.ValueType {
	return &profilespb.ValueType{TypeStrindex: d.string(validUTF8(name)), UnitStrindex: d.string(validUTF8(unit))}
}
