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
//	defer p.Shutdown(context.WithoutCancel(ctx)) // exports the last window
//
// A ctx that ends with the program, by a signal for example, has ended by then, and
// the last window would be lost with it. Without its end Shutdown takes as long as
// the exporter; context.WithTimeout around it sets a limit.
//
// The exporter is a store for the viewer, a network exporter, or several of
// them behind [exporter.NewMulti]. The profiler owns it and shuts it down. It
// never waits for it: each destination has a queue, where profiles wait and, when it is
// full, the oldest are dropped. [Status] has the account of each; see package exporter.
//
// # What is measured
//
//   - [exporter.KindCPU]: on-CPU time, sampled 100 times per second of CPU, or as
//     [WithCPURate] says. The samples carry the goroutine labels (see [runtime/pprof.Do]), by which the
//     spans that package spanprof labels find their part.
//   - [exporter.KindHeap]: what the window allocated and what is in use at its
//     end. The runtime knows allocations as of the last garbage collection, so
//     those of the last moments are part of a later window.
//   - [exporter.KindGoroutine]: how many goroutines there are at the end of the
//     window, by stack and labels. It costs about 7 us per goroutine.
//   - [exporter.KindMutex] and [exporter.KindBlock]: what the window waited.
//     The runtime counts nothing unless it is told to: by the program, or for
//     the time of measuring by [WithMutexFraction] and [WithBlockRate].
//   - [exporter.KindWall]: where the goroutines of spans spent their time, on CPU
//     or waiting for a channel, a lock, the network or the disk.
//
// CPU and heap are on unless [WithKinds] says otherwise. [Profiler.Enable] and
// [Profiler.Disable] change that while the program runs.
//
// # Windows
//
// Each CPU sample has the time at which it was taken, and windows are cut by it while the
// runtime goes on: no sample is lost at the end of one, nor for a [Profiler.Flush] or a
// caller of [Profiler.Profile]. The times are those of the runtime's clock, counted from
// the time of the day at the beginning of the window. So when the system's clock is set
// meanwhile, the samples of the open window have the old time, and the next begins with
// the new one.
//
// By its time a sample is compared with the end of the span whose labels it has. A
// goroutine keeps the labels that it was started with, also when the span has ended: what it does
// from then on has the labels from before the span, and the label ended_span_id with
// the span's id. It does not count for the span. What spanprof.Go and spanprof.Do
// run counts for theirs.
//
// Where runtime/pprof reads the samples, as CPUFallback of [Status] says, there are no
// times, what a goroutine does after its span counts for it, and a profile has to be ended
// to be had: samples are lost until the next one runs. That takes about 20 ms where
// a core is free, 0.2 % of the default window of ten seconds, and more where all are busy,
// because runtime/pprof's goroutine has to wait for one: on two cores some 55 ms with
// 6 busy goroutines and 370 to 900 ms with 64. [Status] has the sum.
//
// Windows of one kind do not overlap. Apart from Flush they end on a grid. The
// first end comes at random, up to 1.1 windows after Start, so that programs
// that are started together do not all export at the same moment. There are
// windows without samples: they say that the process was idle.
//
// # The process has one CPU profiler
//
// The Go runtime keeps one CPU profile at a time, and the program comes first:
//
//   - While this package profiles, StartCPUProfile of the program returns an
//     error, and /debug/pprof/profile of net/http/pprof answers 500. Both have
//     a replacement that shares the samples: [Profiler.Profile], and the
//     handlers of package profhttp. A window that they cut into pieces is
//     exported as one profile, the sum of its pieces.
//   - A CPU profile of the program is never ended. While it runs, CPU windows
//     are skipped and counted. When it ends the next one of ours begins within
//     some seconds: whether it has ended can only be tried, and is tried at
//     random times, at first after a second and later about every eight.
//   - While a CPU profile of the program is being stopped and its writer does not
//     return, all of runtime/pprof waits. Windows of other kinds go on.
//     [Profiler.Start] waits for it half a second, [Profiler.Flush] until its
//     context ends, and [Profiler.Shutdown] exports what there is.
//   - When something else stops a profile that it did not start, the window
//     has a gap until we have the profiler back, about a second later. When that
//     happens twice within a minute it is left alone for a minute, and after
//     each further stop for twice as long, up to 16 minutes. Disable and Enable
//     do not change that.
//
// [Profiler.Status] says in words which of these it is, and otel.Handle hears of
// every change for the worse, once.
//
// # Wall time
//
//	profiler.New(exp, profiler.WithKinds(exporter.KindCPU, exporter.KindWall))
//
// The stacks of all goroutines are looked at again and again, and those with one
// of the labels span_id, profile_id and span_name are counted for half of the time
// since the round before and half of the time until the next: the time that a span's
// goroutines have in the profile is the time that they took, by up to the time between
// two rounds more or less. At its ends a window counts all of the time for the round
// next to them. The
// leaf of one that waits is what it waits for: runtime.chanrecv, runtime.selectgo,
// time.Sleep, runtime.semacquire1 of a lock, runtime.netpollblock, a system call.
//
// A goroutine keeps the labels that it was started with: the two that an HTTP client
// starts for a connection carry those of the span that dialled, for hours. Where
// package spanprof labels, with Go 1.26 and 1.27, they do not count for it any more
// when it has ended; what spanprof.Go runs does. The labels of pprof.Do count as long
// as a goroutine carries them. [WithWallOfAllGoroutines] counts what works for no span
// too.
//
// Rounds are taken as often as [WithWallBudget] allows, 1 % of a core by
// default, but not more than 100 times a second on average, at irregular
// intervals. A round costs about 1 us for each goroutine of the process, labelled or
// not, with Go 1.26 and 1.27, and 10 us with others: with 100,000 goroutines there is
// one in ten seconds or less. [WallStatus] has the time between rounds, the number of those that the
// budget did not allow, and what all took. Spans that are shorter than the time
// between rounds seldom have a sample, and then one that weighs more than they
// took: they are right in the sum over many.
//
// A look is at all goroutines or at none, as the runtime hands out no part of them for
// less: where the budget does not allow one in ten minutes, otel.Handle hears once that
// there is no wall time.
//
// While the process does not run, because it was stopped or suspended, nobody looks. That
// time counts for goroutines that are found in the same span before and after it, and with
// Go 1.26 and 1.27 for those whose span has ended since, until it did; and for no other:
// what began after it has not waited for it. A process that runs slowly, as others take the
// CPU, is not stopped; on Linux that is told by how long its threads have waited for a CPU,
// unless it has more than 256 of them. Where they wait for long at the end of a short stop,
// it may go for a round that was late, which is in the error that the viewer states.
// Nor does anybody look in a window without a round: with Go 1.26 and 1.27 it has what the
// last round found, until its spans have ended, and what began in it is missing.
// WallStatus.Unwatched has the sum of both, and a comment of each profile has these times
// and the times between rounds, from which the viewer tells how far off a wall time may
// be. In no window a goroutine has more time than the window is long.
//
// # Limits
//
//   - A loop that takes a multiple of 10 ms of CPU per turn runs in step with a
//     CPU profiler of 100 Hz, and its parts are over- or underestimated: a real
//     split of 70 to 30 has been measured as 87 to 13. [WithCPURate] with 97, 99
//     or 101 helps.
//   - For a round of wall time a goroutine that runs is stopped at its next
//     safepoint. So its leaf can be sha256.(*Digest).Sum, say, where the CPU profile
//     has the assembly that this calls. And a sample weighs the whole time between
//     two rounds: what has one or two of them may have taken far less, or more.
//   - Only CPU, wall and goroutine profiles have labels, so that only they belong to
//     spans. The runtime puts none on the others (https://go.dev/issue/23458).
//   - Code that nobody labelled, such as the garbage collector's own workers, is
//     in the profile without labels.
//   - A program that calls runtime.SetCPUProfileRate(0) while a window is open
//     leaves runtime/pprof in a state that looks like a profile of its own: CPU
//     windows are skipped, and the CPU profiler is in use even after Shutdown,
//     until the program calls StopCPUProfile. We cannot do that for it, because
//     what is running could as well be its own profile.
//
// # Environment
//
// When OTEL_SDK_DISABLED or SPANPROF_DISABLED is "true", nothing is measured;
// Start, Flush and Shutdown return nil, and Shutdown shuts the exporter down.
package profiler

// For developers: profiler.go has the life of a Profiler, loop.go its loop, grid.go
// its schedule, enable.go what changes it. stream.go cuts a kind's measurement
// into pieces and merge.go adds them up, for windows and for the callers of
// share.go, each of whom is a tap (tap.go). Behind the interface in sampler.go,
// kinds.go chooses between cpu.go, which with cpustate.go, cpuwindow.go, stopping.go
// and takeover.go shares the runtime's CPU profiler with the program, delta.go,
// goroutines.go, and wall.go, which makes windows of what package internal/wall
// samples. Package internal/cpulog reads CPU samples while they are taken, and cpurate.go falls
// back to runtime/pprof; what all know of the runtime's internals is in
// internal/goruntime of the module. tick.go knows which rates
// are too fast for the system. option.go is what can be set, status.go and metrics.go
// tell what is lost.
