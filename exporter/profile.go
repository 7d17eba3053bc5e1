// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package exporter

import (
	"fmt"
	"reflect"
	"sync"
	"sync/atomic"
	"time"
	"unsafe"
	"weak"

	"github.com/google/pprof/profile"
	"go.opentelemetry.io/otel/sdk/resource"
)

// Profile is one window of one kind of profile.
//
// It holds the profile as pprof bytes or in parsed form, whichever it was made
// from; the other form is made when it is asked for. Callers
// share it for as long as one of them refers to it; the Profile itself does not keep
// it, because a parsed form can be 50 times as large as the bytes. A Profile is immutable and safe for
// concurrent use: neither the bytes nor the parsed profile may be changed by those who
// read them.
type Profile struct {
	window Window // with a Resource
	size   int
	pprof  func() ([]byte, error)
	parsed func() (*profile.Profile, error)
	times  [][]int64
}

// Window says what was measured, when, and of which service.
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
	p.parsed = shared(func() (*profile.Profile, error) {
		parsed, err := profile.ParseData(pprof)
		if err != nil {
			return nil, fmt.Errorf("exporter: parse %s profile: %w", w.Kind, err)
		}
		return parsed, nil
	})
	return p
}

// shared returns a function that calls make and remembers the result by a weak pointer:
// it returns the same again for as long as a caller refers to it.
func shared[T any](make func() (*T, error)) func() (*T, error) {
	var (
		mu   sync.Mutex // held while one makes it for all
		made weak.Pointer[T]
	)
	return func() (*T, error) {
		mu.Lock()
		defer mu.Unlock()
		if v := made.Value(); v != nil {
			return v, nil
		}
		v, err := make()
		if err == nil {
			made = weak.Make(v)
		}
		return v, err
	}
}

// NewParsedProfile returns a profile of window w from its parsed form, which
// must not be changed any more. If that is nil, Pprof and Parsed return an error.
func NewParsedProfile(w Window, parsed *profile.Profile) *Profile {
	return NewTimedProfile(w, parsed, nil)
}

// NewTimedProfile is NewParsedProfile with the times at which each sample was taken, in
// nanoseconds since 1970, in the order of the samples; nil where they are not known. The
// pprof format has no room for them: they are lost in bytes and files. If there are times
// for more or fewer samples than parsed has, Pprof and Parsed return an error.
func NewTimedProfile(w Window, parsed *profile.Profile, times [][]int64) *Profile {
	p := newProfile(w)
	var err error
	switch {
	case parsed == nil:
		err = fmt.Errorf("exporter: the %s profile is nil", w.Kind)
	case times != nil && len(times) != len(parsed.Sample):
		err = fmt.Errorf("exporter: the %s profile has %d samples, and times of %d", w.Kind, len(parsed.Sample), len(times))
	}
	if err != nil {
		p.pprof = func() ([]byte, error) { return nil, err }
		p.parsed = func() (*profile.Profile, error) { return nil, err }
		return p
	}
	p.times = times
	p.size = sizeOf(parsed, times)
	p.parsed = func() (*profile.Profile, error) { return parsed, nil }
	var n atomic.Int64 // the length of the bytes that are in use
	first := shared(func() (*byte, error) {
		b, err := encode(parsed)
		if err != nil {
			return nil, fmt.Errorf("exporter: encode %s profile: %w", w.Kind, err)
		}
		n.Store(int64(len(b)))
		return &b[0], nil // gzip has a header
	})
	p.pprof = func() ([]byte, error) {
		b, err := first()
		if err != nil {
			return nil, err
		}
		return unsafe.Slice(b, n.Load()), nil
	}
	return p
}

// WithResource returns the profile as that of another service. Both share what they hold.
func (p *Profile) WithResource(r *resource.Resource) *Profile {
	of := *p
	if of.window.Resource = r; r == nil {
		of.window.Resource = resource.Empty()
	}
	return &of
}

func newProfile(w Window) *Profile {
	if w.Resource == nil {
		w.Resource = resource.Empty()
	}
	return &Profile{window: w}
}

// Kind returns what was measured.
func (p *Profile) Kind() Kind { return p.window.Kind }

// Start returns when the window began.
func (p *Profile) Start() time.Time { return p.window.Start }

// Duration returns how long the window lasted; 0 for a snapshot.
func (p *Profile) Duration() time.Duration { return p.window.Duration }

// End returns when the window ended.
func (p *Profile) End() time.Time { return p.Start().Add(p.Duration()) }

// Resource returns the service that was measured, never nil.
func (p *Profile) Resource() *resource.Resource { return p.window.Resource }

// Size returns about how many bytes of memory the profile takes in the form that
// it was made from, with the sample times.
func (p *Profile) Size() int { return p.size }

// sizeOf counts what there are many of, by what they take on 64-bit systems. Samples
// share labels, those of a span for example.
func sizeOf(p *profile.Profile, times [][]int64) int {
	const sample, labels, label, location, function = 128, 400, 16, 144, 96
	n := location*len(p.Location) + function*len(p.Function)
	seen := map[unsafe.Pointer]bool{nil: true}
	for _, s := range p.Sample {
		n += sample + 8*(len(s.Value)+len(s.Location))
		if at := reflect.ValueOf(s.Label).UnsafePointer(); !seen[at] {
			seen[at] = true
			n += labels*((len(s.Label)+7)/8) + label*len(s.Label) // a map has room for eight
		}
	}
	for _, t := range times {
		n += 24 + 8*len(t)
	}
	return n
}

// Pprof returns the profile in the pprof format, as it was given to
// NewProfile, or gzipped where it had to be encoded.
func (p *Profile) Pprof() ([]byte, error) { return p.pprof() }

// Parsed returns the parsed profile. It is shared: copy it before you change
// or encode it. Keep it where you need it twice.
func (p *Profile) Parsed() (*profile.Profile, error) { return p.parsed() }

// SampleTimes returns when each sample of Parsed was taken, in nanoseconds since 1970;
// nil where that is not known. Like the parsed form it must not be changed.
func (p *Profile) SampleTimes() [][]int64 { return p.times }
