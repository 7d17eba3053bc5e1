// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package handoff

import "context"

// Sink is where a Queue's items go: exporter.Exporter, in general terms. The
// Queue makes each call from a goroutine of its own, those of Export one at a
// time, that of Shutdown after all others.
type Sink[T any] interface {
	Export(ctx context.Context, item T) error
	ForceFlush(ctx context.Context) error
	Shutdown(ctx context.Context) error
}
