// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

// Package exportertest has the [Recorder] for tests, an exporter.Exporter that keeps
// profiles.
package exportertest

import (
	"context"
	"fmt"
	"slices"
	"sync"

	"github.com/spanprof/spanprof/exporter"
)

var _ exporter.Exporter = (*Recorder)(nil)

// Recorder keeps every profile in memory, also after Shutdown. The zero value
// is ready to use. It is safe for concurrent use.
type Recorder struct {
	mu       sync.Mutex
	profiles []*exporter.Profile
	shutdown bool
	changed  chan struct{} // closed at the next Export or Shutdown; nil if no call waits
}

// Export keeps p. After Shutdown it returns exporter.ErrShutdown.
func (r *Recorder) Export(_ context.Context, p *exporter.Profile) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.shutdown {
		return exporter.ErrShutdown
	}
	r.profiles = append(r.profiles, p)
	r.announce()
	return nil
}

// ForceFlush returns nil, or exporter.ErrShutdown after Shutdown.
func (r *Recorder) ForceFlush(context.Context) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.shutdown {
		return exporter.ErrShutdown
	}
	return nil
}

// Shutdown makes Export and ForceFlush fail from now on. It returns nil.
func (r *Recorder) Shutdown(context.Context) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.shutdown = true
	r.announce()
	return nil
}

// Profiles returns the profiles so far, in the order of their Export.
func (r *Recorder) Profiles() []*exporter.Profile {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.profiles)
}

// Wait returns the profiles when there are n of them. The error has their number if ctx ends
// or the Recorder is shut down before.
func (r *Recorder) Wait(ctx context.Context, n int) ([]*exporter.Profile, error) {
	for {
		r.mu.Lock()
		profiles, shutdown := slices.Clone(r.profiles), r.shutdown
		if r.changed == nil {
			r.changed = make(chan struct{})
		}
		changed := r.changed
		r.mu.Unlock()

		switch {
		case len(profiles) >= n:
			return profiles, nil
		case shutdown:
			return profiles, fmt.Errorf("%d profiles of %d: %w", len(profiles), n, exporter.ErrShutdown)
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return profiles, fmt.Errorf("%d profiles of %d: %w", len(profiles), n, ctx.Err())
		}
	}
}

// announce wakes calls of Wait; the caller holds r.mu.
func (r *Recorder) announce() {
	if r.changed != nil {
		close(r.changed)
		r.changed = nil
	}
}
