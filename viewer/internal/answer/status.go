// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package answer

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spanprof/spanprof/internal/termtext"
)

// Status is the state of the profiler, as the program gave it to the viewer.
type Status struct {
	// Running is missing where the program gave none.
	Running *bool `json:"running,omitempty"`
	// Host is set if the labels of an eBPF agent's samples are all that is known of spans.
	Host        bool      `json:"host,omitempty"`
	WindowStart time.Time `json:"windowStart,omitzero"`
	WindowEnd   time.Time `json:"windowEnd,omitzero"`
	// WallIntervalNs is the mean time between two wall samples; 0 where it is
	// not known.
	WallIntervalNs int64     `json:"wallIntervalNs,omitempty"`
	Message        string    `json:"message,omitempty"`
	Counters       []Counter `json:"counters,omitempty"`
	// SelfCheck is missing where the program gave none.
	SelfCheck *SelfCheck `json:"selfCheck,omitempty"`
	// CanFlush is set if a POST to flush closes the window.
	CanFlush bool `json:"canFlush,omitempty"`
	// CanListRunning is set if there is a page running.
	CanListRunning bool `json:"canListRunning,omitempty"`
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

// wrong is the severity of mistakes. Package selfcheck defines it.
const wrong = "wrong"

// SelfCheck is the result of the checks of what makes spans and profiles.
type SelfCheck struct {
	Checks   int       `json:"checks"`
	Findings []Finding `json:"findings"`
	// SampledShare is the share of spans that are sampled, and so labelled. UnlabelledShare
	// is the share of CPU time outside of spans. Each is nil without a whole.
	SampledShare    *float64 `json:"sampledShare,omitempty"`
	UnlabelledShare *float64 `json:"unlabelledShare,omitempty"`
	// Started is about how many spans were started, Sampled about how many of them are sampled.
	Started uint64 `json:"-"`
	Sampled uint64 `json:"-"`
	// Gaps is why CPU was not profiled all the time, "" if unknown.
	Gaps string `json:"-"`
}

// Finding is the result of a check.
type Finding struct {
	ID       string `json:"id"`
	Severity string `json:"severity"`
	Seen     string `json:"seen"`
	Do       string `json:"do"`
}

// text returns both sentences.
func (f *Finding) text() string { return f.Seen + " " + f.Do }

// selfCheck returns the result of the self-check, a zero value without one.
func (r *Reader) selfCheck() SelfCheck {
	if r.status == nil || r.status.SelfCheck == nil {
		return SelfCheck{}
	}
	return *r.status.SelfCheck
}

// verdict writes a line if no check finds a mistake; write lists the mistakes.
func (s *SelfCheck) verdict(b *strings.Builder) {
	switch {
	case s == nil:
	case len(s.Findings) == 0:
		fmt.Fprintf(b, "self-check: all %d checks pass\n", s.Checks)
	case !slices.ContainsFunc(s.Findings, func(f Finding) bool { return f.Severity == wrong }):
		fmt.Fprintf(b, "self-check: nothing is wrong; %s in log?format=text\n", termtext.Plural(len(s.Findings), "note"))
	}
}

// write writes the mistakes for a terminal. With all it also writes notes, shares, and a
// line if nothing was found.
func (s *SelfCheck) write(b *strings.Builder, all bool) {
	if s == nil {
		return
	}
	if all && len(s.Findings) == 0 {
		fmt.Fprintf(b, "check    all %d checks pass\n", s.Checks)
	}
	if shares := s.shares(); all && shares != "" {
		fmt.Fprintf(b, "check    %s\n", shares)
	}
	for i := range s.Findings {
		if f := &s.Findings[i]; all || f.Severity == wrong {
			termtext.Prose(b, "check", 9, fmt.Sprintf("%s (%s): %s", f.ID, f.Severity, f.text()))
		}
	}
}

// shares returns the shares of spans and CPU time in words, "" without both.
func (s *SelfCheck) shares() string {
	var parts []string
	if s.SampledShare != nil {
		parts = append(parts, fmt.Sprintf("%.1f %% of spans are sampled", 100**s.SampledShare))
	}
	if s.UnlabelledShare != nil {
		parts = append(parts, fmt.Sprintf("%.1f %% of CPU time is in no span", 100**s.UnlabelledShare))
	}
	return strings.Join(parts, ", ")
}
