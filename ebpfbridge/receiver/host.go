// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package receiver

import (
	"cmp"
	"context"
	"fmt"
	"strconv"
	"sync/atomic"
	"time"

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
	newest     atomic.Pointer[agentRun]
}

// agentRun is a connection of an agent, since its first message.
type agentRun struct {
	connection string
	since      time.Time
}

// HostStatus counts what a Host has taken.
type HostStatus struct {
	Status // about all processes; Lost is of the subscribers
	// Subscribers are the processes that are connected now, and HandedOut the samples that they
	// got. RefusedSubscribers are their connections that were not served.
	Subscribers, HandedOut, RefusedSubscribers int
	// Unreadable is true if functions of C in the last message stay addresses: their
	// files may not be read. Or a bound was exceeded.
	Unreadable bool
	// AgentSince is the time of the first message of the newest agent, zero without one.
	AgentSince time.Time
}

// NewHost returns a Host that exports the profiles of each process in each message, as a
// Receiver does. Their resource has the agent's attributes of the process, with service.name,
// by default the name of the executable. Samples have the labels [LabelProcess], and
// [LabelExecutable], [LabelContainer], [LabelThread] and [LabelCPU] if the agent sends them.
// The host does not flush the exporter, and does not shut it down.
func NewHost(to exporter.Exporter) (*Host, error) {
	core, err := New(to, func(string) (name, traceID string, ok bool) { return "", "", false })
	if err != nil {
		return nil, err
	}
	return &Host{core: core}, nil
}

// ServeGRPC takes OTLP/gRPC until ctx ends, as [Receiver.ServeGRPC] does.
func (h *Host) ServeGRPC(ctx context.Context, l *Listener) error {
	return h.core.serveAgents(ctx, l, h.take)
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
	s := HostStatus{Status: h.core.Status(), Subscribers: out.Subscribers, HandedOut: out.HandedOut, RefusedSubscribers: out.Refused, Unreadable: h.unreadable.Load()}
	s.Lost = out.Lost
	if run := h.newest.Load(); run != nil {
		s.AgentSince = run.since
	}
	return s
}

// take takes a message of all processes.
func (h *Host) take(ctx context.Context, connection string, m *collectorpb.ExportProfilesServiceRequest) error {
	if run := h.newest.Load(); run == nil || run.connection != connection {
		h.newest.Store(&agentRun{connection, time.Now()})
	}
	if err := h.handout.HandOut(connection, m); err != nil {
		return fmt.Errorf("receiver: %w", err)
	}
	h.core.mu.Lock()
	defer h.core.mu.Unlock()
	subjects := map[*resource.Resource]process{} // profiles of a process share one
	err := h.core.export(ctx, connection, m, func(r *resource.Resource) process {
		of, ok := subjects[r]
		if !ok {
			id, _ := r.Set().Value("process.pid")
			of = process{withService(r), id.AsInt64(), map[string]string{LabelProcess: strconv.FormatInt(id.AsInt64(), 10)}}
			for key, label := range map[attribute.Key]string{"container.id": LabelContainer, "process.executable.name": LabelExecutable} {
				if v, _ := r.Set().Value(key); v.AsString() != "" {
					of.labels[label] = v.AsString()[:min(len(v.AsString()), maxLabelText)]
				}
			}
			subjects[r] = of
		}
		return of
	})
	h.unreadable.Store(h.core.symbols.Unreadable)
	return err
}

// The labels of a [Host]'s samples.
const (
	LabelProcess    = labelkey.Process    // the id of the process
	LabelExecutable = labelkey.Executable // the name of its executable, if there is one
	LabelContainer  = "container_id"
	LabelThread     = "thread_name"
	LabelCPU        = "cpu" // the number of the logical CPU
)

// withService returns a resource with the name of a service. Threads of the kernel have
// no executable.
func withService(r *resource.Resource) *resource.Resource {
	if v, _ := r.Set().Value("service.name"); v.AsString() != "" {
		return r
	}
	v, _ := r.Set().Value("process.executable.name")
	name := cmp.Or(v.AsString(), "(no executable)")
	return resource.NewSchemaless(append(r.Attributes(), attribute.String("service.name", name))...)
}
