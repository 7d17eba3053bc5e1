// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package viewer

import (
	"time"

	"github.com/spanprof/spanprof/internal/selfcheck"
	"github.com/spanprof/spanprof/viewer/internal/answer"
)

// Status is what the viewer shows of the profiler that feeds its store.
type Status struct {
	// Running says whether CPU is being profiled. Where it is not, nothing
	// can be flushed, and without a Message the viewer says that profiling
	// has stopped, or that it is off if no profile ever came.
	Running bool
	// Host says that the samples are an eBPF agent's, of whole processes that this one is
	// not: a span is known by the labels of samples alone.
	Host bool
	// WindowStart and WindowEnd bound the open CPU window; they are zero if there
	// is none. Its samples arrive at its end.
	WindowStart, WindowEnd time.Time
	// WallInterval is the mean time between two wall samples of one goroutine, 0
	// if wall time is not sampled. A span of duration d can be expected to have
	// d / WallInterval samples.
	WallInterval time.Duration
	// Message says in a sentence what is wrong, such as that another CPU profile
	// runs; it is empty if nothing is.
	Message string
	// Counters are shown unchanged, in this order.
	Counters []Counter
	// SelfCheck is what was checked and found, as inprocess.SelfCheck returns it. The
	// viewer shows none where it is zero.
	SelfCheck SelfCheck
}

// SelfCheck is the result of checks of what makes spans and profiles.
type SelfCheck struct {
	// Checks is how many checks were made.
	Checks int
	// Findings are those that found something, what is wrong first.
	Findings []Finding
	// Gaps says why CPU was not profiled all the time, for spans that ran meanwhile; it
	// is empty where that is not known.
	Gaps string
	// SpansStarted is about how many spans were started, and SpansSampled how many of
	// them are sampled, so that they are labelled. The viewer shows the share.
	SpansStarted, SpansSampled uint64
	// CPU is the CPU time of all samples that the store has received, CPUUnlabelled that of
	// samples in no span. The viewer shows the share.
	CPU, CPUUnlabelled time.Duration
}

// Finding is what a check has found.
type Finding struct {
	// ID names the check, in kebab-case.
	ID string
	// Severity is "wrong" for a mistake, "note" for what the program may want so.
	Severity string
	// Seen says in a sentence what is seen, Do what to do about it.
	Seen, Do string
}

// Counter is a number that the viewer shows beside its status, such as how
// many profiles were dropped.
type Counter struct {
	Name  string
	Value uint64
	// Unit is that of Value, "nanoseconds" or "bytes"; empty for a count.
	Unit string
}

// currentStatus returns what answers say about the profiler, nil if the viewer knows
// nothing of it.
func (h *handler) currentStatus() *answer.Status {
	if h.status == nil && h.flush == nil {
		return nil
	}
	out := &answer.Status{CanFlush: h.flush != nil, Now: time.Now()}
	if h.status == nil {
		return out
	}
	s := h.status()
	out.Running = &s.Running
	out.CanFlush = out.CanFlush && s.Running
	out.WindowStart, out.WindowEnd = s.WindowStart, s.WindowEnd
	out.WallIntervalNs = s.WallInterval.Nanoseconds()
	out.Message, out.Host = s.Message, s.Host
	for _, c := range s.Counters {
		out.Counters = append(out.Counters, answer.Counter(c))
	}
	out.SelfCheck = h.selfCheck(s.SelfCheck)
	return out
}

// selfCheck returns what was found, and what the viewer finds itself.
func (h *handler) selfCheck(s SelfCheck) *answer.SelfCheck {
	if s.Checks == 0 {
		return nil
	}
	out := &answer.SelfCheck{Checks: s.Checks, Findings: []answer.Finding{}, Gaps: s.Gaps}
	out.SampledShare = share(float64(s.SpansSampled), float64(s.SpansStarted))
	out.UnlabelledShare = share(float64(s.CPUUnlabelled), float64(s.CPU))
	for _, f := range s.Findings {
		out.Findings = append(out.Findings, answer.Finding(f))
	}
	for _, f := range selfcheck.Run(&selfcheck.Facts{Spans: selfcheck.Spans{Traced: h.traced.Load()}}) {
		out.Findings = append(out.Findings, answer.Finding{ID: f.ID, Severity: string(f.Severity), Seen: f.Seen, Do: f.Do})
	}
	return out
}

// share returns a part of a whole, nil where that is nothing.
func share(part, whole float64) *float64 {
	if whole <= 0 {
		return nil
	}
	s := min(1, max(0, part/whole))
	return &s
}
