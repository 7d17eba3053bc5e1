// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package viewer

import (
	"time"

	"github.com/spanprof/spanprof/viewer/internal/answer"
)

// Status describes the profiler that feeds the viewer's store.
type Status struct {
	// Running reports whether CPU is being profiled. If not, nothing can be flushed.
	// Without a Message the viewer then shows that profiling has stopped, or that it is off.
	Running bool
	// Host reports whether the samples are an eBPF agent's, from whole processes. The
	// viewer's process runs no spans, and samples have them as labels only.
	Host bool
	// WindowEnd is when the samples of the open CPU window arrive, zero without one.
	WindowEnd time.Time
	// Message is a sentence about a fault, such as another CPU profile; it is empty if
	// there is none.
	Message string
	// Counters are shown unchanged, in this order.
	Counters []Counter
	// SelfCheck is the result of package inprocess. The viewer shows none if it is zero.
	SelfCheck SelfCheck
}

// SelfCheck is the result of checks of what makes spans and profiles.
type SelfCheck struct {
	// Checks is how many checks were made.
	Checks int
	// Findings has one entry per check that found something, wrong ones first.
	Findings []Finding
	// Gaps is why CPU was not profiled all the time, for spans that ran meanwhile. It
	// is empty if unknown.
	Gaps string
	// SpansStarted is about how many spans were started, SpansSampled about how many of
	// them are sampled. Only sampled spans are labelled.
	SpansStarted, SpansSampled uint64
}

// Finding is the result of one check.
type Finding struct {
	// ID names the check, in kebab-case.
	ID string
	// Severity is "wrong" for a mistake, "note" for what the program may intend.
	Severity string
	// Seen describes what was found, Do what to do about it.
	Seen, Do string
}

// Counter is a number that the viewer shows beside its status, such as how
// many profiles were dropped.
type Counter struct {
	Name  string
	Value uint64
	// Unit is "nanoseconds" or "bytes"; empty for a count.
	Unit string
}

// currentStatus returns the profiler's status for answers, nil without WithStatus,
// WithFlush and WithRunning.
func (h *handler) currentStatus() *answer.Status {
	if h.status == nil && h.flush == nil && h.running == nil {
		return nil
	}
	out := &answer.Status{CanFlush: h.flush != nil, CanListRunning: h.running != nil, Now: time.Now()}
	if h.status == nil {
		return out
	}
	s := h.status()
	out.Running = &s.Running
	out.CanFlush = out.CanFlush && s.Running
	out.WindowEnd = s.WindowEnd
	out.Message, out.Host = s.Message, s.Host
	for _, c := range s.Counters {
		out.Counters = append(out.Counters, answer.Counter(c))
	}
	out.SelfCheck = s.SelfCheck.answer()
	return out
}

func (s *SelfCheck) answer() *answer.SelfCheck {
	if s.Checks == 0 {
		return nil
	}
	out := &answer.SelfCheck{Checks: s.Checks, Findings: []answer.Finding{}, Gaps: s.Gaps, Started: s.SpansStarted, Sampled: s.SpansSampled}
	for _, f := range s.Findings {
		out.Findings = append(out.Findings, answer.Finding(f))
	}
	return out
}
