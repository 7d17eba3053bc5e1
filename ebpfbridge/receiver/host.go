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
	"sync"

	"github.com/google/pprof/profile"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/sdk/resource"
	collectorpb "go.opentelemetry.io/proto/slim/otlp/collector/profiles/v1development"

	"github.com/spanprof/spanprof/ebpfbridge/internal/handout"
	"github.com/spanprof/spanprof/exporter"
	"github.com/spanprof/spanprof/exporter/otlp/convert"
	"github.com/spanprof/spanprof/internal/labelkey"
)

// Host takes the profiles of all processes of a machine from its agent. It hands each
// subscribed process the process's own samples. It is safe for concurrent use. Command
// hostview is a Host with a page.
type Host struct {
	core    *Receiver // its lock, its status, its symbols and its state of agents
	handout handout.Server

	mu         sync.Mutex
	unreadable bool
}

// HostStatus counts what a Host has taken.
type HostStatus struct {
	// Status is about all processes. Lost is about their subscriptions.
	Status
	// Subscribers are the processes that are connected now, and HandedOut the samples
	// that they got. RefusedSubscribers are their connections that were not served.
	Subscribers, HandedOut, RefusedSubscribers int
	// Unreadable is true if the last message had C code in files that may not be read:
	// its functions stay addresses.
	Unreadable bool
}

// maxHostMemory bounds what a message of all processes may take, in bytes, about.
const maxHostMemory = 512 << 20

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
	core.symbols.max = 2_000_000
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
	s := HostStatus{Status: h.core.Status(), Subscribers: out.Subscribers, HandedOut: int(out.HandedOut), RefusedSubscribers: int(out.Refused)}
	s.Lost += int(out.Lost)
	h.mu.Lock()
	defer h.mu.Unlock()
	s.Unreadable = h.unreadable
	return s
}

// take takes a message of all processes.
func (h *Host) take(ctx context.Context, connection string, m *collectorpb.ExportProfilesServiceRequest) error {
	handErr := h.handout.HandOut(connection, m)
	h.core.mu.Lock()
	defer h.core.mu.Unlock()
	counted := Status{Messages: 1}
	defer func() { h.core.count(counted) }()
	profiles, err := h.profiles(connection, m, &counted)
	if err = errors.Join(handErr, err); err != nil {
		counted = Status{} // as refused
		return fmt.Errorf("receiver: %w", err)
	}
	h.core.export(ctx, profiles, &counted)
	return nil
}

func (h *Host) profiles(connection string, m *collectorpb.ExportProfilesServiceRequest, counted *Status) ([]*exporter.Profile, error) {
	timed, err := convert.TimedProfiles(m, maxHostMemory)
	if err != nil {
		return nil, err
	}
	h.core.symbols.begin()
	var profiles []*exporter.Profile
	named := map[*resource.Resource]*resource.Resource{} // profiles of a process share one
	for _, p := range timed {
		if named[p.Resource()] == nil {
			named[p.Resource()] = withService(p.Resource())
		}
		id, _ := p.Resource().Set().Value("process.pid")
		pid := id.AsInt64()
		host, err := h.core.hostProfile(p, process{
			kind:     exporter.KindCPU,
			resource: named[p.Resource()],
			name:     func(m *profile.Mapping, address uint64) (string, bool) { return h.core.symbols.name(pid, m, address) },
			sample:   func(s *profile.Sample) { labelProcess(s, pid) },
		}, agentOf(connection, p.Scope), counted)
		if err != nil {
			return nil, err
		}
		if host != nil {
			profiles = append(profiles, host)
		}
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.unreadable = h.core.symbols.unreadable
	return profiles, nil
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
