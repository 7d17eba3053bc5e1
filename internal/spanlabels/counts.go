// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package spanlabels

import (
	"slices"
	"sync"
	"sync/atomic"
	"weak"

	"go.opentelemetry.io/otel/trace"
)

// Counts are the counters of this process, for the self-check.
var Counts struct {
	// EndedElsewhere counts labelled spans that ended on another goroutine than
	// they started on.
	EndedElsewhere atomic.Uint64
	// Wiped counts labelled spans that ended on the goroutine where they started, with their
	// labels replaced. A later goroutine with the same number counts as that goroutine.
	Wiped atomic.Uint64
	// NoRoom counts spans without labels because a SpanProcessor had too many open.
	NoRoom atomic.Uint64
	// NamesFull is the limit on different span names, once it was reached.
	NamesFull atomic.Int64
	// EverySpan is set once a provider gives every sampled span a profile without an attribute.
	EverySpan atomic.Bool
}

// Provider is a TracerProvider or SpanProcessor of package spanprof. The
// exported fields are set before Register and constant after that.
type Provider struct {
	// Disabled reports whether the environment has switched it off.
	Disabled bool
	// NoProfileID reports whether spans lack the attribute pyroscope.profile.id.
	NoProfileID bool

	sampled, unsampled atomic.Uint64
}

// every is the share of traces that Count counts, by bits of the id that samplers use
// last: one in 64. It counts as many spans exactly before that.
const every = 64

// Count counts a span that has started.
func (p *Provider) Count(id trace.TraceID, sampled bool) {
	n := &p.unsampled
	if sampled {
		n = &p.sampled
	}
	switch few := n.Load() < every; {
	case few && id.IsValid():
		n.Add(1)
	case !few && id[len(id)-1]%every == 1: // not 0, the byte of an invalid id
		n.Add(every)
	}
}

// Spans returns about how many spans were started, sampled or not.
func (p *Provider) Spans() (sampled, unsampled uint64) { return p.sampled.Load(), p.unsampled.Load() }

var (
	providersMu sync.Mutex
	providers   []weak.Pointer[Provider]
)

// Register adds p to Providers, for as long as something else refers to p.
func Register(p *Provider) {
	providersMu.Lock()
	defer providersMu.Unlock()
	providers = append(slices.DeleteFunc(providers, func(p weak.Pointer[Provider]) bool { return p.Value() == nil }), weak.Make(p))
}

// Providers returns the registered providers, the oldest first.
func Providers() (alive []*Provider) {
	providersMu.Lock()
	defer providersMu.Unlock()
	for _, p := range providers {
		if p := p.Value(); p != nil {
			alive = append(alive, p)
		}
	}
	return alive
}
