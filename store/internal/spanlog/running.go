// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package spanlog

import (
	"time"

	"go.opentelemetry.io/otel/sdk/resource"
)

// maxRunningSince bounds the walk of RunningSince, which keeps spans waiting.
const maxRunningSince = 4 * copyLen

// RunningSince returns how many local roots that have not ended started at t or before;
// 128 stands for more too.
func (l *Log) RunningSince(t time.Time) int {
	until := t.UnixNano()
	l.lock()
	defer l.mu.Unlock()
	n := 0
	// The list is in the order in which spans started. The walk ends at the first that
	// is younger: in a program that ends its spans, at once.
	for id := l.lists[runningList].first; id != 0 && n < maxRunningSince; id = l.row(id).next {
		if l.row(id).Start > until {
			break
		}
		n++
	}
	return n
}

// LastResource returns the resource of the span that came last, nil before there is one.
func (l *Log) LastResource() *resource.Resource {
	l.lock()
	defer l.mu.Unlock()
	return l.resource
}
