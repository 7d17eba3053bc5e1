// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package receiver

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync"

	"github.com/google/pprof/profile"
	collectorpb "go.opentelemetry.io/proto/slim/otlp/collector/profiles/v1development"

	"github.com/spanprof/spanprof/exporter"
	"github.com/spanprof/spanprof/exporter/otlp/convert"
	"github.com/spanprof/spanprof/internal/report"
)

// maxMemory bounds this process's part of a message as pprof, in bytes, about.
const maxMemory = 128 << 20

// Span is what a receiver needs to know of a span.
type Span struct {
	// Name is the value of the label span_name, in full.
	Name string
	// TraceID is the value of the label trace_id: 32 hexadecimal digits.
	TraceID string
}

// Lookup returns a span by its id, 16 hexadecimal digits as in the label span_id. ok
// is false if it is not one of this process. It is called for each id in a message, also
// for ids of other processes.
type Lookup func(id string) (span Span, ok bool)

// LookupIn returns the Lookup of a store.
func LookupIn(store interface {
	Lookup(id string) (name, traceID string, ok bool)
},
) Lookup {
	return func(id string) (Span, bool) {
		name, traceID, ok := store.Lookup(id)
		return Span{Name: name, TraceID: traceID}, ok
	}
}

// own is lookup for what a message has for an id, which may be anything.
func (lookup Lookup) own(id string) (Span, bool) {
	if len(id) != 16 {
		return Span{}, false
	}
	return lookup(id)
}

// Receiver takes the profiles of an agent. It is safe for concurrent use.
type Receiver struct {
	config
	to     exporter.Exporter
	lookup Lookup

	mu       sync.Mutex // one message at a time
	owner    owner
	threads  *threads // of the current message's agent
	known    map[agent]*threads
	symbols  symbols
	reports  report.Reporter
	metrics  *metrics
	statusMu sync.Mutex
	status   Status
}

// New returns a receiver that exports this process's samples. It does not flush the
// exporter, and does not shut it down.
func New(to exporter.Exporter, lookup Lookup, opts ...Option) (*Receiver, error) {
	if to == nil || lookup == nil {
		return nil, errors.New("receiver: New needs an exporter and a lookup")
	}
	c := newConfig(opts)
	m, err := newMetrics(c.meters)
	if err != nil {
		return nil, err
	}
	r := &Receiver{config: c, to: to, lookup: lookup, metrics: m, threads: new(threads), known: map[agent]*threads{}}
	r.symbols.max = 400_000 // a Go program of 100 MB has about 200,000 functions
	return r, nil
}

// take takes a message that came over a connection. An error means that the message
// breaks the format's rules; then nothing of it is exported. A failed export is not
// returned: an agent cannot help it.
func (r *Receiver) take(ctx context.Context, connection string, m *collectorpb.ExportProfilesServiceRequest) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.takeOwn(ctx, connection, r.owner.own(m, r.lookup))
}

// takeOwn takes a message of this process only. The caller holds the lock.
func (r *Receiver) takeOwn(ctx context.Context, connection string, m *collectorpb.ExportProfilesServiceRequest) error {
	counted := Status{Messages: 1}
	defer func() { r.count(counted) }()
	profiles, err := r.profiles(connection, m, &counted)
	if err != nil {
		counted = Status{} // the caller counts it as refused
		return fmt.Errorf("receiver: %w", err)
	}
	r.export(ctx, profiles, &counted)
	return nil
}

func (r *Receiver) export(ctx context.Context, profiles []*exporter.Profile, counted *Status) {
	for _, p := range profiles {
		if err := r.to.Export(ctx, p); err != nil {
			counted.Failed++
			r.reports.Report(fmt.Errorf("receiver: export: %w", err))
		}
	}
}

// profiles returns the profiles in a message of this process.
func (r *Receiver) profiles(connection string, m *collectorpb.ExportProfilesServiceRequest, counted *Status) ([]*exporter.Profile, error) {
	timed, err := convert.TimedProfiles(m, maxMemory)
	if err != nil {
		return nil, err
	}
	r.symbols.begin()
	name := func(m *profile.Mapping, address uint64) (string, bool) {
		return r.symbols.name(int64(os.Getpid()), m, address)
	}
	var profiles []*exporter.Profile
	for _, p := range timed {
		host, err := r.hostProfile(p, process{kind: exporter.KindHost, resource: r.resource, name: name}, agentOf(connection, p.Scope), counted)
		if err != nil {
			return nil, err
		}
		if host != nil {
			profiles = append(profiles, host)
		}
	}
	return profiles, nil
}
