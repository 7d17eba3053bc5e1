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

// index returns the index of the element with a key, which is made if the table lacks it.
func index[K comparable, V any](indices map[K]int32, table *[]V, key K, element func() V) int32 {
	i, ok := indices[key]
	if !ok {
		i = int32(len(*table))
		*table = append(*table, element())
		indices[key] = i
	}
	return i
}

func (d *dictionary) string(s string) int32 {
	return index(d.strings, &d.tables.StringTable, s, func() string { return s })
}

func (d *dictionary) attribute(kv attribute.KeyValue, unit string) int32 {
	return index(d.attributes, &d.tables.AttributeTable, attributeKey{kv, unit}, func() *profilespb.KeyValueAndUnit {
		return &profilespb.KeyValueAndUnit{
			KeyStrindex:  d.string(string(kv.Key)),
			Value:        anyValue(kv.Value),
			UnitStrindex: d.string(unit),
		}
	})
}

func (d *dictionary) function(k functionKey) int32 {
	return index(d.functions, &d.tables.FunctionTable, k, func() *profilespb.Function {
		return &profilespb.Function{
			NameStrindex:       d.string(k.name),
			SystemNameStrindex: d.string(k.systemName),
			FilenameStrindex:   d.string(k.filename),
			StartLine:          k.startLine,
		}
	})
}

func (d *dictionary) link(k linkKey) int32 {
	return index(d.links, &d.tables.LinkTable, k, func() *profilespb.Link {
		return &profilespb.Link{TraceId: k.traceID[:], SpanId: k.spanID[:]}
	})
}

// validUTF8 returns s as protobuf accepts it. Different texts may become equal, so
// it must come before any search for duplicates.
func validUTF8(s string) string { return strings.ToValidUTF8(s, "\uFFFD") }

func (d *dictionary) valueType(name, unit string) *profilespb.ValueType {
	return &profilespb.ValueType{TypeStrindex: d.string(validUTF8(name)), UnitStrindex: d.string(validUTF8(unit))}
}
