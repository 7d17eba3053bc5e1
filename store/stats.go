// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package store

import "time"

// Stats says how full a Store is, what it has taken in and what it lost. All
// counts are cumulative except those that say "held".
type Stats struct {
	// Bytes is the memory held, as far as the store can tell: windows,
	// spans, the tables they share and the indexes. MaxBytes is its bound.
	Bytes, MaxBytes int64

	// SpansEnded is the number of spans that were recorded: local roots,
	// and spans with a profile of their own.
	SpansEnded int64
	// SpansWithSamples is the number of spans, evicted ones and ones still
	// running included, that had at least one CPU sample. A span whose
	// summary the store never gets may be counted again in a later window.
	SpansWithSamples int64
	// Spans is the number of ended spans held, Windows that of windows held
	// as a whole.
	Spans, Windows int
	// SpansRunning is the number of local roots that have not ended.
	SpansRunning int
	// SpansNotKept is the number of spans that ended and that WithMinDuration
	// or WithSampling does not keep.
	SpansNotKept int64
	// SpansEvicted is the number of spans that made room for newer ones.
	SpansEvicted int64

	// WindowsReceived is the number of profiles that were taken in,
	// WindowsEvicted of those that made room for newer ones.
	WindowsReceived, WindowsEvicted int64
	// ParseErrors is the number of profiles that were not valid pprof,
	// WindowsRefused that of profiles that were not taken in as they would
	// not fit into an empty store.
	ParseErrors, WindowsRefused int64

	// CPUTime is the time of all CPU samples taken in, CPUTimeLabelled of
	// those that carry a profile_id, a span_id or a span_name.
	CPUTime, CPUTimeLabelled time.Duration
}
