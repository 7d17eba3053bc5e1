// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package decode

import (
	"cmp"
	"fmt"

	"github.com/google/pprof/profile"
	"go.opentelemetry.io/otel/attribute"
	semconv "go.opentelemetry.io/otel/semconv/v1.43.0"
)

func (d *profileDecoder) stack(i int32) ([]*profile.Location, error) {
	if locations, ok := d.stacks[i]; ok {
		return locations, nil
	}
	stack, err := at(d.tables.GetStackTable(), "stack_table", i)
	if err != nil {
		return nil, err
	}
	locations := make([]*profile.Location, len(stack.GetLocationIndices()))
	for n, l := range stack.GetLocationIndices() {
		if locations[n], err = d.location(l); err != nil {
			return nil, fmt.Errorf("stack_table[%d]: %w", i, err)
		}
	}
	d.stacks[i] = locations
	return locations, nil
}

func (d *profileDecoder) location(i int32) (*profile.Location, error) {
	if l, ok := d.locations[i]; ok {
		return l, nil
	}
	from, err := at(d.tables.GetLocationTable(), "location_table", i)
	if err != nil {
		return nil, err
	}
	if err := cmp.Or(d.spend(1, locationCost), d.spend(len(from.GetLines()), lineCost)); err != nil {
		return nil, err
	}
	attrs, err := d.attributes(from.GetAttributeIndices())
	if err != nil {
		return nil, fmt.Errorf("location_table[%d]: %w", i, err)
	}
	l := &profile.Location{Address: from.GetAddress(), IsFolded: isSet(attrs, semconv.PprofLocationIsFoldedKey)}
	if l.Mapping, err = d.mapping(from.GetMappingIndex()); err != nil {
		return nil, fmt.Errorf("location_table[%d]: %w", i, err)
	}
	for _, line := range from.GetLines() {
		f, err := d.function(line.GetFunctionIndex())
		if err != nil {
			return nil, fmt.Errorf("location_table[%d]: %w", i, err)
		}
		l.Line = append(l.Line, profile.Line{Function: f, Line: line.GetLine(), Column: line.GetColumn()})
	}
	d.profile.Location = append(d.profile.Location, l)
	l.ID = uint64(len(d.profile.Location))
	d.locations[i] = l
	if t, ok := attrs.Value(semconv.ProfileFrameTypeKey); ok {
		d.frameTypes[l.ID] = t.AsString()
	}
	return l, nil
}

// function returns an empty function for index 0: pprof has no lines without
// one.
func (d *profileDecoder) function(i int32) (*profile.Function, error) {
	if f, ok := d.functions[i]; ok {
		return f, nil
	}
	from, err := at(d.tables.GetFunctionTable(), "function_table", i)
	if err != nil {
		return nil, err
	}
	if err := d.spend(1, functionCost); err != nil {
		return nil, err
	}
	f := &profile.Function{StartLine: from.GetStartLine()}
	for _, s := range []struct {
		to    *string
		index int32
	}{
		{&f.Name, from.GetNameStrindex()},
		{&f.SystemName, from.GetSystemNameStrindex()},
		{&f.Filename, from.GetFilenameStrindex()},
	} {
		if *s.to, err = d.string(s.index); err != nil {
			return nil, fmt.Errorf("function_table[%d]: %w", i, err)
		}
	}
	d.profile.Function = append(d.profile.Function, f)
	f.ID = uint64(len(d.profile.Function))
	d.functions[i] = f
	return f, nil
}

// mapping returns nil for index 0.
func (d *profileDecoder) mapping(i int32) (*profile.Mapping, error) {
	if m, ok := d.mappings[i]; ok || i == 0 {
		return m, nil
	}
	m, err := d.newMapping(i)
	if err != nil {
		return nil, fmt.Errorf("mapping_table[%d]: %w", i, err)
	}
	d.mappings[i] = m
	return m, nil
}

func (d *profileDecoder) newMapping(i int32) (*profile.Mapping, error) {
	from, err := at(d.tables.GetMappingTable(), "mapping_table", i)
	if err != nil {
		return nil, err
	}
	attrs, err := d.attributes(from.GetAttributeIndices())
	if err != nil {
		return nil, err
	}
	m := &profile.Mapping{
		Start:           from.GetMemoryStart(),
		Limit:           from.GetMemoryLimit(),
		Offset:          from.GetFileOffset(),
		HasFunctions:    isSet(attrs, semconv.PprofMappingHasFunctionsKey),
		HasFilenames:    isSet(attrs, semconv.PprofMappingHasFilenamesKey),
		HasLineNumbers:  isSet(attrs, semconv.PprofMappingHasLineNumbersKey),
		HasInlineFrames: isSet(attrs, semconv.PprofMappingHasInlineFramesKey),
	}
	for _, key := range []attribute.Key{semconv.ProcessExecutableBuildIDGoKey, semconv.ProcessExecutableBuildIDGNUKey} {
		if id, ok := attrs.Value(key); ok {
			m.BuildID = id.AsString()
		}
	}
	m.File, err = d.string(from.GetFilenameStrindex())
	return m, err
}

func isSet(attrs attribute.Set, key attribute.Key) bool {
	v, _ := attrs.Value(key)
	return v.AsBool()
}
