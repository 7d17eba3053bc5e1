// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package exporter

import (
	"context"
	"errors"
	"time"
)

// ErrShutdown is returned by Export and ForceFlush after Shutdown.
var ErrShutdown = errors.New("exporter: already shut down")

// Exporter delivers finished profiles.
//
// The profiler calls Export, ForceFlush and Shutdown one at a time, and Shutdown last.
// An Exporter that is used elsewhere too must be safe for concurrent use.
//
// These calls must not wait for the profiler's Flush or Shutdown, because both wait for them. So
// return errors, and do not give them to otel.Handle: its handler may call either. A panic
// counts as an error, and so does a call that ends its goroutine.
type Exporter interface {
	// Export delivers p, or accepts it for a later delivery. It must
	// not change p, may keep it, and returns when ctx ends.
	Export(ctx context.Context, p *Profile) error

	// ForceFlush returns after everything that Export accepted has been
	// delivered or dropped, or when ctx ends.
	ForceFlush(ctx context.Context) error

	// Shutdown delivers what it can until ctx ends and frees the exporter's
	// resources. Later calls may wait for the first, and return nil or the error of ctx.
	Shutdown(ctx context.Context) error
}

// Destination is the far end of a [Queue], for example an HTTP API. It makes single
// attempts. The Queue repeats them, bounds what waits, and counts.
type Destination interface {
	// Send makes one attempt to deliver p, and returns nil if it succeeded.
	// After a [*RetryError] the Queue sends p again. After any other
	// error p is dropped as rejected. If ctx ends, the attempt is repeated whatever the
	// error. A panic counts as an error. Send must not change p. Calls never overlap.
	Send(ctx context.Context, p *Profile) error

	// Shutdown frees resources. It is called once, after the last Send has returned.
	Shutdown(ctx context.Context) error
}

// RetryError is returned by a [Destination] for an attempt that can succeed later.
type RetryError struct {
	// Err is the cause; never nil.
	Err error
	// After is how long the destination wants no attempts, for example from its
	// Retry-After header. If it is 0, the Queue decides.
	After time.Duration
	// Refused is set if the destination certainly has not stored the profile, for
	// example without a connection. Otherwise the next attempt may deliver a duplicate.
	Refused bool
	// TooLarge is set if the destination takes only smaller profiles. The Queue
	// sends the two halves instead, at once.
	TooLarge bool
	// MaxAttempts bounds the attempts that end like this one, for each profile. The last one
	// rejects it. 0 means no bound but the age of the profile.
	MaxAttempts int
}

func (e *RetryError) Error() string { return e.Err.Error() }

// Unwrap returns Err.
func (e *RetryError) Unwrap() error { return e.Err }
