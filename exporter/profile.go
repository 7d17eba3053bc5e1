// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package exporter

import (
	"fmt"
	"sync"
	"time"

	"github.com/google/pprof/profile"
	"go.opentelemetry.io/otel/sdk/resource"
)

// Profile is one window of one kind of profile.
//
// It holds the profile as pprof bytes or in parsed form, whichever it was made
// from; the other form is made when first asked for, and once. A Profile is
// immutable and safe for concurrent use: neither the bytes nor the parsed
// profile may be changed by those who read them.
type Profile struct {
	kind     Kind
	start    time.Time
	duration time.Duration
	resource *resource.Resource

	size   int
	pprof  func() ([]byte, error)
	parsed func() (*profile.Profile, error)
	copied func() *Profile
}

// Window says what a profile covers and whose it is.
type Window struct {
	// Kind is what was measured.
	Kind Kind
	// Start is when the measurement began.
	Start time.Time
	// Duration is how long it went on; 0 for a snapshot.
	Duration time.Duration
	// Resource is the service that was measured; nil means
	// resource.Empty().
	Resource *resource.Resource
}

// NewProfile returns a profile of window w from pprof bytes, gzipped or not.
// The bytes are not copied, and not looked at before Parsed is called.
func NewProfile(w Window, pprof []byte) *Profile {
	p := newProfile(w)
	p.size = len(pprof)
	p.pprof = func() ([]byte, error) { return pprof, nil }
	p.copied = func() *Profile { return NewProfile(w, pprof) }
	p.parsed = sync.OnceValues(func() (*profile.Profile, error) {
		parsed, err := profile.ParseData(pprof)
		if err != nil {
			return nil, fmt.Errorf("exporter: parse %s profile: %w", w.Kind, err)
		}
		return parsed, nil
	})
	return p
}

// NewParsedProfile returns a profile of window w from its parsed form, which
// must not be changed any more. If that is nil, Pprof and Parsed return an error.
func NewParsedProfile(w Window, parsed *profile.Profile) *Profile {
	p := newProfile(w)
	if parsed == nil {
		err := fmt.Errorf("exporter: the %s profile is nil", w.Kind)
		p.pprof = func() ([]byte, error) { return nil, err }
		p.parsed = func() (*profile.Profile, error) { return nil, err }
		p.copied = func() *Profile { return p }
		return p
	}
	p.size = sizeOf(parsed)
	p.parsed = func() (*profile.Profile, error) { return parsed, nil }
	p.copied = func() *Profile { return NewParsedProfile(w, parsed) }
	p.pprof = sync.OnceValues(func() ([]byte, error) {
		b, err := encode(parsed)
		if err != nil {
			return nil, fmt.Errorf("exporter: encode %s profile: %w", w.Kind, err)
		}
		return b, nil
	})
	return p
}

func newProfile(w Window) *Profile {
	if w.Resource == nil {
		w.Resource = resource.Empty()
	}
	return &Profile{kind: w.Kind, start: w.Start, duration: w.Duration, resource: w.Resource}
}

// Kind returns what was measured.
func (p *Profile) Kind() Kind { return p.kind }

// Start returns when the window began.
func (p *Profile) Start() time.Time { return p.start }

// Duration returns how long the window lasted; 0 for a snapshot.
func (p *Profile) Duration() time.Duration { return p.duration }

// End returns when the window ended.
func (p *Profile) End() time.Time { return p.start.Add(p.duration) }

// Resource returns the service that was measured, never nil.
func (p *Profile) Resource() *resource.Resource { return p.resource }

// Size returns about how many bytes of memory the profile takes in the form that
// it was made from.
func (p *Profile) Size() int { return p.size }

// sizeOf counts what there are many of, by what they take on 64-bit systems. What
// several samples share it counts for each, which is too much rather than too
// little.
func sizeOf(p *profile.Profile) int {
	const sample, label, location, function = 128, 64, 144, 96
	n := location*len(p.Location) + function*len(p.Function)
	for _, s := range p.Sample {
		n += sample + label*len(s.Label) + 8*(len(s.Value)+len(s.Location))
	}
	return n
}

// Pprof returns the profile in the pprof format, as it was given to
// NewProfile, or gzipped where it had to be encoded.
func (p *Profile) Pprof() ([]byte, error) { return p.pprof() }

// Parsed returns the parsed profile. It is shared: copy it before you change
// or encode it.
func (p *Profile) Parsed() (*profile.Profile, error) { return p.parsed() }

// Copy returns a Profile that shares with p what p was made from, and no more. The
// other form, which can be many times as large, is made anew for it and goes when it
// goes: where one keeps a profile by its Size, another may read the copy.
func (p *Profile) Copy() *Profile { return p.copied() }
