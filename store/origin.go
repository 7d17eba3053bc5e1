// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package store

import (
	"cmp"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"go.opentelemetry.io/otel/sdk/resource"

	"github.com/spanprof/spanprof/store/internal/ident"
)

// Tracer says of the spans of one tracer how many got labels of a profile.
type Tracer struct {
	// Name is the name of the instrumentation scope, cut like names of spans.
	Name string
	// Roots is the number of sampled local roots that ended, Unlabelled of those without
	// the attribute pyroscope.profile.id. A span that lost attributes, as it had more than
	// the SDK keeps, counts in neither.
	Roots, Unlabelled int64
}

// Tracers returns the tracers whose spans were recorded, those with most spans without
// labels first. Of more than 64 names the further ones count as "other".
func (s *Store) Tracers() []Tracer {
	s.spans.Settle()
	return s.origins.list()
}

// maxTracers bounds what is counted: a program may make names of tracers out of data.
const maxTracers = 64

// origins counts spans by tracer.
type origins struct {
	mu      sync.Mutex
	tracers map[string]*Tracer
	// last is the one that counted last; most programs have few.
	last *Tracer
}

// count counts a local root that ended.
func (o *origins) count(name string, labelled bool) {
	name = ident.Cut(name)
	o.mu.Lock()
	defer o.mu.Unlock()
	t := o.last
	if t == nil || t.Name != name {
		t = o.tracers[name]
	}
	if t == nil {
		if len(o.tracers) >= maxTracers {
			name = "other"
			t = o.tracers[name]
		}
		if t == nil {
			name = strings.Clone(name)
			t = &Tracer{Name: name}
			if o.tracers == nil {
				o.tracers = make(map[string]*Tracer)
			}
			o.tracers[name] = t
		}
	}
	o.last = t
	t.Roots++
	if !labelled {
		t.Unlabelled++
	}
}

func (o *origins) list() []Tracer {
	o.mu.Lock()
	defer o.mu.Unlock()
	list := make([]Tracer, 0, len(o.tracers))
	for _, t := range o.tracers {
		list = append(list, *t)
	}
	slices.SortFunc(list, func(a, b Tracer) int {
		return cmp.Or(cmp.Compare(b.Unlabelled, a.Unlabelled), cmp.Compare(b.Roots, a.Roots), cmp.Compare(a.Name, b.Name))
	})
	return list
}

// RunningFor returns how many local roots have been running for d or longer; 128 stands
// for more too.
func (s *Store) RunningFor(d time.Duration) int { return s.spans.RunningSince(time.Now().Add(-d)) }

// SpanResource returns the resource of the span that came last, nil before there is one.
// Given to profiler.WithResourceFunc, it makes profiles those of the spans' service.
func (s *Store) SpanResource() *resource.Resource { return s.spans.LastResource() }

// Services returns service.name of the span that came last, and whether there is one. If
// CPU profiles that came after the first span are of other services, as otel.Handle has
// heard, it returns these too, in the order of letters.
func (s *Store) Services() (spans string, known bool, others []string) {
	spans, known = s.spans.LastService()
	s.mu.RLock()
	defer s.mu.RUnlock()
	if _, profiled := s.index.times[spans]; known && s.foreign && !profiled {
		others = slices.Sorted(maps.Keys(s.index.times))
	}
	return spans, known, others
}
