// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package exporter

import (
	"bytes"

	"github.com/google/pprof/profile"
)

// encode returns a profile in the pprof format. Unlike profile.Write it does not
// write to p, not even to unexported fields, which others would read when they
// copy a profile.Line, as profile.Merge does.
func encode(p *profile.Profile) ([]byte, error) {
	own := &profile.Profile{
		SampleType:        make([]*profile.ValueType, len(p.SampleType)),
		DefaultSampleType: p.DefaultSampleType,
		Sample:            make([]*profile.Sample, len(p.Sample)),
		Mapping:           make([]*profile.Mapping, len(p.Mapping)),
		Location:          make([]*profile.Location, len(p.Location)),
		Function:          make([]*profile.Function, len(p.Function)),
		Comments:          p.Comments,
		DocURL:            p.DocURL,
		DropFrames:        p.DropFrames,
		KeepFrames:        p.KeepFrames,
		TimeNanos:         p.TimeNanos,
		DurationNanos:     p.DurationNanos,
		PeriodType:        valueType(p.PeriodType),
		Period:            p.Period,
	}
	for i, t := range p.SampleType {
		own.SampleType[i] = valueType(t)
	}
	mappings := make(map[*profile.Mapping]*profile.Mapping, len(p.Mapping))
	for i, m := range p.Mapping {
		own.Mapping[i] = &profile.Mapping{
			ID: m.ID, Start: m.Start, Limit: m.Limit, Offset: m.Offset, File: m.File, BuildID: m.BuildID,
			HasFunctions: m.HasFunctions, HasFilenames: m.HasFilenames, HasLineNumbers: m.HasLineNumbers,
			HasInlineFrames: m.HasInlineFrames, KernelRelocationSymbol: m.KernelRelocationSymbol,
		}
		mappings[m] = own.Mapping[i]
	}
	functions := make(map[*profile.Function]*profile.Function, len(p.Function))
	for i, f := range p.Function {
		own.Function[i] = &profile.Function{ID: f.ID, Name: f.Name, SystemName: f.SystemName, Filename: f.Filename, StartLine: f.StartLine}
		functions[f] = own.Function[i]
	}
	locations := make(map[*profile.Location]*profile.Location, len(p.Location))
	for i, l := range p.Location {
		own.Location[i] = &profile.Location{
			ID: l.ID, Mapping: mappings[l.Mapping], Address: l.Address, IsFolded: l.IsFolded, Line: make([]profile.Line, len(l.Line)),
		}
		for j := range l.Line {
			own.Location[i].Line[j] = profile.Line{Function: functions[l.Line[j].Function], Line: l.Line[j].Line, Column: l.Line[j].Column}
		}
		locations[l] = own.Location[i]
	}
	for i, s := range p.Sample {
		own.Sample[i] = &profile.Sample{
			Value: s.Value, Label: s.Label, NumLabel: s.NumLabel, NumUnit: s.NumUnit, Location: make([]*profile.Location, len(s.Location)),
		}
		for j, l := range s.Location {
			own.Sample[i].Location[j] = locations[l]
		}
	}
	var b bytes.Buffer
	err := own.Write(&b)
	return b.Bytes(), err
}

func valueType(t *profile.ValueType) *profile.ValueType {
	if t == nil {
		return nil
	}
	return &profile.ValueType{Type: t.Type, Unit: t.Unit}
}
