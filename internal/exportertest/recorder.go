// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

// Package exportertest has the [Recorder] for tests, an exporter.Exporter that keeps
// profiles.
package exportertest

import (
	"context"
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
}

// Export keeps p. After Shutdown it returns exporter.ErrShutdown.
func (r *Recorder) Export(_ context.Context, p *exporter.Profile) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.shutdown {
		return exporter.ErrShutdown
	}
	r.profiles = append(r.profiles, p)
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
	return nil
}

// Profiles returns the profiles so far, in the order of their Export.
func (r *Recorder) Profiles() []*exporter.Profile {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.profiles)
}
