// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package spanprof

import (
	"context"

	"github.com/spanprof/spanprof/internal/goruntime"
)

func (runtimeLabeler) enter(ctx context.Context) (leave func()) {
	found, entered := goruntime.GoroutineLabels(), goruntime.ContextLabels(ctx)
	if entered == nil {
		return func() { goruntime.SetLabels(live(found)) }
	}
	if entered != found && hasUserLabels(found) {
		// The ids of a span on the goroutine are not the user's.
		var own []label
		for _, l := range entered.List {
			if isSpanLabel(l.Key) {
				own = append(own, l)
			}
		}
		entered = &labelMap{List: withUserLabels(own, found, entered)}
	}
	b := blockOf(entered)
	if b == nil {
		goruntime.SetLabels(entered)
		return func() { goruntime.SetLabels(live(found)) }
	}
	// An heir, so that the labels stay when spans within end, though the span
	// that they belong to may have ended.
	goruntime.SetLabels(b.enterHeir())
	return func() {
		b.origin.leaveHeir()
		goruntime.SetLabels(live(found))
	}
}
