// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

// Package profiler measures the process it runs in, all the time, and gives what
// it measured to an exporter: one profile for each window of time and each kind.
//
// # Use
//
//	p, err := profiler.New(exp)
//	if err != nil {
//		return err
//	}
//	if err := p.Start(); err != nil {
//		return err
//	}
//	defer p.Shutdown(ctx) // exports the last window
//
// The exporter is a store for the viewer, a network exporter, or several of
// them behind [exporter.NewMulti]. The profiler owns it and shuts it down. It
// never waits for it: when 16 profiles are waiting, the oldest is dropped and
// counted in [Status].
//
// # What is measured
//
//   - [exporter.KindCPU]: on-CPU time, sampled 100 times per second of CPU. The
//     samples carry the goroutine labels (see [runtime/pprof.Do]), by which the
//     spans that package spanprof labels find their part.
//   - [exporter.KindHeap]: what the window allocated and what is in use at its
//     end. The runtime knows allocations as of the last garbage collection, so
//     those of the last moments are part of a later window.
//
// Both are on unless [WithKinds] says otherwise. It can name one more:
//
//   - [exporter.KindWall]: where the goroutines of spans spent their time, on CPU
//     or waiting for a channel, a lock, the network or the disk.
//
// # Windows
//
// A profile can only be read by ending it, and about 20 ms of samples are lost
// until the next one runs. With the default window of ten seconds that is
// 0.2 %. A shorter one, by [WithWindow], shows results sooner and loses more;
// [Profiler.Flush] shows them now, at the price of one more end.
//
// Windows of one kind do not overlap. They end on a grid that begins at Start,
// and there are windows without samples: they say that the process was idle.
//
// # The process has one CPU profiler
//
// The Go runtime keeps one CPU profile at a time, and the program comes first:
//
//   - While this package profiles, StartCPUProfile of the program returns an
//     error, and /debug/pprof/profile of net/http/pprof answers 500.
//   - A CPU profile of the program is never ended. While it runs, CPU windows
//     are skipped and counted; the next window end tries again.
//   - While a CPU profile of the program is being stopped and its writer does not
//     return, all windows stay as they are: [Profiler.Start] waits for it half
//     a second, [Profiler.Flush] and [Profiler.Shutdown] until their contexts end.
//   - When something else stops a profile that it did not start, the window is
//     exported with what it had until then, and the next begins in its turn.
//
// [Profiler.Status] says in words which of these it is, and otel.Handle hears of
// every change for the worse, once.
//
// # Wall time
//
//	profiler.New(exp, profiler.WithKinds(exporter.KindCPU, exporter.KindWall))
//
// The stacks of all goroutines are looked at again and again, and those with one
// of the labels span_id, profile_id and span_name are counted for the time since
// the round before: the time that a span's goroutines have in the profile is the
// time that they took, by up to the time between two rounds more or less. The
// leaf of a stack is what it waits for: runtime.chanrecv, runtime.selectgo,
// time.Sleep, runtime.semacquire1 of a lock, runtime.netpollblock, a system call.
//
// Rounds are taken as often as [WithWallBudget] allows, 1 % of a core by
// default, but not more than 100 times a second on average, at irregular
// intervals. A round costs about 1 us for each goroutine of the process,
// labelled or not, on the Go versions whose internals are known, and 10 us on
// others. [WallStatus] has the time between rounds, the number of those that the
// budget did not allow, and what all took. Spans that are shorter than the time
// between rounds seldom have a sample, and then one that weighs more than they
// took: they are right in the sum over many.
//
// # Limits
//
//   - The CPU profiler samples at 100 Hz. A loop that takes a multiple of 10 ms
//     of CPU per turn runs in step with it, and its parts are over- or
//     underestimated: a real split of 70 to 30 has been measured as 87 to 13.
//   - Only CPU and wall samples have labels, so that only they belong to spans.
//     The runtime puts none on heap profiles (https://go.dev/issue/23458).
//   - Code that nobody labelled, such as the garbage collector's own workers, is
//     in the profile without labels.
//   - A program that calls runtime.SetCPUProfileRate(0) while a window is open
//     leaves runtime/pprof in a state that looks like a profile of its own:
//     windows are skipped until it calls StopCPUProfile.
//
// # Environment
//
// When OTEL_SDK_DISABLED or SPANPROF_DISABLED is "true", nothing is measured;
// Start, Flush and Shutdown return nil, and Shutdown shuts the exporter down.
package profiler

// For developers: profiler.go has the life of a Profiler and its loop; cpu.go
// and cpuwindow.go share the runtime's CPU profiler, heap.go takes heap deltas,
// wall.go makes windows of what package internal/wall samples, all behind the
// interface in sampler.go; grid.go is the schedule; option.go is what can be set.
