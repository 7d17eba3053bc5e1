// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package viewer

import "time"

// statusJSON is the state of the profiler as programs see it.
type statusJSON struct {
	// Running is missing where the viewer was not told.
	Running     *bool     `json:"running,omitempty"`
	WindowStart time.Time `json:"windowStart,omitzero"`
	WindowEnd   time.Time `json:"windowEnd,omitzero"`
	// WallIntervalNs is the mean time between two wall samples.
	WallIntervalNs int64         `json:"wallIntervalNs,omitempty"`
	Message        string        `json:"message,omitempty"`
	Counters       []counterJSON `json:"counters,omitempty"`
	// CanFlush says that a POST to flush closes the window.
	CanFlush bool `json:"canFlush,omitempty"`
	// Now is the server's clock, to which the times belong.
	Now time.Time `json:"now"`
}

type counterJSON struct {
	Name  string `json:"name"`
	Value uint64 `json:"value"`
	Unit  string `json:"unit,omitempty"`
}

// statusJSON returns nil where nobody told the viewer what the state is.
func (h *handler) statusJSON() *statusJSON {
	if h.status == nil && h.flush == nil {
		return nil
	}
	out := &statusJSON{CanFlush: h.flush != nil, Now: time.Now()}
	if h.status == nil {
		return out
	}
	s := h.status()
	out.Running = &s.Running
	out.CanFlush = out.CanFlush && s.Running
	out.WindowStart, out.WindowEnd = s.WindowStart, s.WindowEnd
	out.WallIntervalNs = s.WallInterval.Nanoseconds()
	out.Message = h.statusMessage(s)
	for _, c := range s.Counters {
		out.Counters = append(out.Counters, counterJSON(c))
	}
	return out
}

// running reports whether windows may be open, as far as the viewer was told.
func (h *handler) running() bool { return h.status == nil || h.status().Running }

// statusMessage says in a sentence what is off; "" if nothing is.
func (h *handler) statusMessage(s Status) string {
	switch {
	case s.Message != "" || s.Running:
		return s.Message
	case h.store.Stats().WindowsReceived > 0:
		return "Profiling has stopped: no more samples come."
	}
	return "Profiling is off: no samples come."
}
