// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package store

import (
	"cmp"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"

	sdktrace "go.opentelemetry.io/otel/sdk/trace"

	"github.com/spanprof/spanprof/internal/goruntime"
	"github.com/spanprof/spanprof/internal/spanlabels"
	"github.com/spanprof/spanprof/store/internal/ident"
)

// SpanProcessor returns the processor that records spans: local roots, and spans with the
// attribute pyroscope.profile.id. If a provider of package spanprof gives every span a
// profile without that attribute, it records all sampled spans. Register it on the tracer
// provider, and on each new one if the provider is replaced: the spans of a provider without it
// are never listed, and their samples count in Stats.SamplesUnseen. Its Shutdown does nothing:
// the tracer provider and the profiler may be shut down in any order.
//
// It reads spans for some time after they ended, like OpenTelemetry's batch processor.
// Other processors must not change the attributes and events that a ReadOnlySpan returns.
func (s *Store) SpanProcessor() sdktrace.SpanProcessor {
	spanlabels.TimesKept.Store(true) // for spans that run
	return s.intake
}

// Tracer is how many spans of a tracer have labels of a profile.
type Tracer struct {
	// Name is the name of the instrumentation scope, cut like names of spans.
	Name string
	// Roots is the number of sampled local roots that ended, Unlabelled of those without
	// the attribute pyroscope.profile.id. A span that lost attributes, because it had more
	// than the SDK keeps, counts in neither.
	Roots, Unlabelled int64
}

// Tracers returns the tracers of the recorded spans. Tracers with the most spans without
// labels are first. Of more than 64 names the others count as "other".
func (s *Store) Tracers() []Tracer {
	s.intake.Drain()
	s.origins.mu.Lock()
	defer s.origins.mu.Unlock()
	list := make([]Tracer, 0, len(s.origins.tracers))
	for _, t := range s.origins.tracers {
		list = append(list, *t)
	}
	slices.SortFunc(list, func(a, b Tracer) int {
		return cmp.Or(cmp.Compare(b.Unlabelled, a.Unlabelled), cmp.Compare(b.Roots, a.Roots), cmp.Compare(a.Name, b.Name))
	})
	return list
}

// maxTracers bounds the tracers: a program may make their names out of data.
const maxTracers = 64

// origins counts spans by tracer.
type origins struct {
	mu      sync.Mutex
	tracers map[string]*Tracer
}

// count counts a local root that ended.
func (o *origins) count(s sdktrace.ReadOnlySpan, labelled bool) {
	if !s.SpanContext().IsSampled() || s.DroppedAttributes() > 0 {
		return
	}
	name := ident.Cut(s.InstrumentationScope().Name)
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.tracers[name] == nil && len(o.tracers) >= maxTracers {
		name = "other"
	}
	if o.tracers[name] == nil {
		name = strings.Clone(name)
		o.tracers[name] = &Tracer{Name: name}
	}
	t := o.tracers[name]
	t.Roots++
	if !labelled {
		t.Unlabelled++
	}
}

// running are the local roots that goroutines have the labels of. To list goroutines
// takes a microsecond for each, and so the list of many is up to a second old.
type running struct {
	mu    sync.Mutex
	at    time.Time
	roots []spanlabels.Root
}

const manyGoroutines = 5000

// ids returns the ids of the roots and of their traces, nil if goroutines cannot be listed.
func (r *running) ids() map[string]bool {
	if !goruntime.ListsGoroutines() {
		return nil
	}
	ids := make(map[string]bool)
	for _, of := range r.list() {
		ids[of.ID], ids[of.Trace] = true, true
	}
	return ids
}

func (r *running) list() []spanlabels.Root {
	r.mu.Lock()
	defer r.mu.Unlock()
	if now := time.Now(); r.at.IsZero() || now.Sub(r.at) > time.Second || now.Before(r.at) || runtime.NumGoroutine() < manyGoroutines {
		r.at, r.roots = now, spanlabels.Running()
	}
	return r.roots
}

// runningSpans returns the local roots that have not ended and that q selects, except those
// for which known returns true.
func (v *view) runningSpans(q *SpanQuery, known func(ident.Key) bool) (spans []Span) {
	if q.OnlyErrors || len(q.Attributes) > 0 || q.Below != "" {
		return nil
	}
	now := time.Now()
	service := ident.Service(v.store.intake.Resource())
	for _, r := range v.store.running.list() {
		d := now.Sub(time.Unix(0, r.Start))
		if known(ident.ParseKey(r.ID)) || d < q.MinDuration || !q.selects(service, r.Name, r.Trace, r.Start, now.UnixNano()) {
			continue
		}
		sums, label, of := v.held.SumsOf(ident.ParseKey(r.ID))
		spans = append(spans, Span{
			ProfileID: r.ID, TraceID: r.Trace, Name: r.Name, Service: cmp.Or(of, service),
			Start: time.Unix(0, r.Start), Duration: max(d, 0), LocalRoot: true, Running: true,
			CPU: time.Duration(sums.CPU), CPUSamples: sums.Samples, CPUInclusive: time.Duration(sums.CPU), WallSamples: sums.Wall, SamplesHeld: sums.Held, Label: label,
		})
	}
	return spans
}
