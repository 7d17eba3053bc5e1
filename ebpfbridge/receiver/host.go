// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package receiver

import (
	"context"
	"errors"
	"fmt"
	"net"
	"path"
	"slices"
	"strconv"
	"sync/atomic"

	"github.com/google/pprof/profile"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/sdk/resource"
	collectorpb "go.opentelemetry.io/proto/slim/otlp/collector/profiles/v1development"

	"github.com/spanprof/spanprof/ebpfbridge/internal/handout"
	"github.com/spanprof/spanprof/exporter"
	"github.com/spanprof/spanprof/internal/labelkey"
)

// Host takes the profiles of all processes of a machine from its agent. It hands each
// subscribed process the process's own samples. It is safe for concurrent use. Command
// hostview is a Host with a page.
type Host struct {
	core       *Receiver // its lock, its status, its symbols and its state of agents
	handout    handout.Server
	unreadable atomic.Bool
}

// HostStatus counts what a Host has taken.
type HostStatus struct {
	// Status is about all processes. Lost is about their subscriptions.
	Status
	// Subscribers are the processes that are connected now, and HandedOut the samples
	// that they got. RefusedSubscribers are their connections that were not served.
	Subscribers, HandedOut, RefusedSubscribers int
	// Unreadable is true if functions of C in the last message stay addresses: their
	// files may not be read. Or a bound was exceeded.
	Unreadable bool
}

// NewHost returns a Host that exports a profile for each process in each message, of
// [exporter.KindCPU]: there is no other CPU profile of these processes that it could be
// added to. Its resource has the agent's attributes of the process, with service.name, by
// default the name of the executable. Samples have the process id as the label
// process_pid. The host does not flush the exporter, and does not shut it down.
func NewHost(to exporter.Exporter) (*Host, error) {
	if to == nil {
		return nil, errors.New("receiver: NewHost needs an exporter")
	}
	nobody := func(string) (Span, bool) { return Span{}, false }
	core, err := New(to, nobody)
	if err != nil {
		return nil, err
	}
	return &Host{core: core}, nil
}

// ServeGRPC takes OTLP/gRPC until ctx ends, as [Receiver.ServeGRPC] does.
func (h *Host) ServeGRPC(ctx context.Context, listener net.Listener, opts ...ServeOption) error {
	return h.core.serve(ctx, listener, opts, h.take)
}

// ServeSocket makes a socket and hands each process that connects to it the process's own
// samples, until ctx ends. It returns an error if the path is in use. It also returns one
// if this process is not in the host's pid namespace. All users may connect.
func (h *Host) ServeSocket(ctx context.Context, path string) error {
	l, err := handout.Listen(path)
	if err == nil {
		err = h.handout.Serve(ctx, l)
	}
	if err != nil {
		return fmt.Errorf("receiver: %w", err)
	}
	return nil
}

// Status returns what has been counted since NewHost.
func (h *Host) Status() HostStatus {
	out := h.handout.Status()
	s := HostStatus{Status: h.core.Status(), Subscribers: out.Subscribers, HandedOut: int(out.HandedOut), RefusedSubscribers: int(out.Refused), Unreadable: h.unreadable.Load()}
	s.Lost += int(out.Lost)
	return s
}

// take takes a message of all processes.
func (h *Host) take(ctx context.Context, connection string, m *collectorpb.ExportProfilesServiceRequest) error {
	if err := h.handout.HandOut(connection, m); err != nil {
		return fmt.Errorf("receiver: %w", err)
	}
	h.core.mu.Lock()
	defer h.core.mu.Unlock()
	named := map[*resource.Resource]*resource.Resource{} // profiles of a process share one
	err := h.core.export(ctx, connection, m, func(r *resource.Resource) process {
		if named[r] == nil {
			named[r] = withService(r)
		}
		id, _ := r.Set().Value("process.pid")
		pid := id.AsInt64()
		return process{exporter.KindCPU, named[r], pid, func(s *profile.Sample) { labelProcess(s, pid) }}
	})
	h.unreadable.Store(h.core.symbols.unreadable)
	return err
}

// LabelProcess is the label of a [Host]'s samples that has the id of their process.
const LabelProcess = labelkey.Process

func labelProcess(s *profile.Sample, pid int64) {
	if s.Label == nil {
		s.Label = map[string][]string{}
	}
	s.Label[LabelProcess] = []string{strconv.FormatInt(pid, 10)}
	// If both are the same, profile_id alone is enough for a span with work of its own.
	// A store without registered spans lists it then.
	if id := s.Label[labelkey.ProfileID]; len(id) > 0 && slices.Equal(id, s.Label[labelkey.SpanID]) {
		delete(s.Label, labelkey.SpanID)
	}
}

// withService returns a resource with the name of a service. Threads of the kernel have
// no executable.
func withService(r *resource.Resource) *resource.Resource {
	if v, ok := r.Set().Value("service.name"); ok && v.AsString() != "" {
		return r
	}
	name := "(no executable)"
	if v, ok := r.Set().Value("process.executable.name"); ok && v.AsString() != "" {
		name = v.AsString()
	} else if v, ok := r.Set().Value("process.executable.path"); ok && v.AsString() != "" {
		name = path.Base(v.AsString())
	}
	return resource.NewSchemaless(append(r.Attributes(), attribute.String("service.name", name))...)
}
