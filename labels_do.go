// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package spanprof

import (
	"context"

	"github.com/spanprof/spanprof/internal/goruntime"
)

func (runtimeLabeler) enter(ctx context.Context) entered {
	found, labels := goruntime.GoroutineLabels(), goruntime.ContextLabels(ctx)
	if labels == nil {
		return entered{found: found}
	}
	if labels != found && hasUserLabels(found) {
		// The ids of a span on the goroutine are not the user's.
		labels = &labelMap{List: withUserLabels(spanLabelsOf(labels), found, labels)}
	}
	b := blockOf(labels)
	if b == nil {
		putLabels(found, labels)
		if b = copiedFrom(labels); b != nil {
			b.heirs.enter()
		}
		return entered{found, b, nil}
	}
	// An heir, so that the labels stay when spans within end, though the span
	// that they belong to may have ended.
	putLabels(found, b.enterHeir())
	return entered{found, b.origin, nil}
}

func (runtimeLabeler) leave(e entered) {
	if e.heir != nil {
		e.heir.leaveHeir()
	}
	putLabels(goruntime.GoroutineLabels(), live(e.found))
	if e.heir != nil {
		e.heir.heirLeaves()
	}
}
