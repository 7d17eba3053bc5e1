// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

// Package profilebuilder makes pprof profiles. It makes each function, mapping and
// location once, with an ID. The CPU log, the wall sampler and the store use it.
package profilebuilder

import "github.com/google/pprof/profile"

// Builder adds samples to a profile. L is the caller's key of a location.
type Builder[L comparable] struct {
	// Profile is what is being built.
	Profile *profile.Profile

	mappings  map[profile.Mapping]*profile.Mapping
	functions map[profile.Function]*profile.Function
	locations map[L]*profile.Location

	samples slab[profile.Sample]
	values  slab[int64]
	stacks  slab[*profile.Location]
	labels  slab[string]
}

// New returns a Builder that adds to p.
func New[L comparable](p *profile.Profile) *Builder[L] {
	return &Builder[L]{
		Profile:   p,
		mappings:  make(map[profile.Mapping]*profile.Mapping),
		functions: make(map[profile.Function]*profile.Function),
		locations: make(map[L]*profile.Location),
	}
}

// Sample adds a sample with a copy of stack, leaf first, and room for its values.
func (b *Builder[L]) Sample(stack []*profile.Location) *profile.Sample {
	s := &b.samples.take(1)[0]
	s.Value = b.values.take(len(b.Profile.SampleType))
	s.Location = b.stacks.take(len(stack))
	copy(s.Location, stack)
	b.Profile.Sample = append(b.Profile.Sample, s)
	return s
}

// Label adds a label to labels, which may be nil, and returns them. A label without a
// value is left out: encoded, it would be the number 0.
func (b *Builder[L]) Label(labels map[string][]string, key, value string) map[string][]string {
	switch {
	case value == "":
		return labels
	case labels == nil:
		labels = make(map[string][]string)
	case labels[key] != nil:
		labels[key] = append(labels[key], value)
		return labels
	}
	one := b.labels.take(1)
	one[0] = value
	labels[key] = one
	return labels
}

// Location returns the location of key. The first call for a key calls describe. A nil
// result leaves the location out of stacks.
func (b *Builder[L]) Location(key L, describe func() *profile.Location) *profile.Location {
	l, ok := b.locations[key]
	if ok {
		return l
	}
	if l = describe(); l != nil {
		l.ID = uint64(len(b.Profile.Location) + 1)
		b.Profile.Location = append(b.Profile.Location, l)
	}
	b.locations[key] = l
	return l
}

// Function returns the function that equals f, except for its ID.
func (b *Builder[L]) Function(f profile.Function) *profile.Function {
	known := b.functions[f]
	if known == nil {
		known = new(profile.Function) // &f would allocate for a known function too
		*known = f
		b.functions[f] = known
		known.ID = uint64(len(b.Profile.Function) + 1)
		b.Profile.Function = append(b.Profile.Function, known)
	}
	return known
}

// Mapping returns the mapping that equals m, except for its ID.
func (b *Builder[L]) Mapping(m profile.Mapping) *profile.Mapping {
	known := b.mappings[m]
	if known == nil {
		known = new(profile.Mapping)
		*known = m
		b.mappings[m] = known
		known.ID = uint64(len(b.Profile.Mapping) + 1)
		b.Profile.Mapping = append(b.Profile.Mapping, known)
	}
	return known
}
