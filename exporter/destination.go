// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package exporter

import "context"

// Destination is where a [Queue] sends its profiles, one attempt at a time: an
// HTTP API, say. The Queue retries, bounds and counts.
type Destination interface {
	// Send makes one attempt to deliver p, and returns nil when it has been
	// taken. A [*RetryError] has the Queue send p again, after any other
	// error p is dropped. ctx ends with the time for the attempt, which is
	// then repeated whatever the error, or when Shutdown gives up. A panic
	// counts as an error. Send must not change p.
	Send(ctx context.Context, p *Profile) error

	// Shutdown frees what the Destination holds. It is called once, when
	// the last Send has returned.
	Shutdown(ctx context.Context) error
}
