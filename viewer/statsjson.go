// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package viewer

import "github.com/spanprof/spanprof/store"

// statsJSON is how full the store is, and what it lost.
type statsJSON struct {
	Bytes            int64 `json:"bytes"`
	MaxBytes         int64 `json:"maxBytes"`
	Spans            int   `json:"spans"`
	SpansRunning     int   `json:"spansRunning"`
	Windows          int   `json:"windows"`
	SpansEnded       int64 `json:"spansEnded"`
	SpansWithSamples int64 `json:"spansWithSamples"`
	SpansEvicted     int64 `json:"spansEvicted"`
	SpansNotKept     int64 `json:"spansNotKept"`
	WindowsReceived  int64 `json:"windowsReceived"`
	WindowsEvicted   int64 `json:"windowsEvicted"`
	// ParseErrors counts the profiles that were no pprof, WindowsRefused those
	// that would not fit into an empty store.
	ParseErrors    int64 `json:"parseErrors"`
	WindowsRefused int64 `json:"windowsRefused"`
	CPUNs          int64 `json:"cpuNs"`
	CPULabelledNs  int64 `json:"cpuLabelledNs"`
}

func newStatsJSON(s store.Stats) statsJSON {
	return statsJSON{
		Bytes:            s.Bytes,
		MaxBytes:         s.MaxBytes,
		Spans:            s.Spans,
		SpansRunning:     s.SpansRunning,
		Windows:          s.Windows,
		SpansEnded:       s.SpansEnded,
		SpansWithSamples: s.SpansWithSamples,
		SpansEvicted:     s.SpansEvicted,
		SpansNotKept:     s.SpansNotKept,
		WindowsReceived:  s.WindowsReceived,
		WindowsEvicted:   s.WindowsEvicted,
		ParseErrors:      s.ParseErrors,
		WindowsRefused:   s.WindowsRefused,
		CPUNs:            s.CPUTime.Nanoseconds(),
		CPULabelledNs:    s.CPUTimeLabelled.Nanoseconds(),
	}
}
