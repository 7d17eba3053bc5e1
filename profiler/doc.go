// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

// Package profiler measures the process that it runs in, all the time. It gives an exporter
// one profile for each window of time and each kind.
//
//	p, err := profiler.New(exp) // measures from now on
//	if err != nil {
//		return err
//	}
//	defer p.Shutdown(context.WithoutCancel(ctx)) // exports the last window
//
// A ctx that ends with the program has ended by then, and the last window would be lost with
// it. Without an end Shutdown takes as long as the exporter; context.WithTimeout limits it.
//
// The exporter is a store for the viewer, a network exporter, or several behind
// [exporter.NewMulti]. The Profiler owns it and shuts it down. It never waits for it:
// profiles wait in a queue, see package exporter.
//
// # Kinds
//
//   - [exporter.KindCPU]: on-CPU time, sampled 100 times per second of CPU. Samples carry the
//     goroutine labels, see [runtime/pprof.Do]. The labels of package spanprof assign them to
//     spans.
//   - [exporter.KindHeap]: allocations in the window, and memory in use at its end. The runtime
//     counts allocations up to the last garbage collection; later ones are in a later window.
//   - [exporter.KindGoroutine]: the goroutines at the end of the window, by stack and labels. It
//     costs about 7 us per goroutine.
//   - [exporter.KindMutex] and [exporter.KindBlock]: contention in the window. The runtime
//     counts nothing until the program calls [runtime.SetMutexProfileFraction] or
//     [runtime.SetBlockProfileRate].
//   - [exporter.KindWall]: where the goroutines of spans spent their time, on CPU or waiting for
//     a channel, a lock, the network or the disk.
//
// CPU and heap are on by default, see [WithKinds].
//
// # Windows
//
// Each CPU sample has the time at which it was taken, and windows are cut by these times. So
// are the profiles of [Profiler.Profile], which describes what that costs.
//
// Samples are compared with the end of the span in their labels. A goroutine keeps the labels
// that it was started with, also after the end of the span. Its later samples have the labels
// from before the span, and the label ended_span_id. They do not count for the span. Work in
// spanprof.Go and spanprof.Do counts for theirs.
//
// On an unrecognised Go version, and with the build tag spanprof_public, runtime/pprof reads
// the samples, without times. Then samples after the end of a span count for it, and each end
// of a window stops the profile: for about 20 ms, and longer if all cores are busy.
//
// Windows of one kind do not overlap. Apart from Flush they end on a grid with a random phase.
// So programs that start together do not export together.
//
// # The process has one CPU profiler
//
// The Go runtime has one CPU profile at a time, and the program takes precedence:
//
//   - While this package profiles, StartCPUProfile of the program returns an error, and
//     /debug/pprof/profile of net/http/pprof answers 500. [Profiler.Profile] and package
//     profhttp share the samples instead.
//   - A CPU profile of the program is never ended. While it runs, CPU windows are skipped and
//     counted. A start is tried again at the end of each window.
//   - While such a profile is being stopped and its writer is stuck, all of runtime/pprof
//     waits. Windows of other kinds go on.
//   - If something else stops our profile, the rest of the window has no samples. StopCPUProfile
//     takes up to 0.2 s for it, and up to a second just after the start of a window.
//   - If something else handles SIGPROF there are no samples.
//
// [Status].CPU is the present state in words, and otel.Handle gets each change for the worse
// once.
//
// # Wall time
//
// A round looks at the stacks of all goroutines. A goroutine with the label span_id, profile_id
// or span_name counts. It has half of the time since the round before, and half of the time
// until the next. So the error of a span's wall time is up to the time between two
// rounds. The leaf of a waiting goroutine is what it waits for: runtime.chanrecv,
// runtime.selectgo, time.Sleep, runtime.netpollblock, a system call.
//
// With Go 1.26 and 1.27 goroutines do not count for a span that has ended. The labels of
// pprof.Do count while a goroutine carries them.
//
// [WithWallBudget] limits rounds, to 1 % of a core by default and to 100 a second on average. A
// round costs about 1 us for each goroutine of the process, and 10 us with other Go versions.
// Spans shorter than the time between rounds seldom have a sample, and then one that is longer
// than they were: they are right in the sum over many.
//
// Time that no round watched is in no profile: see [WallStatus]. A comment of each profile has
// the times between rounds. The viewer estimates errors from them.
//
// # Limits
//
//   - A loop that takes a multiple of 10 ms of CPU per turn can run in step with the CPU
//     profiler: a real split of 70 to 30 was measured as 87 to 13.
//   - A round of wall time stops a running goroutine at its next safepoint. So its leaf can be
//     sha256.(*Digest).Sum where the CPU profile has the assembly under it.
//   - Heap, mutex and block profiles have no labels (https://go.dev/issue/23458). Only work
//     under spanprof.Handler and spanprof.Do has span_name there.
//   - Work without labels, such as the garbage collector's, is in the profile without labels.
//   - runtime.SetCPUProfileRate(0) of the program during a window leaves runtime/pprof in use.
//     CPU windows are skipped until the program calls StopCPUProfile. It could be a profile of
//     the program, so we do not end it.
//
// # Environment
//
// With OTEL_SDK_DISABLED or SPANPROF_DISABLED set to "true" nothing is measured; Flush and
// Shutdown return nil, and Shutdown shuts the exporter down.
package profiler

// For developers: profiler.go has the life of a Profiler, and loop.go its loop. stream.go cuts
// the measurement of a kind into pieces, for windows and for the callers of profile.go;
// merge.go adds pieces. cpu.go owns the CPU profiler, delta.go has heap, mutex, block and
// goroutines, wall.go the wall time. running.go lists the goroutines of open spans.
// internal/cpulog reads CPU samples and internal/wall takes rounds.
