// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package viewer

import "context"

// turns lets some requests in at a time, for the host program comes first. Those that wait
// leave when their client goes.
type turns chan struct{}

// enter waits for a turn, and fails if ctx ends before. Nil turns let everybody in.
func (t turns) enter(ctx context.Context) (leave func(), err error) {
	// A client that has gone away needs no answer, and select may take either case.
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if t == nil {
		return func() {}, nil
	}
	select {
	case t <- struct{}{}:
		return func() { <-t }, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}
