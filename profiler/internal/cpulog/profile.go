// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package cpulog

import (
	"bytes"
	"runtime/pprof"

	"github.com/google/pprof/profile"

	"github.com/spanprof/spanprof/internal/goruntime"
)

// lost stands in stacks for the place of samples that the runtime had no room
// for. The function is the one by which runtime/pprof says so.
const lost = 0

var lostFrame = []goruntime.Frame{{Function: "runtime/pprof.lostProfileEvent"}}

// builder makes a profile of entries.
type builder struct {
	log       *Log
	profile   *profile.Profile
	functions map[goruntime.Frame]*profile.Function // by what a function is: the line is 0
	locations map[place]*profile.Location
	labelSets map[*goruntime.LabelSet]map[string][]string
	unnamed   map[*profile.Mapping]bool // a location in it has no function
}

// place is a location: the address of its innermost function, and how many
// addresses of a stack it takes.
type place struct {
	pc uintptr
	n  int
}

func (l *Log) build(p *part) *profile.Profile {
	b := &builder{
		log: l,
		profile: &profile.Profile{
			SampleType:    []*profile.ValueType{{Type: "samples", Unit: "count"}, {Type: "cpu", Unit: "nanoseconds"}},
			PeriodType:    &profile.ValueType{Type: "cpu", Unit: "nanoseconds"},
			Period:        int64(p.period),
			TimeNanos:     p.start.UnixNano(),
			DurationNanos: p.end.Sub(p.start).Nanoseconds(),
			Sample:        make([]*profile.Sample, 0, len(p.entries)),
		},
		functions: make(map[goruntime.Frame]*profile.Function),
		locations: make(map[place]*profile.Location),
		labelSets: make(map[*goruntime.LabelSet]map[string][]string),
		unnamed:   make(map[*profile.Mapping]bool),
	}
	if l.loaded == nil {
		l.loaded = mappings()
	}
	for i, m := range l.loaded {
		own := *m // users of a profile may write to it
		own.ID = uint64(i + 1)
		b.profile.Mapping = append(b.profile.Mapping, &own)
	}
	for _, e := range p.entries {
		b.profile.Sample = append(b.profile.Sample, &profile.Sample{
			Value:    []int64{e.count, e.count * int64(p.period)},
			Label:    b.labels(e.labels),
			Location: b.stack(e.stack),
		})
	}
	return b.profile
}

// labels returns those of a set, in a map for all its samples.
func (b *builder) labels(set *goruntime.LabelSet) map[string][]string {
	list := set.Labels()
	if len(list) == 0 {
		return nil
	}
	m, ok := b.labelSets[set]
	if !ok {
		m = make(map[string][]string, len(list))
		for _, l := range list {
			if l.Value != "" { // it would be a number, 0, in the encoded profile
				m[l.Key] = append(m[l.Key], l.Value)
			}
		}
		b.labelSets[set] = m
	}
	return m
}

func (b *builder) stack(pcs []uintptr) []*profile.Location {
	pcs = goruntime.ExpandFinalInlineFrame(pcs)
	stack := make([]*profile.Location, 0, len(pcs))
	for len(pcs) > 0 {
		n := b.log.symbols.Split(pcs)
		if l := b.location(pcs[:n]); l != nil {
			stack = append(stack, l)
		}
		pcs = pcs[n:]
	}
	return stack
}

// location returns nil for what is at the root of every stack.
func (b *builder) location(pcs []uintptr) *profile.Location {
	k := place{pcs[0], len(pcs)}
	if l, ok := b.locations[k]; ok {
		return l
	}
	frames := lostFrame
	if k.pc != lost {
		frames = b.log.symbols.Frames(pcs)
	}
	var l *profile.Location
	if len(frames) != 1 || frames[0].Function != "runtime.goexit" {
		// The address of a call, not the one that it returns to. C
		// functions have nothing else.
		l = &profile.Location{ID: uint64(len(b.profile.Location) + 1), Address: uint64(max(k.pc, 1) - 1)}
		for _, f := range frames {
			l.Line = append(l.Line, profile.Line{Function: b.function(f), Line: f.Line})
		}
		for _, m := range b.profile.Mapping {
			if m.Start <= l.Address && l.Address < m.Limit {
				l.Mapping = m
				b.unnamed[m] = b.unnamed[m] || len(frames) == 0
				m.HasFunctions = !b.unnamed[m]
			}
		}
		b.profile.Location = append(b.profile.Location, l)
	}
	b.locations[k] = l
	return l
}

func (b *builder) function(f goruntime.Frame) *profile.Function {
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

// mappings returns what files the process has mapped, which every profile of
// runtime/pprof tells. It is empty where that cannot be read.
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
		m.HasFunctions = false
	}
	return p.Mapping
}
