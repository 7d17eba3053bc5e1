// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

// Package stacks builds profiles of stacks of addresses, for the CPU log and the wall
// sampler.
package stacks

import (
	"github.com/google/pprof/profile"

	"github.com/spanprof/spanprof/internal/goruntime"
	"github.com/spanprof/spanprof/internal/profilebuilder"
)

// Builder adds samples to a profile.
type Builder struct {
	*profilebuilder.Builder[place]
	split func(stack []uintptr) int
	// location describes what split found; nil leaves it out of stacks.
	location func(addresses []uintptr) *profile.Location
	stack    []*profile.Location // of the sample that is being added
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
	return &Builder{Builder: profilebuilder.New[place](p), split: split, location: location}
}

// Add adds a sample with room for its values.
func (s *Builder) Add(pcs []uintptr, labels map[string][]string) *profile.Sample {
	s.stack = s.stack[:0]
	for len(pcs) > 0 {
		n := s.split(pcs)
		addresses := pcs[:n]
		if l := s.Location(place{pcs[0], n}, func() *profile.Location { return s.location(addresses) }); l != nil {
			s.stack = append(s.stack, l)
		}
		pcs = pcs[n:]
	}
	sample := s.Sample(s.stack)
	sample.Label = labels
	return sample
}

// Labels adds labels to the map to, which may be nil, and returns it.
func (s *Builder) Labels(to map[string][]string, labels []goruntime.Label) map[string][]string {
	for _, l := range labels {
		to = s.Label(to, l.Key, l.Value)
	}
	return to
}

// Lines returns the lines of a location.
func (s *Builder) Lines(frames []goruntime.Frame) []profile.Line {
	lines := make([]profile.Line, len(frames))
	for i, f := range frames {
		lines[i].Line = f.Line
		lines[i].Function = s.Function(profile.Function{
			Name: f.Function, SystemName: f.Function, Filename: f.File, StartLine: f.StartLine,
		})
	}
	return lines
}
