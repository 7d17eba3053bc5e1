// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package answer

import "time"

// Status is what the viewer was told about the profiler.
type Status struct {
	// Running is missing where the viewer was not told.
	Running *bool `json:"running,omitempty"`
	// Host says that spans are known by the labels of an eBPF agent's samples alone.
	Host        bool      `json:"host,omitempty"`
	WindowStart time.Time `json:"windowStart,omitzero"`
	WindowEnd   time.Time `json:"windowEnd,omitzero"`
	// WallIntervalNs is the mean time between two wall samples; 0 where it is
	// not known.
	WallIntervalNs int64     `json:"wallIntervalNs,omitempty"`
	Message        string    `json:"message,omitempty"`
	Counters       []Counter `json:"counters,omitempty"`
	// SelfCheck is missing where the viewer was told of none.
	SelfCheck *SelfCheck `json:"selfCheck,omitempty"`
	// CanFlush says that a POST to flush closes the window.
	CanFlush bool `json:"canFlush,omitempty"`
	// Now is the server's clock, to which the times belong.
	Now time.Time `json:"now"`
}

// Counter is a number beside the status.
type Counter struct {
	Name  string `json:"name"`
	Value uint64 `json:"value"`
	Unit  string `json:"unit,omitempty"`
}

// stopped reports whether no samples will come.
func (s *Status) stopped() bool { return s.Running != nil && !*s.Running }
