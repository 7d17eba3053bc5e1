// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package wall

import (
	"time"

	"github.com/google/pprof/profile"
)

// builder makes a profile of a table.
type builder struct {
	source    source
	profile   *profile.Profile
	functions map[frame]*profile.Function // by what a function is: the line is 0
	locations map[place]*profile.Location

	locationList []*profile.Location // of all samples
	labelValues  []string            // likewise
}

// place is a location: the address of its innermost function, and how many
// addresses of a stack it takes.
type place struct {
	pc uintptr
	n  int
}

// build returns the profile of what a table has summed from start on for d.
func build(s source, t *table, start time.Time, d time.Duration) *profile.Profile {
	b := &builder{
		source: s,
		profile: &profile.Profile{
			SampleType:        []*profile.ValueType{{Type: "samples", Unit: "count"}, {Type: "wall", Unit: "nanoseconds"}},
			DefaultSampleType: "wall",
			PeriodType:        &profile.ValueType{Type: "wall", Unit: "nanoseconds"},
			TimeNanos:         start.UnixNano(),
			DurationNanos:     int64(d),
			// There is no fixed period: this is the mean one.
			Period: int64(d) / int64(max(1, t.rounds)),
			Sample: make([]*profile.Sample, 0, len(t.entries)),
		},
		functions: make(map[frame]*profile.Function),
		locations: make(map[place]*profile.Location),
	}
	var frames, labels int
	for _, e := range t.entries {
		frames += len(e.stack)
		labels += len(e.labels)
	}
	// One allocation for all samples of what each needs a piece of makes
	// this take half the time.
	samples := make([]profile.Sample, len(t.entries))
	values := make([]int64, 0, 2*len(t.entries))
	b.locationList = make([]*profile.Location, 0, frames)
	b.labelValues = make([]string, 0, labels)
	for _, e := range t.entries {
		s := &samples[len(b.profile.Sample)]
		values = append(values, e.count, int64(e.time))
		s.Value = values[len(values)-2 : len(values) : len(values)]
		s.Label = b.labels(e.labels)
		s.Location = b.stack(e.stack)
		b.profile.Sample = append(b.profile.Sample, s)
	}
	return b.profile
}

func (b *builder) labels(labels []label) map[string][]string {
	m := make(map[string][]string, len(labels))
	for _, l := range labels {
		switch {
		case l.Value == "":
			// It would be a number, 0, in the encoded profile.
		case m[l.Key] != nil:
			m[l.Key] = append(m[l.Key], l.Value)
		default:
			b.labelValues = append(b.labelValues, l.Value)
			end := len(b.labelValues)
			m[l.Key] = b.labelValues[end-1 : end : end]
		}
	}
	return m
}

func (b *builder) stack(pcs []uintptr) []*profile.Location {
	begin := len(b.locationList)
	for len(pcs) > 0 {
		n := b.source.split(pcs)
		if l := b.location(pcs[:n]); l != nil {
			b.locationList = append(b.locationList, l)
		}
		pcs = pcs[n:]
	}
	end := len(b.locationList)
	return b.locationList[begin:end:end]
}

// location returns nil for an address without functions.
func (b *builder) location(pcs []uintptr) *profile.Location {
	k := place{pcs[0], len(pcs)}
	if l, ok := b.locations[k]; ok {
		return l
	}
	var l *profile.Location
	if frames := b.source.frames(pcs); len(frames) > 0 {
		l = &profile.Location{
			ID:      uint64(len(b.profile.Location) + 1),
			Address: uint64(k.pc),
			Line:    make([]profile.Line, 0, len(frames)),
		}
		for _, f := range frames {
			l.Line = append(l.Line, profile.Line{Function: b.function(f), Line: f.Line})
		}
		b.profile.Location = append(b.profile.Location, l)
	}
	b.locations[k] = l
	return l
}

func (b *builder) function(f frame) *profile.Function {
	f.Line = 0
	if known := b.functions[f]; known != nil {
		return known
	}
	made := &profile.Function{
		ID:         uint64(len(b.profile.Function) + 1),
		Name:       f.Function,
		SystemName: f.Function,
		Filename:   f.File,
		StartLine:  f.StartLine,
	}
	b.functions[f] = made
	b.profile.Function = append(b.profile.Function, made)
	return made
}
