// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package exporter

import (
	"context"
	"errors"
)

// ErrShutdown is returned by Export and ForceFlush after Shutdown.
var ErrShutdown = errors.New("exporter: already shut down")

// Exporter takes finished profiles to a destination.
//
// The profiler calls Export from one goroutine at a time. ForceFlush may be called
// during an Export and during another ForceFlush. Shutdown comes last, after they
// have returned. An Exporter that is used elsewhere too must be safe for concurrent
// use.
//
// None of these calls may wait for the profiler's Flush or Shutdown, which wait for
// them. So return errors and do not give them to otel.Handle, whose handler may call
// either: what Export returns is reported by the lane, and what the others return by
// Flush and Shutdown. A panic counts as an error, and so does a call that ends its
// goroutine.
type Exporter interface {
	// Export delivers p, or takes it over for a later delivery. It must
	// not change p, may keep it, and returns when ctx ends.
	Export(ctx context.Context, p *Profile) error

	// ForceFlush returns after everything that Export took has been
	// delivered or given up, not merely queued, or when ctx ends.
	ForceFlush(ctx context.Context) error

	// Shutdown delivers what it can until ctx ends and frees what the
	// exporter holds. Calls after the first do nothing but wait for it, if
	// they wait at all, and return nil or the error of ctx.
	Shutdown(ctx context.Context) error
}
