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
)

// process is the subject of a profile.
type process struct {
	kind     exporter.Kind
	resource *resource.Resource
	pid      int64 // its id in this process's namespace
	// sample, unless nil, changes the labels of a sample.
	sample func(*profile.Sample)
}

// hostProfile converts an agent's profile of a process. It returns nil if that is not of
// CPU time.
func (r *Receiver) hostProfile(p decode.Timed, of process, connection string, counted *Status) (*exporter.Profile, error) {
	parsed, err := p.Parsed()
	if err != nil {
		return nil, err
	}
	if !isCPU(parsed) {
		counted.Other++
		return nil, nil
	}
	if err := plausible(p, parsed); err != nil {
		return nil, err
	}
	list := records(p, parsed)
	r.useThreads(connection)
	r.threads.keyed = r.threads.keyed || haveTwins(list)
	r.threads.see(p, list, r.timelines)

	b := builder{samples: map[string]*profile.Sample{}, period: parsed.Period}
	for _, rec := range list {
		if len(rec.timestamps) == 0 {
			return nil, fmt.Errorf("a record of %d frames has no timestamps", len(rec.stack))
		}
		for _, s := range r.place(rec, counted) {
			b.add(rec.stack, s)
		}
	}
	r.nameFrames(parsed, p.FrameTypes, of.pid)
	parsed.Sample = b.list
	// No agent sends these. They could have any size.
	parsed.Comments, parsed.DocURL, parsed.DropFrames, parsed.KeepFrames, parsed.DefaultSampleType = nil, "", "", "", ""
	if of.sample != nil {
		for _, s := range parsed.Sample {
			of.sample(s)
		}
	}
	return exporter.NewParsedProfile(exporter.Window{
		Kind: of.kind, Start: p.Start(), Duration: p.Duration(), Resource: of.resource,
	}, parsed), nil
}

// isCPU reports whether a profile has the columns of Go's CPU profiles, which the
// decoder makes of an agent's.
func isCPU(p *profile.Profile) bool {
	return p.PeriodType.Type == "cpu" && p.PeriodType.Unit == "nanoseconds" && len(p.SampleType) == 2 && p.SampleType[0].Type == "samples" && p.SampleType[1].Type == "cpu" &&
		p.SampleType[1].Unit == "nanoseconds" && p.Period > 0
}

// plausible returns an error for times and weights that no agent measures. One such
// profile would spoil the sums, and the time, of all that it is added to.
func plausible(p decode.Timed, parsed *profile.Profile) error {
	const longest = 24 * time.Hour
	switch {
	case parsed.Period > int64(time.Second):
		return fmt.Errorf("a period of %v, want one second at most", time.Duration(parsed.Period))
	case parsed.TimeNanos <= 0:
		return errors.New("a profile without the time of its start")
	case p.Duration() < 0 || p.Duration() > longest:
		return fmt.Errorf("a profile of %v, want %v at most", p.Duration(), longest)
	}
	return nil
}

// builder sums up samples that have the same stack and labels: the agent has one for
// each thread and processor.
type builder struct {
	samples map[string]*profile.Sample
	list    []*profile.Sample
	period  int64
}

func (b *builder) add(stack []*profile.Location, p placed) {
	var key strings.Builder
	key.WriteString(stackKey(stack))
	for _, k := range slices.Sorted(maps.Keys(p.labels)) {
		fmt.Fprintf(&key, "%q=%q", k, p.labels[k])
	}
	s := b.samples[key.String()]
	if s == nil {
		s = &profile.Sample{Location: stack, Value: make([]int64, 2)}
		if len(p.labels) > 0 {
			s.Label = make(map[string][]string, len(p.labels))
		}
		for k, v := range p.labels {
			s.Label[k] = []string{v}
		}
		b.samples[key.String()] = s
		b.list = append(b.list, s)
	}
	s.Value[0] += int64(len(p.at))
	s.Value[1] += int64(len(p.at)) * b.period
}

// nameFrames gives the frames of the kernel a mapping, and the frames of C code their
// functions.
func (r *Receiver) nameFrames(p *profile.Profile, types map[uint64]string, pid int64) {
	var kernel *profile.Mapping
	functions := map[string]*profile.Function{}
	for _, l := range p.Location {
		switch {
		case types[l.ID] == "kernel":
			if kernel == nil {
				kernel = &profile.Mapping{ID: uint64(len(p.Mapping)) + 1, File: exporter.KernelMapping, HasFunctions: true}
				p.Mapping = append(p.Mapping, kernel)
			}
			l.Mapping = kernel
		case len(l.Line) == 0 && l.Mapping != nil:
			name, ok := r.symbols.name(pid, l.Mapping, l.Address)
			if !ok {
				continue
			}
			f := functions[name]
			if f == nil {
				f = &profile.Function{ID: uint64(len(p.Function)) + 1, Name: name}
				functions[name] = f
				p.Function = append(p.Function, f)
			}
			l.Line = []profile.Line{{Function: f}}
		}
	}
}
