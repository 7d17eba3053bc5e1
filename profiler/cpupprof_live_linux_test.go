// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

//go:build live

package profiler_test

import (
	"context"
	"fmt"
	"runtime"
	"runtime/pprof"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/pprof/profile"

	"github.com/spanprof/spanprof/exporter"
	"github.com/spanprof/spanprof/profiler"
)

// hit has the runtime take a sample here: it counts a SIGPROF that a thread sends
// to itself like those of its timers.
//
//go:noinline
func hit() {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	if _, _, errno := syscall.RawSyscall(syscall.SYS_TGKILL, uintptr(syscall.Getpid()), uintptr(syscall.Gettid()), uintptr(syscall.SIGPROF)); errno != 0 {
		panic(errno)
	}
}

func inlinedOnce()  { hit() }
func inlinedTwice() { inlinedOnce(); inlinedOnce() }

//go:noinline
func recursive(n int) {
	if n == 0 {
		inlinedTwice()
		return
	}
	recursive(n - 1)
}

func generic[T any](T) { hit() }

type hitter struct{}

func (hitter) value()    { hit() }
func (*hitter) pointer() { inlinedOnce() }

// script has samples taken at places of all sorts: the same whenever it is called.
func script() {
	hit()
	inlinedTwice()
	recursive(3)
	recursive(100) // the runtime keeps 64 addresses
	generic(1)
	generic("x")
	generic(hitter{})
	var h hitter
	f := h.value
	f()
	h.pointer()
	func() { inlinedOnce() }()
	slices.SortFunc([]int{2, 1, 3}, func(a, b int) int { hit(); return a - b })
	_ = strings.Map(func(r rune) rune { inlinedOnce(); return r }, "abc")
	func() {
		defer func() { hit(); _ = recover(); hit() }()
		panic("oops")
	}()
	for i := range 3 {
		pprof.Do(context.Background(), pprof.Labels("i", strconv.Itoa(i), "empty", ""), func(ctx context.Context) {
			hit()
			pprof.Do(ctx, pprof.Labels("j", "é"), func(context.Context) { inlinedTwice() })
			var wait sync.WaitGroup
			wait.Go(hit)
			wait.Wait()
		})
	}
	done := make(chan struct{})
	go func() { inlinedOnce(); close(done) }()
	<-done
}

// hits returns all that a profile says of the samples that hit has had taken: their
// stacks with addresses, functions, lines, and mappings, their labels and values. A
// mapping's HasFunctions is left out, which depends on all samples of the profile.
func hits(p *profile.Profile) []string {
	var all []string
	for _, s := range p.Sample {
		if !hasFunction(s, "hit") {
			continue
		}
		var text strings.Builder
		fmt.Fprintf(&text, "%v %v %v %v", s.Value, s.Label, s.NumLabel, s.NumUnit)
		for _, l := range s.Location {
			fmt.Fprintf(&text, "\n%#x folded %t", l.Address, l.IsFolded)
			if m := l.Mapping; m != nil {
				fmt.Fprintf(&text, " in %s %s %#x-%#x+%#x files %t lines %t frames %t", m.File, m.BuildID, m.Start, m.Limit, m.Offset,
					m.HasFilenames, m.HasLineNumbers, m.HasInlineFrames)
			}
			for _, line := range l.Line {
				f := line.Function
				fmt.Fprintf(&text, "\n   %s (%s) %s:%d:%d from %d", f.Name, f.SystemName, f.Filename, line.Line, line.Column, f.StartLine)
			}
		}
		all = append(all, text.String())
	}
	slices.Sort(all)
	return all
}

// Of the same samples our profile says what runtime/pprof's says.
func TestProfileIsThatOfRuntimePprof(t *testing.T) {
	knownRuntime(t)
	var diff string
	for range 20 { // a timer of the runtime can hit just there, the more so where signals take long
		var ours, theirs *profile.Profile
		for _, measure := range []func() (stop func()){
			func() func() {
				p, rec := start(t, profiler.WithKinds(exporter.KindCPU), profiler.WithWindow(endless))
				return func() {
					shutdown(t, p)
					ours = parsed(t, last(t, rec))
				}
			},
			func() func() {
				f := startForeign(t)
				return func() { theirs = f.stop(t) }
			},
		} {
			stop := measure()
			script() // called from the same place
			stop()
		}
		if len(hits(theirs)) < 20 {
			t.Fatalf("runtime/pprof has %d kinds of samples", len(hits(theirs)))
		}
		types := cmp.Diff([]any{theirs.SampleType[0].Type, theirs.SampleType[1].Unit, theirs.PeriodType.Type, theirs.Period, theirs.DefaultSampleType, len(theirs.Mapping)},
			[]any{ours.SampleType[0].Type, ours.SampleType[1].Unit, ours.PeriodType.Type, ours.Period, ours.DefaultSampleType, len(ours.Mapping)})
		if diff = cmp.Diff(hits(theirs), hits(ours)) + types; diff == "" {
			return
		}
	}
	t.Errorf("samples (-runtime/pprof +ours):\n%s", diff)
}
