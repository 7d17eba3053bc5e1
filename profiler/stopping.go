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

// stopping reports whether a goroutine is in StopCPUProfile, and whether it waits there for
// the end of a profile. That profile is on: the lock is held until the waiter is woken. A
// call that does not wait is just beginning or about to return.
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

// goroutineStacks returns the stacks of all goroutines.
func goroutineStacks() iter.Seq[[]uintptr] {
	// A record has 32 bytes, beside the stack. runtime.GoroutineProfile has 256 more for each.
	if records, _ := goruntime.Goroutines(nil, nil); records != nil {
		return stacksOf(records, func(r *goruntime.StackRecord) []uintptr { return r.Stack })
	}
	for n := runtime.NumGoroutine(); ; {
		records := make([]runtime.StackRecord, n+n/4+10) // others start meanwhile
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

// stoppedBefore reports whether a StopCPUProfile that waits for our profile was called before
// the runtime began to take samples. It would wait until they end; a later call ends them
// itself. Each look stops all goroutines. The delay between two looks grows, up to a bound
// that the waiter does not notice.
func stoppedBefore() bool {
	for d := 100 * time.Microsecond; ; d = min(2*d, firstLook) {
		called, waits := stopping()
		if waits || !called {
			return waits
		}
		<-time.After(d)
	}
}
