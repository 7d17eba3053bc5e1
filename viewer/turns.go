// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package viewer

import (
	"context"
	"slices"

	"github.com/spanprof/spanprof/internal/labelkey"
	"github.com/spanprof/spanprof/viewer/internal/answer"
)

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

// turns returns what a request has to wait for: one at a time may look at all samples that
// the source holds. A query for one id need not wait, for an index leads to its samples,
// unless its trace is named too: the answer may be the trace's.
func (h *handler) turns(queries ...answer.Query) turns {
	if slices.ContainsFunc(queries, func(q answer.Query) bool {
		id, _ := q.SpanID()
		_, ofTrace := q.Value(labelkey.TraceID)
		return id == "" || ofTrace || q.OnAttributes()
	}) {
		return h.graphs
	}
	return nil
}
