// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package selfcheck

import "time"

// Facts is what is known of a program's provider, labels, profiler and store. A zero value
// is one that nothing is found in: no profiler, no spans.
type Facts struct {
	// Disabled names the variable of the environment that switches everything off, "" for
	// none.
	Disabled string

	Profiler Profiler
	Wall     Wall
	Provider Provider
	Labels   Labels
	Spans    Spans
	Store    Store
	// Failing are the destinations that fail now.
	Failing []Failing
}

// Profiler is what the profiler does.
type Profiler struct {
	// Running and NotStarted say whether it runs, and whether Start was never called.
	Running, NotStarted bool
	// CPU, Mutex and Block say that the kind is measured, None that none is.
	CPU, Mutex, Block, None bool
	// Profilers is how many Profilers of the process measure the CPU.
	Profilers int
	// CPUIdle says that no CPU window is open, State why in words.
	CPUIdle bool
	State   string
	// Foreign says that another CPU profile is known to run, Found how often one was
	// found, Stops how often something else has stopped the profiler's own.
	Foreign      bool
	Found, Stops uint64
	// Fallback says why the CPU is not sampled at the rate asked for, "" if it is.
	Fallback string
	// Dropped is the number of CPU samples that are in no profile.
	Dropped uint64
	// Edges is how many CPU windows have ended, Unmeasured the time between them.
	Edges      uint64
	Unmeasured time.Duration
	// MutexFraction is what the runtime has. BlockRate says that the option is given,
	// BlockEvents how many stacks have blocked, Windows how many windows have ended.
	MutexFraction int
	BlockRate     bool
	BlockEvents   int
	Windows       uint64
}

// Wall is what the kind wall does.
type Wall struct {
	// Measured says that the kind is.
	Measured bool
	// Rounds were taken, Skipped were not because of the budget.
	Rounds, Skipped uint64
	// Goroutines is how many there are.
	Goroutines int
}

// Provider is what is known of the tracer provider that was given, and of the global one.
type Provider struct {
	// Given says that there is one, Wrapped that it is package spanprof's.
	Given, Wrapped bool
	// Global is what otel.GetTracerProvider returns, beside the one given.
	Global Global
}

// Global is which provider otel.GetTracerProvider returns.
type Global int

// The global providers that are told apart.
const (
	// GlobalUnset is none: otel.SetTracerProvider was not called.
	GlobalUnset Global = iota
	// GlobalGiven is the provider given, or package spanprof's wrapper of it.
	GlobalGiven
	// GlobalInner is what package spanprof wraps, without the wrapper.
	GlobalInner
	// GlobalOtherSDK is another provider of the SDK or of package spanprof.
	GlobalOtherSDK
	// GlobalUnknown is one of another make, which may wrap ours.
	GlobalUnknown
)

// Labels is what labels spans in the process.
type Labels struct {
	// Wrappers is how many TracerProviders of package spanprof there are.
	Wrappers int
	// NoProfileID says that spans do not tell whether they are labelled.
	NoProfileID bool
	// PublicAPI says that runtime/pprof's public API alone sets labels.
	PublicAPI bool
	// Sampled and Unsampled is about how many spans were started.
	Sampled, Unsampled uint64
	// NamesFull is how many names of spans are told apart, where there are as many; 0
	// otherwise.
	NamesFull int
	// EndsElsewhere is how many spans ended on another goroutine, NoRoom how many got no
	// labels because too many were open.
	EndsElsewhere, NoRoom uint64
}

// Spans is what the store has seen of spans.
type Spans struct {
	// Ended is the number of spans recorded, NotKept of those that options leave out.
	Ended, NotKept int64
	// Tracers are those that spans came from.
	Tracers []Tracer
	// Running is the number of local roots that run, RunningLong of those that have been
	// running for Long; it may be bounded.
	Running, RunningLong int
	Long                 time.Duration
	// Named says that Service is known, the service.name of spans. Profiled are those of CPU
	// profiles, where they differ.
	Named    bool
	Service  string
	Profiled []string
	// Traced is how many requests for the page came within a span.
	Traced uint64
}

// Tracer is how many local roots of a tracer ended, and how many without labels.
type Tracer struct {
	Name              string
	Roots, Unlabelled int64
}

// Store is what the store has of profiles.
type Store struct {
	// CPU is the time of all samples, Labelled that of samples in spans.
	CPU, Labelled time.Duration
	// Windows is the number of windows held, Received, Evicted and Refused of those that
	// came, made room and did not fit.
	Windows                    int
	Received, Evicted, Refused int64
	MaxBytes                   int64
}

// Failing is a destination that fails.
type Failing struct{ Name, Why string }

// enoughSpans is how many spans are enough for the log.
const enoughSpans = 100

// EnoughCPU is how much sampled CPU time is enough for the log. Tests set it lower, before
// they check anything.
var EnoughCPU = 5 * time.Second

// enough says that a program has worked for long enough in spans to tell it about labels.
func (f *Facts) enough(spans int64) bool { return spans >= enoughSpans && f.Store.CPU >= EnoughCPU }
