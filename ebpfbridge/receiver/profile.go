// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package receiver

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/google/pprof/profile"
	"go.opentelemetry.io/otel/sdk/resource"

	"github.com/spanprof/spanprof/ebpfbridge/internal/decode"
	"github.com/spanprof/spanprof/exporter"
	"github.com/spanprof/spanprof/internal/labelkey"
)

// process is the subject of a profile.
type process struct {
	resource *resource.Resource
	pid      int64 // its id in this process's namespace
	// labels are added to each sample, with the thread and CPU, if there are any.
	labels map[string]string
}

// offCPU is the type of samples of waiting. profile.Merge needs a type of the period, too.
var offCPU = profile.ValueType{Type: "off_cpu", Unit: "nanoseconds"}

// hostProfile converts an agent's profile of a process. It returns nil for other profiles
// than of CPU time and of waiting.
func (r *Receiver) hostProfile(p decode.Profile, of process, connection string, counted *Status) (*exporter.Profile, error) {
	kind, types := exporter.KindHost, []*profile.ValueType{{Type: "samples", Unit: "count"}, {Type: "cpu", Unit: "nanoseconds"}}
	period := &profile.ValueType{Type: "cpu", Unit: "nanoseconds"}
	switch {
	case p.Sample == *types[0] && p.Period == *period && p.Every > 0:
	case p.Sample == offCPU:
		waits, column := offCPU, offCPU
		kind, types, period, p.Every = exporter.KindOffCPU, []*profile.ValueType{{Type: "waits", Unit: "count"}, &column}, &waits, 0
	default:
		counted.Other++
		return nil, nil
	}
	if err := plausible(p); err != nil {
		return nil, err
	}
	list, rules := records(p)
	keyed := r.agents.Keyed(connection, rules)
	spans := r.haveSpans(connection, of.pid, list)
	b := builder{samples: map[string]*profile.Sample{}, every: p.Every}
	for _, rec := range list {
		switch n := len(rec.Timestamps); {
		case n == 0:
			return nil, fmt.Errorf("a record of %d frames has no timestamps", len(rec.Stack))
		case spans:
			for _, s := range r.place(rec, keyed, counted) {
				b.add(rec, s, of.labels)
			}
		default:
			counted.Spanless += n
			b.add(rec, rec.slice(0, n), of.labels)
		}
	}
	r.nameFrames(p, of.pid)
	parsed := p.Tables
	parsed.SampleType, parsed.PeriodType, parsed.Period = types, period, p.Every
	parsed.TimeNanos, parsed.DurationNanos, parsed.Sample = p.Start.UnixNano(), int64(p.Duration), b.list
	return exporter.NewParsedProfile(exporter.Window{Kind: kind, Start: p.Start, Duration: p.Duration, Resource: of.resource}, parsed), nil
}

// maxProcesses bounds the processes that are remembered.
const maxProcesses = 1 << 16

// processOf is a process of an agent's connection.
type processOf struct {
	connection string
	pid        int64
}

// haveSpans reports whether a process may have spans. A program without any label so far has
// none, whatever its language.
func (r *Receiver) haveSpans(connection string, pid int64, list []record) bool {
	of := processOf{connection, pid}
	if !r.labelled[of] && slices.ContainsFunc(list, func(rec record) bool { return len(rec.rule.Labels) > 0 || rec.rule.Link != "" || rec.rule.Split }) {
		if r.labelled == nil || len(r.labelled) >= maxProcesses {
			r.labelled = map[processOf]bool{}
		}
		r.labelled[of] = true
	}
	return r.labelled[of]
}

// plausible returns an error for times and weights that no agent measures. One such
// profile would spoil the sums, and the time, of all that it is added to.
func plausible(p decode.Profile) error {
	const longest = 24 * time.Hour
	switch {
	case p.Every > int64(time.Second):
		return fmt.Errorf("a period of %v, want one second at most", time.Duration(p.Every))
	case p.Start.IsZero():
		return errors.New("a profile without the time of its start")
	case p.Duration < 0 || p.Duration > longest:
		return fmt.Errorf("a profile of %v, want %v at most", p.Duration, longest)
	}
	for _, rec := range p.Records {
		if slices.ContainsFunc(rec.Values, func(v int64) bool { return v < 0 || v > int64(longest) }) {
			return fmt.Errorf("a sample of less than nothing or more than %v", longest)
		}
	}
	return nil
}

// builder sums up samples that have the same stack and labels: the agent has one for
// each thread and processor.
type builder struct {
	samples map[string]*profile.Sample
	list    []*profile.Sample
	every   int64
}

// add adds samples of a record. With labels of its process, it also adds the record's facts.
func (b *builder) add(rec record, p placed, of map[string]string) {
	labels := p.labels
	if of != nil {
		labels = maps.Clone(of)
		maps.Copy(labels, rec.facts)
		maps.Copy(labels, p.labels)
		// If both are the same, profile_id alone is enough for a span with work of its
		// own. A store without registered spans lists it then.
		if id := labels[labelkey.ProfileID]; id != "" && id == labels[labelkey.SpanID] {
			delete(labels, labelkey.SpanID)
		}
	}
	var key strings.Builder
	fmt.Fprint(&key, rec.StackIndex)
	for _, k := range slices.Sorted(maps.Keys(labels)) {
		fmt.Fprintf(&key, "%q=%q", k, labels[k])
	}
	s := b.samples[key.String()]
	if s == nil {
		s = &profile.Sample{Location: rec.Stack, Value: make([]int64, 2)}
		if len(labels) > 0 {
			s.Label = make(map[string][]string, len(labels))
		}
		for k, v := range labels {
			s.Label[k] = []string{v}
		}
		b.samples[key.String()] = s
		b.list = append(b.list, s)
	}
	s.Value[0] += int64(len(p.at))
	s.Value[1] += int64(len(p.at)) * b.every
	if b.every > 0 {
		return // CPU time is the number of samples times the period
	}
	for _, v := range p.values {
		s.Value[1] += v
	}
}

// nameFrames gives the frames of the kernel a mapping, and the frames of C code their
// functions.
func (r *Receiver) nameFrames(p decode.Profile, pid int64) {
	var kernel *profile.Mapping
	functions := map[string]*profile.Function{}
	to := p.Tables
	for _, l := range to.Location {
		switch {
		case p.FrameTypes[l.ID] == "kernel":
			if kernel == nil {
				kernel = &profile.Mapping{ID: uint64(len(to.Mapping)) + 1, File: exporter.KernelMapping, HasFunctions: true}
				to.Mapping = append(to.Mapping, kernel)
			}
			l.Mapping = kernel
		case len(l.Line) == 0 && l.Mapping != nil:
			name, ok := r.symbols.Name(pid, l.Mapping, l.Address)
			if !ok {
				continue
			}
			f := functions[name]
			if f == nil {
				f = &profile.Function{ID: uint64(len(to.Function)) + 1, Name: name}
				functions[name] = f
				to.Function = append(to.Function, f)
			}
			l.Line = []profile.Line{{Function: f}}
		}
	}
}
