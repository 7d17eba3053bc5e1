// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package receiver

import (
	"slices"
	"time"
)

// timelines are Timelines that know the truth of a process in a pid namespace of its own.
type timelines struct{ truth truth }

// inNamespace is what the process adds to the ids by which the agent knows its threads.
const inNamespace = 1 << 40

func (t timelines) SpanAt(thread int64, at time.Time) (id string, known bool) {
	return t.truth.at(thread-inNamespace, uint64(at.UnixNano()))
}

func (t timelines) ThreadsOf(id string, at time.Time) (list []int64) {
	for _, s := range t.truth {
		own := s.Thread + inNamespace
		if on, known := t.SpanAt(own, at); known && on == id && !slices.Contains(list, own) {
			list = append(list, own)
		}
	}
	return list
}
