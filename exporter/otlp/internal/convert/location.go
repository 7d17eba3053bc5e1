// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package convert

import (
	"encoding/binary"
	"path"

	"github.com/google/pprof/profile"
	"go.opentelemetry.io/otel/attribute"
	semconv "go.opentelemetry.io/otel/semconv/v1.43.0"
	profilespb "go.opentelemetry.io/proto/slim/otlp/profiles/v1development"
)

// location returns the index of l. Inlined functions stand before those they
// were inlined into, in OTLP as in pprof.
func (e *encoder) location(l *profile.Location) int32 {
	if i, ok := e.locations[l]; ok {
		return i
	}
	location := &profilespb.Location{
		MappingIndex: e.mappings[l.Mapping],
		Address:      l.Address,
		Lines:        make([]*profilespb.Line, len(l.Line)),
	}
	location.AttributeIndices = append(location.AttributeIndices, e.dict.attribute(frameType(l), ""))
	if l.IsFolded {
		location.AttributeIndices = append(location.AttributeIndices, e.dict.attribute(semconv.PprofLocationIsFolded(true), ""))
	}
	for i, line := range l.Line {
		f := line.Function
		location.Lines[i] = &profilespb.Line{
			FunctionIndex: e.dict.function(functionKey{validUTF8(f.Name), validUTF8(f.SystemName), validUTF8(f.Filename), f.StartLine}),
			Line:          line.Line,
			Column:        line.Column,
		}
	}
	i := index(e.dict.locations, &e.dict.tables.LocationTable, e.locationKey(location), func() *profilespb.Location { return location })
	e.locations[l] = i
	return i
}

// frameType returns the language of a frame. Frames with only an address are of C or the vDSO.
func frameType(l *profile.Location) attribute.KeyValue {
	if len(l.Line) == 0 {
		return semconv.ProfileFrameTypeNative
	}
	switch path.Ext(l.Line[0].Function.Filename) {
	case ".c", ".cc", ".cpp", ".h", ".S":
		return semconv.ProfileFrameTypeNative
	}
	return semconv.ProfileFrameTypeGo
}

// locationKey returns a text that is equal for equal locations only.
func (e *encoder) locationKey(l *profilespb.Location) string {
	key := binary.AppendUvarint(e.buf[:0], uint64(l.MappingIndex))
	key = binary.AppendUvarint(key, l.Address)
	key = binary.AppendUvarint(key, uint64(len(l.AttributeIndices)))
	for _, i := range l.AttributeIndices {
		key = binary.AppendUvarint(key, uint64(i))
	}
	for _, line := range l.Lines {
		key = binary.AppendUvarint(key, uint64(line.FunctionIndex))
		key = binary.AppendVarint(key, line.Line)
		key = binary.AppendVarint(key, line.Column)
	}
	e.buf = key
	return string(key)
}
