// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package receiver

import "time"

// timelines are Timelines with the truth about a process.
type timelines struct{ truth truth }

func (t timelines) SpanAt(thread int64, at time.Time) (id string, known bool) {
	return t.truth.at(thread, uint64(at.UnixNano()))
}
