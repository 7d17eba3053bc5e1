// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package exporter

import "context"

// Destination is where a [Queue] sends its profiles, one attempt at a time: an
// HTTP API, say. The Queue retries, bounds and counts.
//
// A Destination may have two more methods, which the Queue looks for:
//
//	Split(p *Profile) ([]*Profile, error)
//	Shutdown(ctx context.Context) error
//
// Split cuts a profile that is too large for the destination into parts, before it
// waits. It returns p alone where nothing is to be done. After an error p is sent
// as it is. Shutdown frees what the Destination holds. It is called once, when the
// last Send has returned.
type Destination interface {
	// Send makes one attempt to deliver p, and returns nil when it has been
	// taken. A [*RetryError] has the Queue send p again, after any other
	// error p is dropped. ctx ends with the time for the attempt, which is
	// then repeated whatever the error, or when Shutdown gives up. A panic
	// counts as an error. Send must not change p. While many profiles wait
	// up to four calls run at once, never two for the same profile.
	Send(ctx context.Context, p *Profile) error
}
