// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package viewer

import "context"

// enter waits until the queries may be answered, and fails when ctx ends before.
// Those that look at everything the store holds are answered one after the
// other: the program that is looked at has other things to do. Those for one id
// need not wait, for an index leads to its samples.
func (h *handler) enter(ctx context.Context, queries ...query) (leave func(), err error) {
	for _, q := range queries {
		if id, _ := q.spanID(); id == "" {
			return h.enterHeavy(ctx)
		}
	}
	return func() {}, ctx.Err()
}

// enterHeavy is enter for what looks at everything, as a list of spans does.
func (h *handler) enterHeavy(ctx context.Context) (leave func(), err error) {
	// A client that has gone needs no answer, and select may take either case.
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	select {
	case h.heavy <- struct{}{}:
		return func() { <-h.heavy }, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}
