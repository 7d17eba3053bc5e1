// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

// Package stacks builds profiles of stacks of addresses, for the CPU log and the wall
// sampler. Each function and location is made once.
package stacks

import (
	"encoding/binary"
	"hash/maphash"

	"github.com/google/pprof/profile"

	"github.com/spanprof/spanprof/internal/goruntime"
)

var seed = maphash.MakeSeed()

// Hash returns a hash of a stack, labels and the id of an ended span by their texts: a program
// may make a new set for each request. scratch is reused. Two of 65,536 such entries have the same
// hash once in 10^10 times.
func Hash[PC uint64 | uintptr](scratch *[]byte, stack []PC, labels []goruntime.Label, ended string) uint64 {
	b := (*scratch)[:0]
	text := func(s string) { b = append(binary.AppendUvarint(b, uint64(len(s))), s...) }
	text(ended)
	b = binary.AppendUvarint(b, uint64(len(labels)))
	for _, l := range labels {
		text(l.Key)
		text(l.Value)
	}
	for _, pc := range stack {
		b = binary.LittleEndian.AppendUint64(b, uint64(pc))
	}
	*scratch = b
	return maphash.Bytes(seed, b)
}

// Builder adds samples to a profile.
type Builder struct {
	profile *profile.Profile
	split   func(stack []uintptr) int
	// location describes what split found; nil leaves it out of stacks.
	location func(addresses []uintptr) *profile.Location

	functions map[goruntime.Frame]*profile.Function // without lines
	locations map[place]*profile.Location

	stack   []*profile.Location // of the sample that is being added
	samples slab[profile.Sample]
	values  slab[int64]
	stacks  slab[*profile.Location]
	labels  slab[string]
}

// place is a location: the address of its innermost function, and the number of
// addresses of a stack that it covers.
type place struct {
	pc uintptr
	n  int
}

// New returns a Builder that adds to p. split returns how many addresses at the leaf of
// a stack are one location. location describes it, with the result of Lines; nil leaves
// it out.
func New(p *profile.Profile, split func(stack []uintptr) int, location func(addresses []uintptr) *profile.Location) *Builder {
	return &Builder{
		profile: p, split: split, location: location,
		functions: make(map[goruntime.Frame]*profile.Function), locations: make(map[place]*profile.Location),
	}
}

// Add adds a sample with room for its values.
func (b *Builder) Add(pcs []uintptr, labels map[string][]string) *profile.Sample {
	b.stack = b.stack[:0]
	for len(pcs) > 0 {
		at := place{pcs[0], b.split(pcs)}
		l, ok := b.locations[at]
		if !ok {
			if l = b.location(pcs[:at.n]); l != nil {
				l.ID = uint64(len(b.profile.Location) + 1)
				b.profile.Location = append(b.profile.Location, l)
			}
			b.locations[at] = l
		}
		if l != nil {
			b.stack = append(b.stack, l)
		}
		pcs = pcs[at.n:]
	}
	s := &b.samples.take(1)[0]
	s.Value = b.values.take(len(b.profile.SampleType))
	s.Location = b.stacks.take(len(b.stack))
	copy(s.Location, b.stack)
	s.Label = labels
	b.profile.Sample = append(b.profile.Sample, s)
	return s
}

// Labels returns labels of a goroutine as a sample has them. A label without a value is left
// out: encoded, it would be the number 0.
func (b *Builder) Labels(labels []goruntime.Label) map[string][]string {
	all := make(map[string][]string, len(labels))
	for _, l := range labels {
		if l.Value != "" {
			all[l.Key] = b.labels.take(1)
			all[l.Key][0] = l.Value
		}
	}
	return all
}

// Lines returns the lines of a location.
func (b *Builder) Lines(frames []goruntime.Frame) []profile.Line {
	lines := make([]profile.Line, len(frames))
	for i, f := range frames {
		lines[i].Line = f.Line
		f.Line = 0
		fn := b.functions[f]
		if fn == nil {
			fn = &profile.Function{
				ID: uint64(len(b.profile.Function) + 1), Name: f.Function, SystemName: f.Function, Filename: f.File, StartLine: f.StartLine,
			}
			b.functions[f] = fn
			b.profile.Function = append(b.profile.Function, fn)
		}
		lines[i].Function = fn
	}
	return lines
}
