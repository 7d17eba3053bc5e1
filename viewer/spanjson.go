// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package viewer

import (
	"time"

	"github.com/spanprof/spanprof/internal/labelkey"
	"github.com/spanprof/spanprof/store"
)

// spanJSON is a span as programs see it.
type spanJSON struct {
	ProfileID  string    `json:"profileId"`
	TraceID    string    `json:"traceId,omitempty"`
	ParentID   string    `json:"parentId,omitempty"`
	Name       string    `json:"name"`
	Service    string    `json:"service"`
	Start      time.Time `json:"start"`
	DurationNs int64     `json:"durationNs"`
	CPUNs      int64     `json:"cpuNs"`
	CPUSamples int64     `json:"cpuSamples"`
	// CPUInclusiveNs is CPUNs and that of the spans below it in this
	// process, where these have profiles of their own.
	CPUInclusiveNs int64 `json:"cpuInclusiveNs"`
	WallSamples    int64 `json:"wallSamples"`
	// SamplesHeld is how many samples Query finds now, of all kinds. None
	// where CPUSamples is not 0 means that the profile was evicted.
	SamplesHeld int64 `json:"samplesHeld"`
	// Running says that the span has not ended: DurationNs is so far.
	Running   bool   `json:"running"`
	Err       bool   `json:"err"`
	Status    string `json:"status,omitempty"`
	Manual    bool   `json:"manual"`
	LocalRoot bool   `json:"localRoot"`
	// SummaryMissing says that Start and DurationNs are those of profiles.
	SummaryMissing bool `json:"summaryMissing"`
	Complete       bool `json:"complete"`
	// Coverage is how much of the span's time the profiles held cover:
	// whole, partial, none or evicted.
	Coverage string `json:"coverage"`
	// Query is the FlameQL query for the span's profile: that of CPU, or of
	// wall time where samples of it are all that there is.
	Query string `json:"query"`
}

func newSpanJSON(s store.Span) spanJSON {
	q := newFlameQL(s.Service)
	if s.CPUSamples == 0 && s.WallSamples > 0 {
		q.typ, _ = profileTypeByName("wall")
	}
	return spanJSON{
		ProfileID:      s.ProfileID,
		TraceID:        s.TraceID,
		ParentID:       s.ParentID,
		Name:           s.Name,
		Service:        s.Service,
		Start:          s.Start,
		DurationNs:     s.Duration.Nanoseconds(),
		CPUNs:          s.CPU.Nanoseconds(),
		CPUSamples:     s.CPUSamples,
		CPUInclusiveNs: s.CPUInclusive.Nanoseconds(),
		WallSamples:    s.WallSamples,
		SamplesHeld:    s.SamplesHeld,
		Running:        s.Running,
		Err:            s.Err,
		Status:         s.Status,
		Manual:         s.Manual,
		LocalRoot:      s.LocalRoot,
		SummaryMissing: s.SummaryMissing,
		Complete:       s.Complete,
		Coverage:       s.Coverage.String(),
		Query:          q.with(labelkey.ProfileID, s.ProfileID).String(),
	}
}

// title is what the span is shown as. Work without a span is known by the id
// that the program gave it.
func (s spanJSON) title() string {
	switch {
	case s.Name != "":
		return s.Name
	case s.Manual || s.SummaryMissing:
		return s.ProfileID
	}
	return "(unnamed)"
}

// name is what a list shows beside the id.
func (s spanJSON) name() string {
	if title := s.title(); title != s.ProfileID {
		return title
	}
	return "(no span)"
}

// wall writes the wall time. Of work without a span's summary, only the windows
// it was seen in are known.
func (s spanJSON) wall() string {
	if s.Manual || s.SummaryMissing {
		return "-"
	}
	return formatValue(s.DurationNs, unitNanoseconds)
}
