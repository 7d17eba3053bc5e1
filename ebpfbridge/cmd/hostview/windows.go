// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/google/pprof/profile"

	"github.com/spanprof/spanprof/ebpfbridge/receiver"
	"github.com/spanprof/spanprof/exporter"
)

// windows merges the profiles that an agent sends every few seconds of each process, into
// one profile per service.
type windows struct {
	to exporter.Exporter

	mu        sync.Mutex
	opened    time.Time
	services  map[service]*window
	processes map[string]*sampled // of the open windows
	before    map[string]*sampled // of the last ones
	bytes     int64
	last      lastSeen
}

// sampled is a process with samples.
type sampled struct {
	user    bool // it has frames outside of the kernel
	samples int64
}

// windowLength is how long samples are added up before the page shows them.
const windowLength = 10 * time.Second

// kernelOnly is the least number of samples of a program that the agent cannot read. While
// programs start and end, a few samples have frames of the kernel only.
const kernelOnly = 10

// lastSeen counts over all windows.
type lastSeen struct {
	message    time.Time // zero before the first
	processes  int       // in the last window
	kernelOnly int       // of these, programs without any frame of their own
	failed     int       // windows that could not be merged or stored
}

type service struct {
	name, version string
	kind          exporter.Kind
}

// window is the open window of a service.
type window struct {
	exporter.Window
	end   time.Time
	parts []*profile.Profile
}

// maxOpen bounds the memory of open windows, in bytes: beyond it they close early.
const maxOpen = 32 << 20

func newWindows(to exporter.Exporter) *windows {
	w := &windows{to: to}
	w.open(time.Now())
	return w
}

// open starts without windows. The caller holds the lock.
func (w *windows) open(now time.Time) {
	w.opened, w.services, w.processes, w.before, w.bytes = now, map[service]*window{}, map[string]*sampled{}, w.processes, 0
}

// Export adds a process's profile.
func (w *windows) Export(ctx context.Context, p *exporter.Profile) error {
	parsed, err := p.Parsed()
	if err != nil {
		return err
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.last.message = time.Now()
	if len(parsed.Sample) == 0 {
		return nil
	}
	pid := parsed.Sample[0].Label[receiver.LabelProcess][0]
	if w.processes[pid] == nil {
		w.processes[pid] = new(sampled)
	}
	for _, s := range parsed.Sample {
		w.processes[pid].samples += s.Value[0]
	}
	w.processes[pid].user = w.processes[pid].user || slices.ContainsFunc(parsed.Location, func(l *profile.Location) bool {
		return l.Mapping == nil || l.Mapping.File != exporter.KernelMapping
	})
	name, _ := p.Resource().Set().Value("service.name")
	version, _ := p.Resource().Set().Value("service.version")
	key := service{name.AsString(), version.AsString(), p.Kind()}
	end := p.Start().Add(p.Duration())
	s := w.services[key]
	if s == nil {
		s = &window{Window: exporter.Window{Kind: storedKind(p.Kind()), Start: p.Start(), Resource: p.Resource()}, end: end}
		w.services[key] = s
		w.bytes += 8 * int64(len(p.Resource().String())) // a number of one digit takes 8 bytes
	}
	if p.Start().Before(s.Start) {
		s.Start = p.Start()
	}
	if end.After(s.end) {
		s.end = end
	}
	s.parts = append(s.parts, parsed)
	w.bytes += int64(p.Size())
	for _, f := range parsed.Function {
		w.bytes += int64(len(f.Name) + len(f.SystemName) + len(f.Filename))
	}
	if w.bytes > maxOpen {
		return w.close(ctx)
	}
	return nil
}

// storedKind is the kind of a profile in the store: see source.
func storedKind(k exporter.Kind) exporter.Kind {
	if k == exporter.KindHost {
		return exporter.KindCPU
	}
	return k
}

// close exports the open windows and opens the next ones. The caller holds the lock.
func (w *windows) close(ctx context.Context) error {
	w.last.processes, w.last.kernelOnly = len(w.processes), 0
	for pid, p := range w.processes {
		if id, err := strconv.Atoi(pid); err == nil && !p.user && p.samples >= kernelOnly && !isKernelThread(id) {
			w.last.kernelOnly++
		}
	}
	services := w.services
	w.open(time.Now())
	var first error
	for key, s := range services {
		merged, err := profile.Merge(s.parts)
		if err == nil {
			s.Duration = s.end.Sub(s.Start)
			err = w.to.Export(ctx, exporter.NewParsedProfile(s.Window, merged))
		}
		if err != nil {
			w.last.failed++
		}
		if err != nil && first == nil {
			first = fmt.Errorf("service %s: %w", key.name, err)
		}
	}
	return first
}

func (w *windows) flush(ctx context.Context) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.close(ctx)
}

// run closes the windows periodically until ctx ends. The store logs what it refuses.
func (w *windows) run(ctx context.Context) error {
	ticker := time.NewTicker(windowLength)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-ticker.C:
			_ = w.flush(ctx)
		}
	}
}

func (w *windows) ForceFlush(ctx context.Context) error { return w.flush(ctx) }

func (w *windows) Shutdown(context.Context) error { return nil }

// seen returns the counts, and when the open windows began.
func (w *windows) seen() (lastSeen, time.Time) {
	w.mu.Lock()
	defer w.mu.Unlock()
	last := w.last
	last.processes = max(last.processes, len(w.processes))
	return last, w.opened
}

// sampled reports whether a process has samples in the open windows or the last ones.
func (w *windows) sampled(pid int) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	id := strconv.Itoa(pid)
	return w.processes[id] != nil || w.before[id] != nil
}
