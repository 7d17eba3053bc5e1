// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

// Package exectrace shows exactly where the time of a span went, from Go's execution traces.
// Each wait has the goroutine that ended it.
//
// Sampling shows roughly where a span waited. An execution trace has every wait, with the
// goroutine that ended it: "waited 30 ms for a mutex held by span `refresh cache`, which
// slept 20 ms in its child `load from disk`".
//
// [Analyze] reads any trace: a file of /debug/pprof/trace or of a
// [runtime/trace.FlightRecorder].
//
//	curl -o trace.out 'http://localhost:6060/debug/pprof/trace?seconds=5'
//	spanprof trace trace.out
//
// [Start] owns the process's flight recorder. When a slow span ends, it reads the last seconds
// and gives the store the exact times. The page shows them with the span. Directory
// examples/exacttimes has a program to try.
//
//	p, err := inprocess.Start(tp)
//	if err != nil {
//		return err
//	}
//	r, err := exectrace.Start(tp, p.Store())
//	if err != nil {
//		return err
//	}
//	defer r.Shutdown(ctx)
//	p.AddCounters(r.Counters())
//
// For package ebpfbridge/receiver, [Recorder.Threads] has the span of each thread at each
// time. It places an eBPF agent's samples where labels are ambiguous.
//
// # Cost
//
// [WithBudget] bounds the cost, by default to 1 % of a core. A recording is read at most once in
// 10 s. Recording goes on only while the budget can pay for the next reading too. Otherwise it
// stops until a minute of the budget is saved up. [Recorder.Status] and otel.Handle have the
// reason, [Recorder.Counters] the losses.
//
// # Other code
//
// Go has one flight recorder for each process: while another one is on, Start tries again.
// Execution traces of runtime/trace.Start and /debug/pprof/trace work beside it. While one is on,
// the recorder stays on, because its stop might end that trace: see [ErrForeignTrace].
//
// Before Go 1.27 the runtime crashes on names of more than 65,000 bytes while a trace is on.
// Start shortens the names of its provider's spans only.
//
// # Spans
//
// OpenTelemetry's SDK makes a task of package runtime/trace for each recorded span while a
// trace is on. Package spanprof adds ids to local roots. Spans that are not recorded are not in
// a trace: as blockers they have a stack and no name.
//
// # Numbers
//
// The states of a span on its first goroutine, and its holes, add up to its duration. Other
// goroutines that worked for it have sums of their own.
//
// "Running" is the time on a thread. It includes time that the operating system gave to other
// processes, or withheld by a limit. "Runnable" is the time of a ready goroutine without a thread.
//
// A trace lacks the time at which a lock was taken, and the choice of a select. It has nothing of
// remote peers. A [Blocker] has what its goroutine did during the wait.
package exectrace
