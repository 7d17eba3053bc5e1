// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package cpulog

import (
	"bytes"
	"runtime/pprof"
	"slices"

	"github.com/google/pprof/profile"

	"github.com/spanprof/spanprof/internal/goruntime"
	"github.com/spanprof/spanprof/internal/labelkey"
	"github.com/spanprof/spanprof/internal/marker"
	"github.com/spanprof/spanprof/internal/stacks"
)

// lost is the only address in stacks of samples for which the runtime had no room.
// runtime/pprof reports them under the same function.
const lost = 0

var lostFrame = []goruntime.Frame{{Function: "runtime/pprof.lostProfileEvent"}}

// labelled is the labels of a sample.
type labelled struct {
	held  *goruntime.LabelSet
	ended string
}

// builder makes a profile of entries.
type builder struct {
	log       *Log
	profile   *profile.Profile
	stacks    *stacks.Builder
	labelSets map[labelled]map[string][]string
	unnamed   map[*profile.Mapping]bool // a location in it has no function
}

// build returns the profile of a part.
func (l *Log) build(p *part) *profile.Profile {
	built := &profile.Profile{
		SampleType:    []*profile.ValueType{{Type: "samples", Unit: "count"}, {Type: "cpu", Unit: "nanoseconds"}},
		PeriodType:    &profile.ValueType{Type: "cpu", Unit: "nanoseconds"},
		Period:        int64(p.period),
		TimeNanos:     p.start.UnixNano(),
		DurationNanos: p.end - p.began,
		Sample:        make([]*profile.Sample, 0, len(p.entries)),
	}
	b := &builder{
		log:       l,
		profile:   built,
		labelSets: make(map[labelled]map[string][]string),
		unnamed:   make(map[*profile.Mapping]bool),
	}
	b.stacks = stacks.New(built, l.symbols.Split, b.location)
	if l.loaded == nil {
		l.loaded = mappings()
	}
	for _, m := range l.loaded {
		own := *m // users of a profile may write to it
		own.ID = uint64(len(built.Mapping) + 1)
		built.Mapping = append(built.Mapping, &own)
	}
	for _, e := range p.entries {
		s := b.stacks.Add(goruntime.ExpandFinalInlineFrame(e.stack), b.labels(labelled{e.labels, e.ended}))
		s.Value[0], s.Value[1] = e.count, e.count*int64(p.period)
	}
	return built
}

// labels returns the labels of a set, in a map for all its samples.
func (b *builder) labels(set labelled) map[string][]string {
	m, ok := b.labelSets[set]
	if !ok {
		m = b.stacks.Labels(set.held.Labels())
		if set.ended != "" {
			m[labelkey.EndedSpanID] = []string{set.ended}
		}
		b.labelSets[set] = m
	}
	return m
}

// location returns nil for the root that all stacks share.
func (b *builder) location(pcs []uintptr) *profile.Location {
	frames := lostFrame
	if pcs[0] != lost {
		frames = b.log.symbols.Frames(pcs)
	}
	if len(frames) == 1 && frames[0].Function == "runtime.goexit" {
		return nil
	}
	// The compiler may inline a marker into a caller, and the work into a marker.
	if isMarker := func(f goruntime.Frame) bool { return marker.IsFrame(f.Function) }; slices.ContainsFunc(frames, isMarker) {
		frames = slices.DeleteFunc(slices.Clone(frames), isMarker)
		if len(frames) == 0 {
			return nil
		}
	}
	// The address of a call, not its return address. C functions have no more.
	l := &profile.Location{Address: uint64(max(pcs[0], 1) - 1), Line: b.stacks.Lines(frames)}
	for _, m := range b.profile.Mapping {
		if m.Start <= l.Address && l.Address < m.Limit {
			l.Mapping = m
			b.unnamed[m] = b.unnamed[m] || len(frames) == 0
			m.HasFunctions = !b.unnamed[m]
		}
	}
	return l
}

// mappings returns the files that the process has mapped, from a profile of runtime/pprof.
// It is empty if that cannot be read.
func mappings() []*profile.Mapping {
	var b bytes.Buffer
	if err := pprof.Lookup("threadcreate").WriteTo(&b, 0); err != nil {
		return nil
	}
	p, err := profile.ParseData(b.Bytes())
	if err != nil {
		return nil
	}
	for _, m := range p.Mapping {
		m.ID, m.HasFunctions = 0, false
	}
	return p.Mapping
}
