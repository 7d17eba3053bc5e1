// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package exporter

import (
	"context"
	"time"
)

// Destination is where a [Queue] sends its profiles, one attempt at a time: an
// HTTP API, say. The Queue retries, bounds and counts.
//
// A Destination may have two more methods, which the Queue looks for:
//
//	Split(p *Profile) ([]*Profile, error)
//	Shutdown(ctx context.Context) error
//
// Split is called before a profile waits. It cuts one that is too large for the
// destination into parts, each of which is then sent, and counted, by itself. It
// returns p alone where there is nothing to cut, and no parts for a profile that is
// not worth sending, which counts as empty. After an error p is sent uncut.
//
// Shutdown frees what the Destination holds. It is called once, when the last Send
// has returned.
type Destination interface {
	// Send makes one attempt to deliver p, and returns nil when it has been
	// taken. A [*RetryError] has the Queue send p again, after any other
	// error p is dropped. ctx ends with the time for the attempt, which is
	// then repeated whatever the error, or when Shutdown gives up. A panic
	// counts as an error. Send must not change p. While many profiles wait
	// up to four calls run at once, never two for the same profile.
	Send(ctx context.Context, p *Profile) error
}

// RetryError is what a [Destination] returns of an attempt that can succeed
// later.
type RetryError struct {
	// Err says what went wrong; never nil.
	Err error
	// After is how long the destination wants to be left alone, by its
	// Retry-After header for example. 0 leaves it to the Queue.
	After time.Duration
	// Refused says that the destination has certainly not taken the
	// profile, as it has not where no connection came about. After other
	// errors it may have, and the next attempt may deliver a duplicate.
	Refused bool
}

func (e *RetryError) Error() string { return e.Err.Error() }

// Unwrap returns Err.
func (e *RetryError) Unwrap() error { return e.Err }
