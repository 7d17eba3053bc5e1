// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package viewer

import (
	"context"
	"io"
	"runtime/debug"
	"time"

	"github.com/spanprof/spanprof/viewer/internal/answer"
)

// Option configures Handler. A nil Option does nothing.
type Option interface {
	apply(*config)
}

type optionFunc func(*config)

func (f optionFunc) apply(c *config) { f(c) }

type config struct {
	flush   func(context.Context) error
	status  func() Status
	hosts   []string
	program answer.Program
	// running lists what runs now; nil if the viewer has no such page.
	running func(now time.Time) []answer.Root
	// leaks writes the leaked goroutines; nil if the program cannot find them.
	leaks func(io.Writer) error
}

func newConfig(opts []Option) (c config) {
	for _, opt := range opts {
		if opt != nil {
			opt.apply(&c)
		}
	}
	return c
}

// WithFlush sets the function that a POST to flush calls, and shows a button for it.
// f closes the open window: when it returns, the window's samples are in the store.
// By default there is no such button.
//
// The context is the request's. f must be safe for concurrent use.
func WithFlush(f func(context.Context) error) Option {
	return optionFunc(func(c *config) { c.flush = f })
}

// WithStatus sets the function that returns the state of the profiler. By default
// the viewer shows none.
//
// f is called for every request for data and must be safe for concurrent use.
func WithStatus(f func() Status) Option {
	return optionFunc(func(c *config) { c.status = f })
}

// WithAllowedHosts adds host names under which the viewer answers, without port:
// "debug.example.com". "*" allows every name, which is safe only behind an
// authenticating proxy.
//
// By default only loopback names are allowed: localhost, *.localhost and the
// loopback addresses. Otherwise a web page could read profiles through a name that
// it resolves to this machine (DNS rebinding).
func WithAllowedHosts(hosts ...string) Option {
	return optionFunc(func(c *config) {
		for _, host := range hosts {
			c.hosts = append(c.hosts, hostname(host))
		}
	})
}

// SourceCode is where the source code of the profiled program is.
type SourceCode struct {
	// Build is the build information of the program, such as of debug.ReadBuildInfo. Its
	// module versions and its VCS revision select the version of a file. By default only
	// files with a version in their paths have links, as files of the module cache have.
	Build *debug.BuildInfo
	// URL is a template for files outside the standard library: {module}, {version},
	// {path} and {line} are replaced. By default links lead to GitHub and pkg.go.dev.
	URL string
	// Directory has the source of the main module. The page shows lines of its Go and
	// assembly files to everybody with access to the viewer. By default it shows none.
	Directory string
}

// WithSourceCode sets where the source code of the profiled program is. The page links the
// lines of functions to it. By default nothing is known of the program.
func WithSourceCode(code SourceCode) Option {
	return optionFunc(func(c *config) { c.program.Code = answer.Code(code) })
}

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
	out.Running, out.CanFlush = &s.Running, out.CanFlush && s.Running
	out.WindowEnd, out.Message, out.Host = s.WindowEnd, s.Message, s.Host
	for _, c := range s.Counters {
		out.Counters = append(out.Counters, answer.Counter(c))
	}
	if check := s.SelfCheck; check.Checks > 0 {
		out.SelfCheck = &answer.SelfCheck{Checks: check.Checks, Findings: []answer.Finding{}, Gaps: check.Gaps, Started: check.SpansStarted, Sampled: check.SpansSampled}
		for _, f := range check.Findings {
			out.SelfCheck.Findings = append(out.SelfCheck.Findings, answer.Finding(f))
		}
	}
	return out
}
