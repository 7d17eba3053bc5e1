// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

// Package exectrace tells exactly where the time of a span went, and who ended each of its
// waits, by Go's execution traces.
//
// Sampling says roughly where a span waited. An execution trace has every wait, with the
// goroutine that ended it: "waited 30 ms for a mutex that span `refresh cache` held, which
// meanwhile slept 20 ms in its child `load from disk`".
//
// [Analyze] reads a trace from anywhere: a file of /debug/pprof/trace, or what a
// [runtime/trace.FlightRecorder] wrote.
//
//	curl -o trace.out 'http://localhost:6060/debug/pprof/trace?seconds=5'
//	spanprof trace trace.out
//
// [Start] does so all the time: it owns the process's flight recorder. When a slow span ends, it
// reads the last seconds and gives the store where the time went; the page shows it with the
// span. Directory examples/exacttimes has a program to try it with.
//
//	p, err := inprocess.Start(tp)
//	...
//	r, err := exectrace.Start(tp, p.Store())
//	...
//	defer r.Shutdown(ctx)
//	p.AddCounters(r.Counters())
//
// For package ebpfbridge/receiver, [Recorder.Threads] tells which span was on which thread
// when, so that the samples of an eBPF agent are placed by more than its labels.
//
// # What recording costs
//
// About 20 ns for each byte of trace and 0.7 us a second for each goroutine: some 2 % of CPU
// for a service that uses 2 ms of CPU a request, more than twice the CPU for one that does
// nothing but channel operations. [WithBudget] bounds it, by default to 1 % of a core: beyond
// that, recording pauses. [Recorder.Status], [Recorder.Counters], metrics and otel.Handle say
// so. One recording is read at most in 10 s, for all spans that were slow within a second.
//
// # What it does to others
//
// Go has one flight recorder for each process: where another one is on, Start waits for its
// end. Execution traces of runtime/trace.Start and /debug/pprof/trace run beside it. When
// recording pauses or stops, it has a trace of its own on for some milliseconds, in which
// a Start of somebody else fails. While another trace is on, it does not stop: the
// runtime might end that one too. [Status] has the error [ErrForeignTrace] then. Whatever
// calls runtime/trace.Stop without a trace of its own ends the recording: it begins anew
// within a second or so, or when the budget is met again.
//
// Before Go 1.27 the runtime dies of a name with more than 65,000 bytes while a trace is on.
// spanprof.NewTracerProvider gives it the beginning of such a span name; where the SDK's
// provider is not wrapped, or no trace is on when the span starts, the span keeps the beginning
// alone, which [Recorder.Counters] counts. Nothing guards the spans of other providers, nor
// the names that a program itself gives to tasks and regions of runtime/trace: a program that
// makes such names needs Go 1.27.
//
// # Which spans
//
// OpenTelemetry's SDK makes a task of package runtime/trace of each span that is recorded
// while a trace is on. Package spanprof adds the span's id to local roots. Without spanprof
// the spans have names and no ids. Spans that are not recorded are not in a trace: as the
// ones that ended a wait they have a stack and no name.
//
// # What the numbers mean
//
// The states of a span on the goroutine that it began on add up to its duration, and what
// is missing is listed as a [Hole]. Each further goroutine that worked for the span has
// sums of its own.
//
// "Running" is the time on a thread. It includes what the operating system took away: by
// other processes, or by a limit of the container. "Runnable" is the time in which the
// goroutine was ready and no thread had room for it.
//
// A trace says who ended a wait. It does not say since when a lock was held, which case of
// a select was taken, or what a remote peer did. What a [Blocker] did is what its goroutine
// did during the wait.
package exectrace
