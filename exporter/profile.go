// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package exporter

import (
	"fmt"
	"reflect"
	"sync"
	"time"
	"weak"

	"github.com/google/pprof/profile"
	"go.opentelemetry.io/otel/sdk/resource"
)

// Kind is what the samples of a Profile measure.
type Kind string

// The kinds that the profiler makes. Exporters accept other kinds too, under their own
// names.
const (
	// KindCPU is on-CPU time; samples carry goroutine labels.
	KindCPU Kind = "cpu"
	// KindHeap is heap memory. The columns alloc_objects and alloc_space are the
	// allocations of the window, inuse_objects and inuse_space what is live at its
	// end. The runtime puts no labels on it (golang/go#23458).
	KindHeap Kind = "heap"
	// KindWall is the time of goroutines, on CPU or waiting; samples carry
	// goroutine labels.
	KindWall Kind = "wall"
	// KindGoroutine is the number of goroutines per stack and label set at one
	// moment: a snapshot, with Duration 0.
	KindGoroutine Kind = "goroutine"
	// KindMutex is the waiting for held mutexes: how often (contentions) and how long
	// (delay), at the stacks that held them. The runtime puts no labels on it.
	KindMutex Kind = "mutex"
	// KindBlock is the waiting for channels, mutexes and the like: how often
	// (contentions) and how long (delay), at the stacks that waited. The runtime
	// puts no labels on it.
	KindBlock Kind = "block"
	// KindHost is on-CPU time measured by an eBPF agent of the host, with kernel and
	// C code. It measures the same time as KindCPU; never add them.
	KindHost Kind = "host"
	// KindOffCPU is the time that threads waited, measured by an eBPF agent of the host.
	KindOffCPU Kind = "off_cpu"
)

// KernelMapping is the mapping file of kernel frames in profiles of KindHost.
const KernelMapping = "[kernel]"

// Window is what was measured, when, and for which service.
type Window struct {
	// Kind is what was measured.
	Kind Kind
	// Start is the beginning of the measurement.
	Start time.Time
	// Duration is its length; 0 for a snapshot.
	Duration time.Duration
	// Resource is the measured service; nil means resource.Empty().
	Resource *resource.Resource
}

// Profile is one window of one kind.
//
// It holds pprof bytes or the parsed form, depending on its constructor. The other form is
// made on demand. Bytes are kept then. A parsed form, which can be 50 times as large, is shared
// while a caller refers to it. A Profile is immutable and safe for concurrent use. Callers must
// not change the bytes or the parsed profile.
type Profile struct {
	window Window // with a Resource
	size   int
	pprof  func() ([]byte, error)
	parsed func() (*profile.Profile, error)
}

// NewProfile returns a profile of window w from pprof bytes, gzipped or not.
// The bytes are not copied, and not parsed before Parsed is called.
func NewProfile(w Window, pprof []byte) *Profile {
	p := newProfile(w)
	p.size = len(pprof)
	p.pprof = func() ([]byte, error) { return pprof, nil }
	var mu sync.Mutex
	var made weak.Pointer[profile.Profile]
	p.parsed = func() (*profile.Profile, error) {
		mu.Lock()
		defer mu.Unlock()
		if parsed := made.Value(); parsed != nil {
			return parsed, nil
		}
		parsed, err := profile.ParseData(pprof)
		if err != nil {
			return nil, fmt.Errorf("exporter: parse %s profile: %w", w.Kind, err)
		}
		made = weak.Make(parsed)
		return parsed, nil
	}
	return p
}

// NewParsedProfile returns a profile of window w from its parsed form, which
// must not be changed any more. If parsed is nil, Pprof and Parsed return an error.
func NewParsedProfile(w Window, parsed *profile.Profile) *Profile {
	p := newProfile(w)
	if parsed == nil {
		err := fmt.Errorf("exporter: the %s profile is nil", w.Kind)
		p.pprof = func() ([]byte, error) { return nil, err }
		p.parsed = func() (*profile.Profile, error) { return nil, err }
		return p
	}
	p.size = sizeOf(parsed)
	p.parsed = func() (*profile.Profile, error) { return parsed, nil }
	p.pprof = sync.OnceValues(func() ([]byte, error) {
		b, err := encode(parsed)
		if err != nil {
			return nil, fmt.Errorf("exporter: encode %s profile: %w", w.Kind, err)
		}
		return b, nil
	})
	return p
}

// packed returns p from its pprof form. It takes less memory.
func (p *Profile) packed() (*Profile, error) {
	data, err := p.Pprof()
	return NewProfile(p.window, data), err
}

// WithResource returns the profile with another resource. Both share the samples.
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

// Size returns about how many bytes the profile takes in its original form.
func (p *Profile) Size() int { return p.size }

// sizeOf adds up what is numerous, by its size on 64-bit systems. Samples of one span
// share labels.
func sizeOf(p *profile.Profile) int {
	const sample, labels, label, location, function = 128, 400, 16, 144, 96
	n := location*len(p.Location) + function*len(p.Function)
	seen := map[uintptr]bool{0: true}
	for _, s := range p.Sample {
		n += sample + 8*(len(s.Value)+len(s.Location))
		if at := reflect.ValueOf(s.Label).Pointer(); !seen[at] {
			seen[at] = true
			n += labels*((len(s.Label)+7)/8) + label*len(s.Label) // a map has room for eight
		}
	}
	return n
}

// Pprof returns the profile in the pprof format: the bytes given to NewProfile, or
// gzipped bytes.
func (p *Profile) Pprof() ([]byte, error) { return p.pprof() }

// Parsed returns the parsed profile. It is shared: copy it before you change
// or encode it. Keep it if you need it twice.
func (p *Profile) Parsed() (*profile.Profile, error) { return p.parsed() }
