// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package profiler

import (
	"iter"
	"reflect"
	"runtime"
	"runtime/pprof"
	"strings"
	"time"

	"github.com/spanprof/spanprof/internal/goruntime"
)

// leaf is how many addresses of a stack are looked at: between StopCPUProfile and
// the runtime, where it waits, there are six at most.
const leaf = 16

// stopping reports whether somebody is in a call of StopCPUProfile, and whether he waits
// there for the end of a profile. That one is on: who has waited for another has not let go
// of the lock before he was told. A call that does not wait is on its way there or back.
func stopping() (called, waits bool) {
	entry := reflect.ValueOf(pprof.StopCPUProfile).Pointer()
	seen := make(map[uintptr]bool) // many goroutines wait at the same places
	for stack := range goroutineStacks() {
		for j, pc := range stack[:min(len(stack), leaf)] {
			found, known := seen[pc]
			if !known {
				f := runtime.FuncForPC(pc - 1) // a return address
				found = f != nil && f.Entry() == entry
				seen[pc] = found
			}
			if !found {
				continue
			}
			called = true
			if j > 0 && receives(stack[j-1]) {
				return true, true
			}
		}
	}
	return called, false
}

// goroutineStacks returns those of all goroutines.
func goroutineStacks() iter.Seq[[]uintptr] {
	n := runtime.NumGoroutine()
	if goruntime.ListsGoroutines() {
		// A record has 24 bytes, beside the stack. runtime.GoroutineProfile has 256 more for each.
		for {
			records := make([]goruntime.StackRecord, n+n/4+10) // others start meanwhile
			var ok bool
			if n, ok = goruntime.GoroutineProfile(records, nil); ok {
				return stacksOf(records[:n], func(r *goruntime.StackRecord) []uintptr { return r.Stack })
			}
		}
	}
	for {
		records := make([]runtime.StackRecord, n+n/4+10)
		var ok bool
		if n, ok = runtime.GoroutineProfile(records); ok {
			return stacksOf(records[:n], (*runtime.StackRecord).Stack)
		}
	}
}

func stacksOf[R any](records []R, stack func(*R) []uintptr) iter.Seq[[]uintptr] {
	return func(yield func([]uintptr) bool) {
		for i := range records {
			if !yield(stack(&records[i])) {
				return
			}
		}
	}
}

// receives reports whether an address is in a receive from a channel.
func receives(pc uintptr) bool {
	f := runtime.FuncForPC(pc - 1)
	return f != nil && strings.HasPrefix(f.Name(), "runtime.chanrecv")
}

// stoppedBefore reports whether a StopCPUProfile waits for the end of our profile that has
// been called before the runtime has taken samples for us: it would wait for as long
// as those are taken. One that is called after that ends them. A look takes as long as it
// takes to stop all goroutines, so that the looks are not close to each other for long,
// nor so far apart that who waits notices.
func stoppedBefore() bool {
	for d := 100 * time.Microsecond; ; d = min(2*d, firstLook) {
		called, waits := stopping()
		if waits || !called {
			return waits
		}
		<-time.After(d)
	}
}
