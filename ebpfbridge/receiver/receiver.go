// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package receiver

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync"

	"go.opentelemetry.io/otel/sdk/resource"
	collectorpb "go.opentelemetry.io/proto/slim/otlp/collector/profiles/v1development"

	"github.com/spanprof/spanprof/ebpfbridge/internal/decode"
	"github.com/spanprof/spanprof/ebpfbridge/internal/handout"
	"github.com/spanprof/spanprof/ebpfbridge/internal/symbols"
	"github.com/spanprof/spanprof/exporter"
	"github.com/spanprof/spanprof/internal/attribution"
	"github.com/spanprof/spanprof/internal/report"
)

// maxMemory bounds a message as pprof, in bytes, about: some 23,000 samples. In the 5 s of a
// stock agent at 19 Hz, 240 busy cores have as many.
const maxMemory = 128 << 20

// Lookup returns the full values of the labels span_name and trace_id of a span, by its id: 16
// hexadecimal digits, as in the label span_id. ok is false if it is not one of this process.
// Method Lookup of a store is one. It completes labels that the agent cuts.
type Lookup func(id string) (name, traceID string, ok bool)

// Receiver takes the profiles of an agent. It is safe for concurrent use.
type Receiver struct {
	config
	to     exporter.Exporter
	lookup Lookup
	pid    int64 // of this process

	mu       sync.Mutex // one message at a time
	agents   attribution.Agents
	labelled map[processOf]bool // processes with labels
	symbols  symbols.Symbolizer
	reports  report.Reporter
	statusMu sync.Mutex
	status   Status
}

// New returns a receiver that exports this process's samples. It does not flush the
// exporter, and does not shut it down.
func New(to exporter.Exporter, lookup Lookup, opts ...Option) (*Receiver, error) {
	if to == nil || lookup == nil {
		return nil, errors.New("receiver: New needs an exporter and a lookup")
	}
	return &Receiver{config: newConfig(opts), to: to, lookup: lookup, pid: int64(os.Getpid())}, nil
}

// take takes a message that came over a connection. An error means that the message
// breaks the format's rules; then nothing of it is exported. A failed export is not
// returned: an agent cannot help it.
func (r *Receiver) take(ctx context.Context, connection string, m *collectorpb.ExportProfilesServiceRequest) error {
	own := &collectorpb.ExportProfilesServiceRequest{Dictionary: m.GetDictionary()}
	for _, p := range m.GetResourceProfiles() {
		pid, err := handout.ProcessID(m.GetDictionary(), p.GetResource())
		if err != nil {
			return fmt.Errorf("receiver: %w", err)
		}
		if pid == r.pid {
			own.ResourceProfiles = append(own.ResourceProfiles, p)
		}
	}
	if err := handout.CheckNamespace(); err != nil && len(own.ResourceProfiles) == 0 {
		r.reports.Report(fmt.Errorf("receiver: a message without samples of this process: %w. Or run a hostview, and use Subscribe", err))
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.takeOwn(ctx, connection, own)
}

// takeOwn takes a message of this process only. The caller holds the lock.
func (r *Receiver) takeOwn(ctx context.Context, connection string, m *collectorpb.ExportProfilesServiceRequest) error {
	own := process{resource: r.resource, pid: int64(os.Getpid())}
	return r.export(ctx, connection, m, func(*resource.Resource) process { return own })
}

// export exports the profiles in a message. of returns the process of a resource. The
// caller holds the lock, and counts refused messages.
func (r *Receiver) export(ctx context.Context, connection string, m *collectorpb.ExportProfilesServiceRequest, of func(*resource.Resource) process) error {
	decoded, err := decode.Profiles(m, maxMemory)
	if err != nil {
		return fmt.Errorf("receiver: %w", err)
	}
	r.symbols.Begin(ctx)
	counted := Status{Messages: 1}
	var profiles []*exporter.Profile
	for _, p := range decoded {
		host, err := r.hostProfile(p, of(p.Resource), connection, &counted)
		if err != nil {
			return fmt.Errorf("receiver: %w", err)
		}
		if host != nil {
			profiles = append(profiles, host)
		}
	}
	for _, p := range profiles {
		if err := r.to.Export(ctx, p); err != nil {
			counted.Failed++
			r.reports.Report(fmt.Errorf("receiver: export: %w", err))
		}
	}
	r.count(counted)
	return nil
}

// Subscribe takes this process's samples from the socket of a hostview on the same
// machine until ctx ends. In containers, mount the socket's directory: network and process ids
// need not be shared.
//
//	go func() { errs <- r.Subscribe(ctx, "/run/spanprof/host.sock") }()
//
// It connects again, with pauses of up to ten seconds. Of several connections of a process, the
// last one works. It returns an error for an invalid path. Do not give the receiver the agent's
// own messages as well: it would count the samples twice.
func (r *Receiver) Subscribe(ctx context.Context, path string) error {
	err := handout.Read(ctx, path, func(d handout.Delivery) {
		r.count(Status{Lost: d.Lost})
		if d.Message == nil {
			return
		}
		r.mu.Lock()
		defer r.mu.Unlock()
		if err := r.takeOwn(ctx, d.Connection, d.Message); err != nil {
			r.refuse(Status{Messages: 1, Refused: 1, Reason: err.Error()}, err)
		}
	}, func(err error) {
		r.reports.Report(fmt.Errorf("receiver: %w", err))
	})
	if err != nil {
		return fmt.Errorf("receiver: %w", err)
	}
	return nil
}
